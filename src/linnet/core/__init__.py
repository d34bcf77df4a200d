"""What the agent decides and what it tells, as plain data and pure functions: no I/O, no clock, no thread."""
