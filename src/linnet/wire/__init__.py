"""The protocols that clients speak on the pipe: each dialect translates lines of JSON to commands, and events to lines.

Nothing here does I/O: bytes in, bytes out.
"""
