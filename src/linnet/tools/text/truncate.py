"""Cuts text down to what a model should be sent: its head or its tail, in whole lines where that is possible. Pure."""

from msgspec import Struct

MAX_LINES = 2000
MAX_BYTES = 50 * 1024


class Kept(Struct, frozen=True):
    """What is left of a text, and how much is not."""

    text: str
    cut_lines: int = 0
    cut_bytes: int = 0
    partial: bool = False  # Whether a single line was too long, so that `text` is a piece of it.


def count_lines(text: str) -> int:
    """Return the number of lines; a last line counts whether or not it ends in a newline."""
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def keep_head(text: str, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> Kept:
    """Return the beginning of a text, within both limits; whole lines, unless the first is too long."""
    data = _encode(text)
    end = _after_newline(data, max_lines)
    partial = False
    if end > max_bytes:
        end = data.rfind(b"\n", 0, max_bytes) + 1
        if end == 0:
            end, partial = max_bytes, True
            while end and _continues(data[end]):
                end -= 1
    return _kept(text, data, data[:end], partial=partial)


def keep_tail(text: str, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> Kept:
    """Return the end of a text, within both limits; whole lines, unless the last is too long."""
    data = _encode(text)
    start = _before_newline(data, max_lines)
    partial = False
    if len(data) - start > max_bytes:
        earliest = len(data) - max_bytes
        # From the byte before, so that a cut which happens to fall between two lines costs no line.
        start = data.find(b"\n", earliest - 1, len(data) - 1) + 1
        if start == 0:
            start, partial = earliest, True
            while start < len(data) and _continues(data[start]):
                start += 1
    return _kept(text, data, data[start:], partial=partial)


def _kept(text: str, data: bytes, kept: bytes, *, partial: bool) -> Kept:
    """Return what is left when of `data`, which is `text`, `kept` is."""
    if len(kept) == len(data):
        return Kept(text)
    left = kept.decode("utf-8", "surrogatepass")
    return Kept(left, count_lines(text) - count_lines(left), len(data) - len(kept), partial)


def _encode(text: str) -> bytes:
    """Return the text as UTF-8, lone surrogates included."""
    return text.encode("utf-8", "surrogatepass")


def _continues(byte: int) -> bool:
    """Return whether this byte of UTF-8 is not the first one of its character."""
    return byte & 0xC0 == 0x80


def _after_newline(data: bytes, nth: int) -> int:
    """Return where the first `nth` lines end."""
    end = 0
    for _ in range(nth):
        end = data.find(b"\n", end) + 1
        if end == 0:
            return len(data)
    return end


def _before_newline(data: bytes, nth: int) -> int:
    """Return where the last `nth` lines start."""
    start = len(data) - data.endswith(b"\n")
    for _ in range(nth):
        start = data.rfind(b"\n", 0, start)
        if start == -1:
            return 0
    return start + 1
