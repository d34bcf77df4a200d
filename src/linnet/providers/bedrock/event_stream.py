"""Splits a stream of `application/vnd.amazon.eventstream` into JSON payloads. Pure.

A frame has headers and a body. Its payload here is an object with a key that says what the frame is: `{"messageStop":
…}` for an event, and `{"exception": {"type": "throttlingException", "body": …}}` for a failure. A delta, which most
frames are, is given as it came: it has the key `delta`.
"""

from struct import Struct as Layout
from typing import TypeAlias
from zlib import crc32

from linnet.providers.body import encode
from linnet.providers.http.sse import EventTooLarge

_PRELUDE = Layout("!III")
_SUM = Layout("!I")
_LEAST = 16
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}  # Of values by their type. These have no length before them.
_SIZED = (6, 7)
_TEXT = 7
_REMEMBERED = 512
_DELTA = "contentBlockDelta"

_Wrap: TypeAlias = tuple[bytes, bytes] | tuple[()] | None
"""What is put before and after a body; None if it is given as it came, empty if it is not given at all."""
_Frame: TypeAlias = tuple[bytes, int, int, int, _Wrap]
"""All before a body, where that begins, where its frame ends, the checksum so far, and what is done with it."""


class FrameSplitter:
    """Splits one stream. Invariant: cutting it elsewhere changes when a payload comes out, never which payloads do.

    Both checksums of a frame are checked. A frame that the stream does not finish is none.
    """

    __slots__ = ("_broken", "_buffer", "_known", "_limit", "_wanted")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._wanted = _PRELUDE.size  # So many bytes must be there before anything more can be known.
        self._known: dict[bytes, _Frame] = {}  # By the first bytes: most frames begin like one before.
        self._broken: ValueError | None = None  # Why nothing more can be read. What came before goes out first.

    def feed(self, data: bytes) -> list[bytes]:
        """Return the payloads that these bytes complete. Raises EventTooLarge, or ValueError for what is no frame."""
        found: list[bytes] = []
        self._buffer += data
        if self._broken is None and len(self._buffer) >= self._wanted:
            try:
                self._split(found)
            except ValueError as error:
                self._broken = error
        if self._broken is not None and not found:
            raise self._broken
        return found

    def _split(self, found: list[bytes]) -> None:
        """Add the payloads of all frames that are whole. Raises as `feed` does."""
        whole = bytes(self._buffer)
        known, sum_at, add = self._known, _SUM.unpack_from, found.append
        at, end = 0, len(whole)
        self._wanted = _PRELUDE.size
        while end - at >= 12:
            prelude = whole[at : at + 12]
            frame = known.get(prelude)
            if frame is None or not whole.startswith(frame[0], at):
                total, size = self._sizes(prelude)
                if end - at < total:
                    self._wanted = total
                    break
                frame = self._learned(prelude, whole[at : at + size], total)
            _, size, total, checked, wrap = frame
            if end - at < total:
                self._wanted = total
                break
            last = at + total - 4
            payload = whole[at + size : last]
            if crc32(payload, checked) != sum_at(whole, last)[0]:
                raise ValueError("the checksum of a frame is wrong")
            if wrap is None:
                add(payload)
            elif wrap:
                add(wrap[0] + (payload or b"null") + wrap[1])
            at += total
        del self._buffer[:at]

    def _sizes(self, prelude: bytes) -> tuple[int, int]:
        """Return how long a frame is, and where its body begins, by its first bytes. Raises as `feed` does."""
        total, headers, checksum = _PRELUDE.unpack(prelude)
        if crc32(prelude[:8]) != checksum:
            raise ValueError("the checksum of a frame's beginning is wrong")
        if total > self._limit:
            raise EventTooLarge(self._limit)
        if total < _LEAST + headers:
            raise ValueError("a frame is shorter than its headers")
        return total, _PRELUDE.size + headers

    def _learned(self, prelude: bytes, head: bytes, total: int) -> _Frame:
        """Return what is known of a frame by all before its body. Raises ValueError."""
        found = head, len(head), total, crc32(head), _wrapping(_texts(head[_PRELUDE.size :]))
        if len(self._known) < _REMEMBERED:
            self._known[prelude] = found
        return found


def _wrapping(headers: dict[str, str]) -> _Wrap:
    match headers.get(":message-type"):
        case "event" if headers.get(":event-type") == _DELTA:
            return None
        case "event":
            return b"{" + encode(headers.get(":event-type", "")) + b":", b"}"
        case "exception":
            return b'{"exception":{"type":' + encode(headers.get(":exception-type", "")) + b',"body":', b"}}"
        case "error":
            said = {"type": headers.get(":error-code", ""), "body": {"message": headers.get(":error-message", "")}}
            return b'{"exception":' + encode(said) + b',"rest":', b"}"
        case _:
            return ()


def _texts(data: bytes) -> dict[str, str]:
    """Return the headers that are texts. Raises ValueError for what are no headers."""
    found: dict[str, str] = {}
    at = 0
    try:
        while at < len(data):
            name = data[at + 1 : at + 1 + data[at]]
            at += 1 + data[at]
            kind = data[at]
            at += 1
            if kind in _SIZED:
                size = int.from_bytes(data[at : at + 2], "big")
                at += 2
            else:
                size = _SIZES[kind]
            if kind == _TEXT:
                found[name.decode()] = data[at : at + size].decode()
            at += size
    except (IndexError, KeyError, UnicodeDecodeError):
        raise ValueError("the headers of a frame cannot be read") from None
    if at != len(data):
        raise ValueError("the headers of a frame cannot be read")
    return found
