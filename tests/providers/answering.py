"""A server that gives prepared answers, in their order, and keeps what it was asked."""

import socket
from threading import Condition, Thread
from types import TracebackType
from typing import Self

from linnet.testing.model_http import read_request

SILENCE = b""


def answer(body: bytes, status: int = 200, kind: str = "application/json") -> bytes:
    """A whole answer of HTTP."""
    head = f"HTTP/1.1 {status} Prepared\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Answering:
    """Answers each request with the next of its answers; SILENCE is none at all."""

    def __init__(self, *answers: bytes) -> None:
        self._answers = iter(answers)
        self.asked: list[tuple[str, dict[str, str], bytes]] = []  # Paths, headers and bodies.
        self._changed = Condition()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[socket.socket] = []
        self._threads = [Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for connection in self._open:
            connection.close()
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def wait_for(self, requests: int) -> None:
        """Block until so many requests have come."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.asked) >= requests, 10)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            thread = Thread(target=self._converse, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _converse(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as stream:
                while asked := read_request(stream):
                    _, path, headers, body = asked
                    with self._changed:
                        self.asked.append((path, headers, body))
                        prepared = next(self._answers)
                        self._changed.notify_all()
                    connection.sendall(prepared)
        except (OSError, ValueError):
            return
