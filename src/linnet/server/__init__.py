"""A dialect, a session and a pair of file descriptors, joined."""
