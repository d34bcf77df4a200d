"""The conversation as a model is sent it: history, compaction, size, cost, the form of an answer. Pure."""
