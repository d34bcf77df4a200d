"""What holds: all layers of configuration resolved, read in one place, and saved."""
