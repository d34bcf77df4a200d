"""Reads files with care, replaces them in one step, and locks them. Nothing here knows what is in a file."""
