"""What clients of pi read: events, messages and answers, with the fields of every version."""
