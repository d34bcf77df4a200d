"""What zot's document promises, as checks."""
