"""One request on one connection, up to the head of its answer."""

from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from linnet.providers.http import head
from linnet.providers.http.call import Bytes
from linnet.providers.http.chunked import BadChunk
from linnet.providers.http.dial import describe

if TYPE_CHECKING:
    import socket

READ = 65536
_SLICE = 1 << 18
_AT_LEAST = 0.001  # Seconds. None at all would mean not to wait, which is another error.
_SETTLING = 16  # So many reads a kept connection may take to come to the end of its last reply.


class Connection:
    """A socket that another thread may shut down while its owner reads from it."""

    def __init__(self, sock: "socket.socket") -> None:
        self.sock = sock
        self.since = 0.0
        self.body: head.Body | None = None  # The last reply's, while kept: its end may still be on the way.
        self._lock = Lock()
        self.open = True

    def interrupt(self) -> None:
        """Wake whoever sends or reads."""
        import socket

        self._shut(socket.SHUT_RDWR)

    def interrupt_reading(self) -> None:
        """Wake whoever reads. The other side hears nothing of it until the reader closes: to tell it takes longer."""
        import socket

        self._shut(socket.SHUT_RD)

    def give_up_after(self, seconds: float) -> None:
        """Have the system end the connection if what is sent is not acknowledged for so long; 0 is its own default.

        A router that has forgotten a silent connection says nothing, and the system would go on for 15 minutes.
        """
        import socket

        if hasattr(socket, "TCP_USER_TIMEOUT"):
            with suppress(OSError):  # The other side has closed it.
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, min(int(seconds * 1000), 2**31 - 1))

    def _shut(self, how: int) -> None:
        import socket

        with self._lock:  # A number that was closed may already belong to another file.
            if self.open:
                with suppress(OSError):  # The other side was quicker.
                    socket.socket.shutdown(self.sock, how)

    def close(self) -> None:
        with self._lock:
            self.open = False
            self.sock.close()

    def settled(self) -> bool:
        """Return whether the last reply has ended and no byte follows it. Never waits."""
        body = self.body
        if body is None:
            return False
        self.sock.setblocking(False)
        for _ in range(_SETTLING):
            try:
                data = self.sock.recv(READ)
            except OSError as error:
                waiting = isinstance(error, BlockingIOError) or type(error).__name__ == "SSLWantReadError"
                return waiting and body.finished and not body.excess
            if not data or body.finished:
                return False
            try:
                body.feed(data)
            except BadChunk:
                return False
        return False  # A server that goes on like this is not waited for.


class NoAnswer(Exception):
    """The server took the request, and did not begin to answer in time."""


class Broken(Exception):
    """The connection was lost after the server had begun to answer."""


def silent(error: OSError) -> bool:
    """Return whether a deadline of ours has passed. A connection that the system gave up is a lost one, under the same
    class.
    """
    return isinstance(error, TimeoutError) and error.errno is None


def ask(
    connection: Connection, request: bytes, body: Sequence[Bytes], first_byte: float
) -> tuple[head.Head, head.Body, bytes] | None:
    """Send a request, then read to the end of the answer's head, which has to come in `first_byte` seconds.

    Return the head, the body's framing, and what was read of the body; None if the server closed without a byte. Raises
    NoAnswer, Broken, BadHead or BadChunk, and OSError as long as no byte of an answer has come.
    """
    sock = connection.sock
    refused: OSError | None = None
    try:
        _send(sock, request, body)
    except OSError as error:
        if silent(error):
            raise
        refused = error  # It may have answered before it stopped listening: a body too large, a bad key.
    until = monotonic() + first_byte
    data = b""
    passed = 0  # Bytes of answers that announce another one.
    while True:
        while not (halves := head.split(data)):
            try:
                sock.settimeout(max(until - monotonic(), _AT_LEAST))
                piece = sock.recv(READ)
            except OSError as error:
                if silent(error):
                    raise NoAnswer from None
                if data or passed:
                    raise Broken(describe(error)) from None
                raise refused or error from None
            if not piece:
                if data or passed:
                    raise head.BadHead("it stopped within the head of its answer")
                if refused is not None:
                    raise refused
                return None
            data += piece
        answer = head.parse(halves[0])
        if answer.status < 100 or answer.status >= 200:
            framing = answer.body()
            return answer, framing, framing.feed(halves[1]) if halves[1] else b""
        data = halves[1]
        passed += len(halves[0])
        if passed > head.LIMIT:
            raise head.BadHead("it never comes to its answer")


def _send(sock: "socket.socket", request: bytes, body: Sequence[Bytes]) -> None:
    """Send head and body. Small pieces are joined, so that a packet is full; large ones are not copied.

    The socket's timeout is for a slice, not for all of a body that a slow line takes long for.
    """
    views = [memoryview(piece).cast("B") for piece in body]
    try:
        _send_views(sock, request, views)
    finally:
        # An abort leaves an error that may be kept, and the error keeps what was being sent: while anybody looks at it,
        # the history that it belongs to could not grow.
        for view in views:
            view.release()


def _send_views(sock: "socket.socket", request: bytes, views: list[memoryview]) -> None:
    small: list[Bytes] = [request]
    waiting = len(request)
    for view in views:
        if waiting + len(view) >= READ:
            sock.sendall(b"".join(small))
            small, waiting = [], 0
        if len(view) < READ:
            small.append(view)
            waiting += len(view)
        else:
            for at in range(0, len(view), _SLICE):
                with view[at : at + _SLICE] as part:
                    sock.sendall(part)
    if small:
        sock.sendall(b"".join(small))
