"""Text that people and terminals read: heads of Markdown files, safe output, times, secrets. Pure."""
