"""Resolves all layers of configuration into the settings that hold, and saves changes to them."""
