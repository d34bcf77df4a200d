"""Servers and proxies that are spelled out byte by byte."""

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread

from linnet.testing.model_http import tls_of

TLS = Path(__file__).parent / "tls"
Handler = Callable[[socket.socket], None]
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def request_of(connection: socket.socket) -> bytes:
    """One whole request, or nothing if the client hung up."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


class RawServer:
    """Gives each connection to the next handler. Whatever a handler raises fails the test."""

    def __init__(self, *handlers: Handler, secure: bool = False) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.url = f"{'https' if secure else 'http'}://127.0.0.1:{self.port}"
        self._tls = tls_of(str(TLS / "server.pem")) if secure else None
        self._handlers = handlers
        self._failures: list[BaseException] = []
        self._thread = Thread(target=self._run, daemon=True)  # A test that fails must not keep the others waiting.
        self._thread.start()

    def close(self) -> None:
        self._thread.join(10)
        assert not self._thread.is_alive()
        self._listener.close()
        assert not self._failures

    def _run(self) -> None:
        for handler in self._handlers:
            connection, _ = self._listener.accept()
            try:
                if self._tls is not None:
                    connection = self._tls.wrap_socket(connection, server_side=True)
                handler(connection)
            except BaseException as failure:
                self._failures.append(failure)
            finally:
                connection.close()


def answers(*answers: bytes) -> Handler:
    """Answers one request after the other on the same connection, then hangs up."""

    def handle(connection: socket.socket) -> None:
        for answer in answers:
            assert request_of(connection)
            connection.sendall(answer)

    return handle


def sized(body: bytes, status: str = "200 OK", kind: str = "text/event-stream", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Proxy:
    """Forwards to one server, whatever name it is asked for, and remembers the heads of the requests."""

    def __init__(self, target: int, answer: bytes = b"") -> None:
        self.heads: list[str] = []
        self._target = target
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def close(self) -> None:
        with socket.socket() as knock:
            knock.connect(self._listener.getsockname())
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            head = b""
            while b"\r\n\r\n" not in head and (piece := client.recv(65536)):
                head += piece
            if not head:
                client.close()
                return
            self.heads.append(head.partition(b"\r\n\r\n")[0].decode())
            if self._answer:
                with client:
                    client.sendall(self._answer)
                continue
            server = socket.create_connection(("127.0.0.1", self._target))
            if head.startswith(b"CONNECT "):
                client.sendall(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
            else:
                server.sendall(head)
            back = Thread(target=self._copy, args=(server, client))
            forth = Thread(target=self._copy, args=(client, server))
            self._threads += [back, forth]
            back.start()
            forth.start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError), source:
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)
