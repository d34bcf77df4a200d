"""Pieces of a page: Markdown, code, colours, tool calls, pictures, all as HTML."""
