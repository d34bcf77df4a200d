"""The toolset of servers that speak the Model Context Protocol.

Nothing here is imported unless a server is configured, and the `mcp` package not before one is needed.
"""
