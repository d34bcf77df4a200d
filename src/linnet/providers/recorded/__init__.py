"""What a model streamed, kept in a file, and a provider that plays such a file. docs/record-replay.md is the manual."""
