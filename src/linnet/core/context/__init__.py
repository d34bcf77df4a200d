"""The conversation as a model is sent it: history, compaction, size, cost, and the form of an answer."""
