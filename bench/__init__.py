"""Measurements, beside the peers where they are on the machine."""
