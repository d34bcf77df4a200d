"""Stores sessions: append-only logs of JSON lines that form a tree, in the format of pi's session files, version 3."""
