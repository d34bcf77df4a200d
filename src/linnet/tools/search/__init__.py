"""What grep, find and ls stand on: ripgrep or our own program, patterns, globs and ignore rules."""
