"""The command line: parses flags, runs each command in a module of its own, and puts the parts of linnet together."""
