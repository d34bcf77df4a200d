"""Servers that speak the Model Context Protocol, as a toolset.

Nothing here is imported unless a server is configured, and the `mcp` package not before one is needed.
"""
