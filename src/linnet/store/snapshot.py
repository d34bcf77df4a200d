"""The entries of a session as they were at one moment, read when they are asked for, in any thread."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import overload

from linnet.core.messages import Message
from linnet.errors import SessionError
from linnet.store.entries import Entry, Said
from linnet.store.lines import content_of
from linnet.store.reading import Spans
from linnet.store.tree import Node

BLOCK = 256 * 1024  # So many bytes of the file are read at once: whoever asks for one line asks for the next.


class LineReader:
    """Reads lines of a file, and after them those in memory. Has a descriptor of its own, for as long as it lives."""

    def __init__(
        self, lines: Sequence[bytes], fd: int | None = None, spans: Spans | None = None, path: str = ""
    ) -> None:
        self._lines = lines
        self._fd = fd
        self._spans = spans or Spans()
        self.path = path
        self._start = 0
        self._block = b""

    def __del__(self) -> None:
        if self._fd is not None:
            with suppress(OSError):
                os.close(self._fd)

    def line(self, index: int) -> bytes:
        """Return the line at an index. Raises SessionError if it is not there any more."""
        if self._fd is None or index >= len(self._spans):
            return self._lines[index - len(self._spans)]
        start, length = self._spans.starts[index], self._spans.lengths[index]
        at = start - self._start
        if at < 0 or at + length > len(self._block):
            try:
                self._block = os.pread(self._fd, max(BLOCK, length), start)
            except OSError as error:
                raise SessionError(f"{self.path} cannot be read: {error.strerror}") from None
            self._start, at = start, 0
            if len(self._block) < length:
                raise SessionError(f"{self.path} was cut short by another program")
        return self._block[at : at + length]


class SaidBefore(Sequence[tuple[str, Message]]):
    """The messages of these nodes, each with its id. Raises as Snapshot does."""

    def __init__(self, nodes: Sequence[Node], lines: LineReader) -> None:
        self._entries = Snapshot(nodes, lines)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[tuple[str, Message]]:
        return (_said(each) for each in self._entries)

    @overload
    def __getitem__(self, index: int) -> tuple[str, Message]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[str, Message]]: ...
    def __getitem__(self, index: int | slice) -> tuple[str, Message] | list[tuple[str, Message]]:
        found = self._entries[index]
        return [_said(each) for each in found] if isinstance(found, list) else _said(found)


def _said(entry: Entry) -> tuple[str, Message]:
    assert isinstance(entry.content, Said)
    return entry.id, entry.content.message


class Snapshot(Sequence[Entry]):
    """The entries of these nodes. Reading one raises SessionError if the file says something else by now."""

    def __init__(self, nodes: Sequence[Node], lines: LineReader) -> None:
        self._nodes = nodes
        self._lines = lines

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Entry]:
        for index in range(len(self._nodes)):
            yield self._read(index)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        if isinstance(index, slice):
            return [self._read(each) for each in range(*index.indices(len(self)))]
        return self._read(index)

    def _read(self, index: int) -> Entry:
        node = self._nodes[index]
        line = self._lines.line(node.index)
        content = content_of(line, node.id, node.time)
        if content is None:
            raise SessionError(f"{self._lines.path} was changed by another program")
        return Entry(node.id, node.parent, node.time, node.type, content, line)
