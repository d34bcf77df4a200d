"""Takes secrets out of a stream of bytes, wherever its chunks end. Pure."""

import re
from typing import Final

from linnet.core.text.known_secrets import SHAPES, Shape, Value

MARK: Final = b"[REDACTED]"


class Redactor:
    """Replaces every secret in a stream by a mark.

    Invariant: what was given out is what would have been given out had everything come in one piece. Only what may be
    the beginning of a secret is held back, until it is known or `finish` is called.
    """

    def __init__(self, values: tuple[Value, ...] = (), shapes: tuple[Shape, ...] = SHAPES) -> None:
        self._values = values
        self._shapes = shapes
        self._anchors = sorted({*(v.anchor for v in values), *(s.anchor for s in shapes)}, key=len, reverse=True)
        self._beginnings = frozenset(anchor[:size] for anchor in self._anchors for size in range(1, len(anchor)))
        self._longest = max((len(anchor) for anchor in self._anchors), default=1)
        self._held = b""
        self._body: re.Pattern[bytes] | None = None  # While inside a secret whose end has not come.

    def feed(self, chunk: bytes) -> bytes:
        """Take the next chunk, and return what can be given out by now."""
        return self._take(self._held + chunk, last=False)

    @property
    def open(self) -> bool:
        """Return whether what comes next may belong to a secret that has begun."""
        return bool(self._held) or self._body is not None

    def finish(self) -> bytes:
        """Return the rest, at the end of the stream: the beginning of a secret is all there will be of it."""
        return self._take(self._held, last=True)

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Return where the secrets in `data` are, which is all there is: start and end of each, in order."""
        return self._scan(data, last=True)[0]

    def whole(self, data: bytes) -> bytes:
        """Return `data`, which is all there is, without its secrets."""
        return self._take(data, last=True)

    def _take(self, data: bytes, last: bool) -> bytes:
        """Return what can be given out, and hold back the rest."""
        inside = self._body is not None
        spans, held = self._scan(data, last)
        out: list[bytes] = []
        at = 0
        for start, end in spans:
            out.append(data[at:start])
            if start or not inside:  # The mark of one that goes on is out already.
                out.append(MARK)
            at = end
        out.append(data[at:held])
        self._held = data[held:]
        return b"".join(out)

    def _scan(self, data: bytes, last: bool) -> tuple[list[tuple[int, int]], int]:
        """Return where the secrets are, and from where on it is too early to tell."""
        spans: list[tuple[int, int]] = []
        at = self._swallow(data, 0)
        if at:
            spans.append((0, at))
        nearest = {anchor: data.find(anchor, at) for anchor in self._anchors}
        while (found := min((place for place in nearest.values() if place >= 0), default=-1)) >= 0:
            end = self._match(data, found, last)
            if end is None:
                return spans, found
            least = found + 1
            if end > found:
                at = least = self._swallow(data, end)
                spans.append((found, at))
            for anchor, place in nearest.items():
                if 0 <= place < least:
                    nearest[anchor] = data.find(anchor, least)
        if last:
            self._body = None
        return spans, len(data) if last else len(data) - self._beginning(data, at)

    def _match(self, data: bytes, at: int, last: bool) -> int | None:
        """Return where the secret that begins here ends; `at` if none does; None if more has to come to know."""
        best, waiting = at, False
        for value in self._values:
            if data.startswith(value.anchor, at):
                size = _common(value.form, data, at)
                best = max(best, at + size)
                waiting = waiting or (at + size == len(data) and size < len(value.form))
        for shape in self._shapes:
            if data.startswith(shape.anchor, at):
                if found := shape.least.match(data, at):
                    if found.end() > best:
                        best, self._body = found.end(), re.compile(rb"[%b]*" % shape.body)
                elif (begun := shape.open.match(data, at)) and begun.end() == len(data):
                    waiting = True
        # An anchor that is cut off by the end may belong to another value that begins here too.
        waiting = waiting or (best == at and data[at:] in self._beginnings)
        if waiting and not last:
            self._body = None
            return None
        return best

    def _swallow(self, data: bytes, at: int) -> int:
        """Return the place after the rest of a secret that goes on for as long as its bytes do."""
        if self._body is None:
            return at
        found = self._body.match(data, at)
        end = found.end() if found else at
        if end < len(data):
            self._body = None
        return end

    def _beginning(self, data: bytes, at: int) -> int:
        """Return how many of the last bytes may be the beginning of a secret."""
        for size in range(min(self._longest - 1, len(data) - at), 0, -1):
            if data[len(data) - size :] in self._beginnings:
                return size
        return 0


def _common(form: bytes, data: bytes, at: int) -> int:
    """Return how many bytes of `form` are in the data from here on."""
    there = data[at : at + len(form)]
    if there == form:
        return len(form)
    return next((index for index, (a, b) in enumerate(zip(form, there, strict=False)) if a != b), len(there))
