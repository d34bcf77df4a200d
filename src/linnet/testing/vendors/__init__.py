"""The model server in the words of further vendors: what it sends, and what it refuses."""
