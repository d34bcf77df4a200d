"""The OpenAI Chat Completions API, and whoever else speaks it."""
