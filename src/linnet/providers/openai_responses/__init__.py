"""A provider for OpenAI's Responses API, asked without state: nothing of a conversation is kept at the vendor."""
