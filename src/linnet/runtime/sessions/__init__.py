"""Keeps sessions: opens the first one, moves to others, and writes entries as things happen."""
