"""The command line: flags, one module for each command, and the composition root."""
