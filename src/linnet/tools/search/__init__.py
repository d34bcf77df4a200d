"""Searches files for grep, find and ls: with ripgrep or our own program, by patterns, globs and ignore rules."""
