"""`linnet attach`: an agent of a server's as stdin and stdout. It has to start like a compiled program: see main.py."""
