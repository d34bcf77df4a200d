"""Vendors: a request out, deltas in. Nothing here knows of sessions, tools or wires."""
