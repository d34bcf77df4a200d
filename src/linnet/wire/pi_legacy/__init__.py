"""The protocol that pi spoke before it had responses."""
