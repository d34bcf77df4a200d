"""The agent in a program's own process, blocking or awaited. Most types are those of the zot protocol."""
