"""The tools that a model can call: linnet's own, and what is needed to add others beside them."""
