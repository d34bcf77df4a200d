"""A coding agent on a pipe."""

__version__ = "0.1.0"
