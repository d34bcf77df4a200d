"""Text that tools read, change and return: replacements, diffs, output cut to size, errors of the system."""
