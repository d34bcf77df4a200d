"""Extensions of a session: loaded, asked, told, and what they may do to it."""
