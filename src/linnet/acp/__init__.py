"""Editors as clients: the Agent Client Protocol on stdin and stdout."""
