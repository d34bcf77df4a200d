"""Sandboxes for commands: what they see and may write, by bubblewrap or by Landlock, and what is read-only to them."""
