"""Parses the head of an HTTP/1.1 answer, and knows how its body ends.

The standard library's client costs 10 ms to import beside TLS, 16 without, most of it for mail headers, and hides the
socket that an abort has to reach; what it would do for us fits here.
"""

from typing import Protocol

from msgspec import Struct

from linnet.providers.http.chunked import ChunkedDecoder

LIMIT = 256 * 1024
_DIGITS = 18  # No body is longer than so many digits say, and Python refuses to read numbers of 4,300 of them.


class BadHead(ValueError):
    """The head is no HTTP."""


class Body(Protocol):
    """Undoes the framing of one body."""

    finished: bool  # The body is whole.
    excess: bytes  # What came after it.

    def feed(self, data: bytes) -> bytes:
        """Return what these bytes bring of the body. Raises BadChunk."""


class Head(Struct, frozen=True):
    """The head of an answer."""

    status: int
    headers: dict[str, str]  # With names in lower case; a repeated one has its values joined with commas.
    keeps: bool  # The connection can be used again.

    @property
    def type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def body(self) -> Body:
        """Return what undoes the framing of the body. Raises BadHead."""
        if self.status in (204, 304):
            return SizedBody(0)
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            return ChunkedDecoder()
        length = self.headers.get("content-length")
        if length is None:
            return OpenBody()
        if not (length.isascii() and length.isdigit() and len(length) <= _DIGITS):
            raise BadHead(f"{length[:40]!r} is not a length")
        return SizedBody(int(length))


class SizedBody:
    """A body whose length the head has told."""

    def __init__(self, size: int) -> None:
        self.finished = size == 0
        self.excess = b""
        self._left = size

    def feed(self, data: bytes) -> bytes:
        piece = data[: self._left]
        self.excess += data[self._left :]
        self._left -= len(piece)
        self.finished = self._left == 0
        return piece


class OpenBody:
    """A body that ends with the connection. Whether it is complete, only what it carries can tell."""

    def __init__(self) -> None:
        self.finished = False
        self.excess = b""

    def feed(self, data: bytes) -> bytes:
        return data


def split(data: bytes) -> tuple[bytes, bytes] | None:
    """Return the head and what follows it; None while the head is incomplete. Raises BadHead if it is too long."""
    at = data.find(b"\r\n\r\n")
    if at >= 0:
        return data[:at], data[at + 4 :]
    if len(data) > LIMIT:
        raise BadHead("the head of the answer is too long")
    return None


def parse(head: bytes) -> Head:
    """Return what a head says. Raises BadHead."""
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    code = rest[:3]
    if not version.startswith("HTTP/1.") or not (code.isascii() and code.isdigit() and len(code) == 3):
        raise BadHead(f"{first[:40]!r} is not the start of an HTTP answer")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip():
            raise BadHead(f"{line[:40]!r} is not a header")
        name = name.lower()
        value = value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    connection = headers.get("connection", "").lower()
    keeps = "close" not in connection and (version != "HTTP/1.0" or "keep-alive" in connection)
    return Head(int(code), headers, keeps)
