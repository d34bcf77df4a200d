"""The pi protocol: `pi --mode rpc`, with responses."""
