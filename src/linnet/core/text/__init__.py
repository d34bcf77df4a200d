"""Texts that people and terminals read: heads of Markdown files, output without escapes, times, hidden secrets."""
