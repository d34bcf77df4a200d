"""Servers on loopback, and one that answers every request with the same bytes, as many of them as it is told."""

import socket
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread
from types import TracebackType
from typing import Self

from linnet.concurrency.cancel import CancelToken
from linnet.core.deltas import Delta
from linnet.errors import Cancelled, ProviderError
from linnet.providers.base import Provider, Request

PATIENCE = 10.0


def answer(content_type: str, pieces: Sequence[bytes]) -> bytes:
    """Return a whole answer: a head, and each piece as a chunk."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return head + b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


class Listening:
    """Answers one request on each connection. Its thread ends with the block that it is used in."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._thread = Thread(target=self._serve)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(PATIENCE)
            with connection, suppress(OSError):
                self.reply(connection)

    def reply(self, connection: socket.socket) -> None:
        """Read a request, and answer it."""
        raise NotImplementedError


class Loopback(Listening):
    """Answers every request with `answer`."""

    def __init__(self) -> None:
        super().__init__()
        self.answer = b""

    def reply(self, connection: socket.socket) -> None:
        self._read(connection)
        connection.sendall(self.answer)

    def _read(self, connection: socket.socket) -> None:
        """Read a request to its end: what is left unread would turn a hang-up into a reset."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536) or self._gone()
        head, _, rest = data.partition(b"\r\n\r\n")
        left = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]) - len(rest)
        while left > 0:
            left -= len(connection.recv(65536) or self._gone())

    def _gone(self) -> bytes:
        raise ConnectionError("the client hung up")


def heard(provider: Provider, request: Request) -> tuple[list[Delta], ProviderError | Cancelled | None]:
    """Return all that a reply brought, and how it failed if it has."""
    deltas: list[Delta] = []
    try:
        for batch in provider.stream(request, CancelToken()):
            deltas += batch
    except (ProviderError, Cancelled) as error:
        return deltas, error
    return deltas, None
