"""The tools of a session as one toolset, the permission to run them, and the questions that clients are asked."""
