"""Extensions of the agent: in Python, as programs in any language, and as MCP servers."""
