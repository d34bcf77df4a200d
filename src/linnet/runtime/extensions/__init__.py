"""The extensions of a session: when they are loaded and asked, what they are told, and what they can do to it."""
