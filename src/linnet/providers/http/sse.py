"""Splits a stream of server-sent events into the payloads of its events.

A payload is the joined `data` lines of one event. Names, ids, comments and retry hints carry nothing that a payload
does not repeat, so they are dropped. Lines end with LF, CRLF or CR and with nothing else: U+2028 is part of the text.
"""

LIMIT = 64 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


class EventTooLarge(ValueError):
    """One event has more bytes than it may."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"one event is larger than {limit} bytes")


class EventSplitter:
    """Splits one stream. Invariant: cutting it elsewhere changes when a payload comes out, never which payloads do.

    An event that the stream does not finish with an empty line is not an event.
    """

    __slots__ = ("_fresh", "_limit", "_parts", "_size", "_skip_lf")

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._parts: list[bytes] = []  # Pieces of the unfinished event: joined once, so a huge one costs its length.
        self._size = 0
        self._skip_lf = False
        self._fresh = True  # A mark of the byte order may still come.

    def feed(self, data: bytes) -> list[bytes]:
        """Return the payloads of the events that these bytes complete. Raises EventTooLarge."""
        if self._skip_lf and data:
            self._skip_lf = False
            if data.startswith(b"\n"):
                data = data[1:]
        if b"\r" in data:
            self._skip_lf = data.endswith(b"\r")  # It ended a line already; an LF that follows belongs to it.
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not data:
            return []

        parts = self._parts
        if b"\n\n" not in data and not (parts and data[0] == 10 and parts[-1][-1] == 10):
            parts.append(data)
            self._size += len(data)
            if self._size > self._limit:
                raise EventTooLarge(self._limit)
            return []
        if parts:
            parts.append(data)
            data = b"".join(parts)
            parts.clear()
        if len(data) > self._limit:
            self._check(data)

        end = data.rindex(b"\n\n") + 2
        if end < len(data):
            rest = data[end:]
            parts.append(rest)
            data = data[:end]
            self._size = len(rest)
        else:
            self._size = 0
        if self._fresh:
            self._fresh = False
            data = data.removeprefix(_BOM)
        found = _uniform(data)
        return _parse(data) if found is None else found

    def _check(self, data: bytes) -> None:
        if max(map(len, data.split(b"\n\n"))) > self._limit:
            raise EventTooLarge(self._limit)


def _uniform(data: bytes) -> list[bytes] | None:
    """Return the payloads of events in the shapes that vendors send, all of one shape; None if they have another."""
    if data.startswith(b"data: "):
        found = data[6:-2].split(b"\n\ndata: ")
        return found if data.count(b"\n") == 2 * len(found) else None
    return _uniform_named(data) if data.startswith(b"event: ") else None


def _uniform_named(data: bytes) -> list[bytes] | None:
    """Return the same of events with a name before their data.

    Their lines sit at a fixed stride, so that slicing finds them, without a look at each line.
    """
    lines = data.split(b"\n")
    lines.pop()
    values = lines[1::3]
    if len(lines) != 3 * len(values) or any(lines[2::3]):
        return None
    found = [line[6:] for line in values if line[:6] == b"data: "]
    return found if len(found) == len(values) and data.count(b"\ndata") == len(found) else None


def _parse(data: bytes) -> list[bytes]:
    """Return the payloads of any events, with any fields in any order."""
    found: list[bytes] = []
    values: list[bytes] = []
    for line in data.split(b"\n"):
        if not line:
            if values:
                found.append(b"\n".join(values))
                values.clear()
            continue
        name, _, value = line.partition(b":")
        if name == b"data":
            values.append(value[1:] if value.startswith(b" ") else value)
    return found
