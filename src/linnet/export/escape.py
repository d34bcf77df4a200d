"""Words of a session as words of a page. Whatever a session says goes through here before it is HTML."""

import re
from html import escape as _escape

# What cannot be written, cannot be seen, or turns the direction of what follows: all but tab and line feed.
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def clean(text: str) -> str:
    """Without characters that hide or that cannot be encoded. Lines end in a line feed."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _ODD.sub(_visible, text)


def escape(text: str) -> str:
    """As the text of an element or the value of a quoted attribute."""
    return _escape(clean(text))


def short(text: str, most: int) -> str:
    """On one line, and cut where it gets long. Not escaped."""
    words = " ".join(clean(text[: most * 4]).split())
    return f"{words[: most - 1].rstrip()}…" if len(words) > most or len(text) > most * 4 else words


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"[U+{code:04X}]" if 0x202A <= code <= 0x2069 else "\ufffd"
