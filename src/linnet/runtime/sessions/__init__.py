"""Where a session is kept: the one to begin with, moves to others, entries written as things happen."""
