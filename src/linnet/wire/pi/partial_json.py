"""Shows a JSON object that is still being written as the valid object it is so far, in time linear in its length."""

import re
from collections.abc import Callable
from typing import TypeAlias

from linnet.wire.jsonl import without_line_ends

DEEPEST = 256  # So many brackets may be open; nobody could read more anyway.

_HEX = "[0-9a-fA-F]"
_ESCAPE = (
    r"\\(?:"
    r'["\\/bfnrt]'
    rf"|u(?![dD][89a-fA-F]){_HEX}{{4}}"
    rf"|u[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}"
    r")"
)
_WHOLE = (r"\n", r"\u0000", r"\ud800\udc00")  # However an escape begins, the end of one of these can end it.

_escape = re.compile(_ESCAPE)
_characters = re.compile(rf'(?:[^"\\\x00-\x1f\ud800-\udfff]++|{_ESCAPE})*+')
_spaces = re.compile(r"[ \t\n\r]*+")
_piece = re.compile(r"[-+.0-9A-Za-z]*+")
_scalar = re.compile(rb"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")

_State: TypeAlias = Callable[[str, int], int]


class PartialJson:
    """An object so far. Invariant: `shown` + `closers` is a JSON object on one line, and `shown` only ever grows.

    What could still turn out otherwise (a key without its value, a number that may go on, half an escape) waits until
    it cannot. Text that turns out to be no JSON object ends the growth for good.
    """

    __slots__ = ("_held", "_scalar_at", "_state", "_verbatim", "_waiting", "closers", "shown")

    def __init__(self, shown: bytearray | None = None) -> None:
        """The object is added to `shown`, behind what is there already."""
        self.shown = bytearray() if shown is None else shown
        self.closers = b"{}"
        self._waiting = bytearray()  # Read, but not yet sure to be shown.
        self._scalar_at = 0  # Where in `_waiting` the number, or true, false or null, begins.
        self._held = ""  # The beginning of an escape.
        self._verbatim = False  # White space matters: in a string, and after a number.
        self._state: _State | None = self._outset

    def feed(self, text: str) -> None:
        """Take in the next piece of the object's text, wherever it was cut."""
        if self._held:
            text, self._held = self._held + text, ""
        at, end = 0, len(text)
        while at < end and self._state is not None:
            at = _past(_spaces, text, at) if text[at] in " \t\n\r" and not self._verbatim else self._state(text, at)

    def _outset(self, text: str, at: int) -> int:
        if text[at] != "{":
            return self._fail(at)
        self.closers = b""
        return self._open(b"{", b"}", self._first_key, at)

    def _first_key(self, text: str, at: int) -> int:
        return self._close(at) if text[at] == "}" else self._key(text, at)

    def _first_item(self, text: str, at: int) -> int:
        return self._close(at) if text[at] == "]" else self._value(text, at)

    def _key(self, text: str, at: int) -> int:
        if text[at] != '"':
            return self._fail(at)
        self._waiting += b'"'
        return self._go(self._in_key, at + 1, verbatim=True)

    def _in_key(self, text: str, at: int) -> int:
        return self._copy(text, at, self._waiting, self._colon)

    def _colon(self, text: str, at: int) -> int:
        if text[at] != ":":
            return self._fail(at)
        self._waiting += b":"
        return self._go(self._value, at + 1)

    def _value(self, text: str, at: int) -> int:
        match text[at]:
            case '"':
                return self._open(b'"', b'"', self._in_string, at, verbatim=True)
            case "{":
                return self._open(b"{", b"}", self._first_key, at)
            case "[":
                return self._open(b"[", b"]", self._first_item, at)
            case _:
                self._scalar_at = len(self._waiting)
                return self._go(self._in_scalar, at, verbatim=True)

    def _in_string(self, text: str, at: int) -> int:
        return self._copy(text, at, self.shown, None)

    def _in_scalar(self, text: str, at: int) -> int:
        end = _past(_piece, text, at)
        self._waiting += text[at:end].encode()
        if end == len(text):
            return end
        if _scalar.fullmatch(self._waiting, self._scalar_at) is None:
            return self._fail(end)
        self._show(b"")
        return self._go(self._after, end)

    def _after(self, text: str, at: int) -> int:
        """Read what follows a complete value: a comma or a closer; behind the outermost one, only white space."""
        due = self.closers[:1]
        if due and text[at] == due.decode():
            return self._close(at)
        if not due or text[at] != ",":
            return self._fail(at)
        self._waiting += b","
        return self._go(self._key if due == b"}" else self._value, at + 1)

    def _open(self, opener: bytes, closer: bytes, then: _State, at: int, *, verbatim: bool = False) -> int:
        if len(self.closers) == DEEPEST:
            return self._fail(at)
        self._show(opener)
        self.closers = closer + self.closers
        return self._go(then, at + 1, verbatim=verbatim)

    def _close(self, at: int) -> int:
        self.shown += self.closers[:1]
        self.closers = self.closers[1:]
        return self._go(self._after, at + 1)

    def _copy(self, text: str, at: int, into: bytearray, then: _State | None) -> int:
        """Copy the characters of a string. Half an escape is held until its other half comes."""
        end = _past(_characters, text, at)
        into += _utf8(text[at:end])
        if end == len(text):
            return end
        if text[end] == '"' and then is not None:
            into += b'"'
            return self._go(then, end + 1)
        if text[end] == '"':
            return self._close(end)
        self._held = text[end : end + len(_WHOLE[-1])]
        if not any(_escape.fullmatch(self._held + whole[len(self._held) :]) for whole in _WHOLE):
            return self._fail(end)
        return len(text)

    def _show(self, more: bytes) -> None:
        self.shown += self._waiting
        self.shown += more
        self._waiting.clear()

    def _go(self, state: _State, at: int, *, verbatim: bool = False) -> int:
        self._state = state
        self._verbatim = verbatim
        return at

    def _fail(self, at: int) -> int:
        self._state = None
        return at


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Return where a match that begins at `at` ends; `at` itself if nothing matches."""
    found = pattern.match(text, at)
    return at if found is None else found.end()


def _utf8(text: str) -> bytes:
    """Return the text in UTF-8, without anything that some readers take for a line end."""
    data = text.encode()
    return without_line_ends(data) if b"\xe2\x80" in data else data
