"""The earlier pi protocol, which pi spoke before it answered commands."""
