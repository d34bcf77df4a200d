"""A provider for Anthropic's Messages API."""
