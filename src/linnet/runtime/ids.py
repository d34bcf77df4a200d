"""Ids for what is new."""

import os


def entry_id() -> str:
    return os.urandom(4).hex()


def session_id() -> str:
    """A random UUID, without the 3 ms that the module of that name takes to load."""
    digits = bytearray(os.urandom(16))
    digits[6] = digits[6] & 0x0F | 0x40
    digits[8] = digits[8] & 0x3F | 0x80
    text = digits.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
