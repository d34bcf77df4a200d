"""Agents that run on any of many machines: workers that own them, and what stands between those and a depot."""
