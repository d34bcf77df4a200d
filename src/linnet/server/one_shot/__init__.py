"""One prompt from the command line: its events, its text or its result, and an exit code."""
