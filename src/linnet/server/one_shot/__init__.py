"""Prompts from the command line: runs them, prints events, text or a result, and returns an exit code."""
