"""The machines of the agent loop: what runs and waits, one run, and the folds around them. Pure."""
