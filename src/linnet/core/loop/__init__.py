"""The agent loop as state machines that never wait: the schedule of jobs, one run, and what is folded from events."""
