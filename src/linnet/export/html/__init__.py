"""Writes the pieces of a page as HTML: Markdown, code, colours, tool calls, pictures."""
