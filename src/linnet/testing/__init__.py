"""Helpers for tests and benchmarks of linnet, and of programs that embed it."""
