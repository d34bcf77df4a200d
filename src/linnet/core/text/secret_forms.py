"""Hides secrets in texts, in every form in which they may be printed there."""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from html import escape, unescape
from typing import Final
from urllib.parse import quote, quote_plus, unquote

SHORTEST: Final = 6  # A shorter value would be found inside ordinary words.
ANCHOR: Final = 8  # So many of a value's first bytes are enough to know it, and to hide as much of it as is there.
MASK: Final = "[key]"
_ESCAPE = re.compile(r"\\+u([0-9a-fA-F]{4})|\\x([0-9a-fA-F]{2})")


def without(text: str, secrets: Sequence[str]) -> str:
    """Return the text with `[key]` for every secret in it, in whichever form, and for the head of one that was cut.

    Where only parts of a secret are escaped, the text is shown unescaped.
    """
    known = [form.decode() for secret in secrets if len(secret) >= SHORTEST for form in forms(secret)]
    known = sorted({form for form in known if len(form) >= SHORTEST}, key=lambda form: (-len(form), form))
    text = _masked(text, known)
    for undo in _UNDO:
        undone = undo(text)
        if undone != text and (clean := _masked(undone, known)) != undone:
            text = clean
    return text


def _masked(text: str, known: Sequence[str]) -> str:
    """Return the text with every known form masked. Of forms that begin alike, the longest that is there counts."""
    out: list[str] = []
    at = 0
    starts = sorted({found.start() for form in known for found in re.finditer(re.escape(form[:ANCHOR]), text)})
    for start in starts:
        if start >= at:
            length = max(_alike(text, start, form) for form in known)
            out += (text[at:start], MASK)
            at = start + length
    return "".join((*out, text[at:]))


def _alike(text: str, start: int, form: str) -> int:
    """Return how many characters of the form are at `start`; 0 if these are too few to know it by."""
    length = 0
    while length < len(form) and text[start + length : start + length + 1] == form[length]:
        length += 1
    return length if length >= min(ANCHOR, len(form)) else 0


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text)


_UNDO: Final[tuple[Callable[[str], str], ...]] = (_unescaped, unquote, unescape)


def forms(secret: str) -> Iterator[bytes]:
    """Yield a secret as it is; in JSON, and in JSON in JSON; in a URL; in HTML; in hex; and in base64, wherever it
    stands in the text that was encoded.
    """
    raw = secret.encode("utf-8", "surrogateescape")
    yield raw
    text = raw.decode("utf-8", "replace")
    for ascii in (True, False):
        once = json.dumps(text, ensure_ascii=ascii)[1:-1]
        yield once.encode()
        yield once.replace("/", "\\/").encode()
        yield json.dumps(once, ensure_ascii=ascii)[1:-1].encode()
    yield quote(raw, safe="").encode()
    yield quote(raw, safe="").lower().encode()
    yield quote_plus(raw).encode()
    yield escape(text).encode()
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    for shift in range(3):
        plain = _core(raw, shift)
        yield plain
        yield plain.replace(b"+", b"-").replace(b"/", b"_")
        yield plain.replace(b"/", b"\\/")


def _core(raw: bytes, shift: int) -> bytes:
    """Return the characters of base64 that are the same whatever is around it, `shift` bytes into a group of three."""
    coded = b64encode(bytes(shift) + raw)
    first = (0, 2, 3)[shift]
    whole = (shift + len(raw)) * 8 // 6
    return coded[first:whole]
