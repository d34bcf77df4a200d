"""What the thread of a job does, from its first event to its last: runs, retries, compactions, tools in parallel."""
