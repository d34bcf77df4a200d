"""Threads that wait, one event loop, and how an abort reaches whatever blocks."""
