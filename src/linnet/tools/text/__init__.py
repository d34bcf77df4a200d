"""What tools do with text: replace parts of it, show diffs, cut it to size, and put errors of the system into words."""
