"""Providers and models that can be used: keys, addresses, models.json, and which one is meant."""
