"""One request to a vendor: path, headers and body. Its writer decides all three; the client only adds framing."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, field

Bytes: TypeAlias = bytes | bytearray | memoryview


class HttpCall(Struct, frozen=True):
    """A request to one origin."""

    path: str
    """The whole path, with its query, as it stands in the first line. It begins with a slash."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Beside those of every request; one of the same name, in whichever case, replaces it."""
    body: Sequence[Bytes] = ()
    """Sent in this order. `Content-Length` is the sum of their lengths."""
    method: str = "POST"
    without: frozenset[str] = frozenset()
    """Headers of every request that this one does not have, in lower case."""

    @property
    def size(self) -> int:
        """Return how many bytes the body has."""
        return sum(memoryview(piece).nbytes for piece in self.body)
