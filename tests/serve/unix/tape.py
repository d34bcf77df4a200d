"""What a client of a server has been told, as one that may have to come back keeps it. Pure."""

import json
from typing import Any

Frame = dict[str, Any]


class Tape:
    """Invariant: `record` is what was told in whole lines, but for responses. `seq` is the number that was seen last,
    and what came after it is dropped by `cut`, as it will be told again.
    """

    def __init__(self) -> None:
        self.record = bytearray()
        self.seq = 0
        self._sure = 0  # How much of the record came up to that number.
        self._half = b""

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the lines that are whole now."""
        *lines, self._half = (self._half + chunk).split(b"\n")
        return [self._told(line) for line in lines]

    def cut(self) -> None:
        """Take note that the connection has ended."""
        self._half = b""
        del self.record[self._sure :]

    def _told(self, line: bytes) -> Frame:
        frame: Frame = json.loads(line)
        if frame["type"] != "response":
            self.record += line + b"\n"
            if "seq" in frame:
                assert frame["seq"] > self.seq, f"{frame['seq']} came after {self.seq}"
                self.seq, self._sure = frame["seq"], len(self.record)
        return frame


def frames(record: bytes | bytearray) -> list[Frame]:
    """Return the lines of a record."""
    return [json.loads(line) for line in record.splitlines()]
