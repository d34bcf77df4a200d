"""Finds the providers and models that can be used, with their keys and addresses, and the one that is meant."""
