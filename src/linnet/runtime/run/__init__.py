"""One job, from its first event to its last: runs, retries, compactions, tools side by side."""
