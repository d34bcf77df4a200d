"""Decodes HTTP/1.1's chunked framing.

The standard library's reader hands out one chunk per call, and servers put one event in a chunk, so a reply would cost
a call and a write per delta. Here one network read, however many chunks it brought, becomes one piece of body.
"""

_MAX_LINE = 16 * 1024
_CACHED = 4096
_SHORT = 16
_DIGITS = b"0123456789abcdefABCDEF"

_sizes: dict[bytes, int] = {}  # Most chunks, of all replies, are of a few sizes: each line is parsed once.


class BadChunk(ValueError):
    """The framing is broken."""


class ChunkedDecoder:
    """Undoes the framing of one body. Invariant: once `finished`, the body was complete; what came after it is in
    `excess`.
    """

    __slots__ = ("_left", "_pending", "_trailers", "excess", "finished")

    def __init__(self) -> None:
        self.finished = False
        self.excess = b""
        self._left = 0  # The remaining bytes of the open chunk, its CRLF included.
        self._pending = b""  # An incomplete line.
        self._trailers = False

    def feed(self, data: bytes) -> bytes:
        """Return what these bytes bring of the body. Raises BadChunk."""
        if self.finished:
            self.excess += data
            return b""
        out: list[bytes] = []
        pos = 0
        if self._left:
            pos = self._resume(data, out)
        elif self._pending:
            data = self._pending + data
            self._pending = b""

        sizes = _sizes
        end = len(data)
        while pos < end and not self._trailers:
            line_end = data.find(b"\r\n", pos)
            if line_end < 0:
                self._keep(data[pos:])
                return b"".join(out)
            line = data[pos:line_end]
            size = sizes.get(line)
            if size is None:
                size = self._size(line)
            pos = line_end + 2
            if size == 0:
                self._trailers = True
                break
            stop = pos + size
            if stop + 2 <= end:
                out.append(data[pos:stop])
                if data[stop : stop + 2] != b"\r\n":
                    raise BadChunk("a chunk is longer than it says")
                pos = stop + 2
            else:
                self._left = size + 2
                self._resume(data[pos:], out)
                return b"".join(out)
        if self._trailers:
            self._skip_trailers(data, pos)
        return b"".join(out)

    def _resume(self, data: bytes, out: list[bytes]) -> int:
        """Take what is left of the open chunk; return how many bytes that used up. Raises BadChunk."""
        left, here = self._left, len(data)
        body = left - 2
        if body > 0:
            out.append(data[:body])
        used = min(left, here)
        ending = data[max(body, 0) : used]
        if ending != b"\r\n"[2 - min(left, 2) :][: len(ending)]:
            raise BadChunk("a chunk is longer than it says")
        self._left = left - used
        return used

    def _size(self, line: bytes) -> int:
        digits = line.partition(b";")[0].rstrip(b" \t")
        if not 0 < len(digits) <= 15 or digits.strip(_DIGITS):
            raise BadChunk(f"{line[:40]!r} is not the size of a chunk")
        size = int(digits, 16)
        if len(_sizes) < _CACHED and len(line) < _SHORT:
            _sizes[line] = size
        return size

    def _skip_trailers(self, data: bytes, pos: int) -> None:
        while True:
            line_end = data.find(b"\r\n", pos)
            if line_end < 0:
                self._keep(data[pos:])
                return
            empty = line_end == pos
            pos = line_end + 2
            if empty:
                self.finished = True
                self.excess = data[pos:]
                return

    def _keep(self, line: bytes) -> None:
        if len(line) > _MAX_LINE:
            raise BadChunk("a line between chunks is too long")
        self._pending = line
