"""A provider without a vendor: it runs a model from a file in this process, by llama.cpp."""
