"""A provider for OpenAI's Chat Completions API, which other vendors speak too."""
