"""The Anthropic Messages API."""
