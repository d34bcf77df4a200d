"""The unix socket of a server: one line first, and then the lines of a protocol."""
