"""A network between programs and their database that can be cut, or swallow everything."""

import selectors
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread


class Proxy:
    """Passes bytes between whoever connects to `port` and a port of this machine.

    What is read at once in one direction is a message: a program that sends and waits makes one of each question.
    """

    def __init__(self, to: int) -> None:
        self._to = to
        self._lock = Lock()
        self._ends: dict[socket.socket, socket.socket] = {}
        self._left = -1  # Messages until all connections are cut; -1 if they are not to be.
        self._swallows = False
        self._selector = selectors.DefaultSelector()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._stop, self._stopped = socket.socketpair()
        self._selector.register(self._stopped, selectors.EVENT_READ)
        self._thread = Thread(target=self._run, name="proxy")
        self._thread.start()

    def close(self) -> None:
        self._stop.send(b"x")
        self._thread.join()

    @contextmanager
    def cutting(self, message: int) -> Iterator[None]:
        """Cut everything instead of passing this message on, once, counted from 0."""
        with self._lock:
            self._left = message
        try:
            yield
        finally:
            with self._lock:
                self._left = -1

    def cut(self) -> None:
        """Cut all connections. New ones are passed on."""
        with self._lock:
            for end in self._ends:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    @contextmanager
    def swallowing(self) -> Iterator[None]:
        """Pass nothing on, and cut nothing: what was sent within is never answered."""
        with self._lock:
            self._swallows = True
        try:
            yield
        finally:
            with self._lock:
                self._swallows = False
            self.cut()

    def _run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._stopped:
                    self._end()
                    return
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    assert isinstance(key.fileobj, socket.socket)
                    self._pass_on(key.fileobj)

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        try:
            far = socket.create_connection(("127.0.0.1", self._to))
        except OSError:  # The database is down.
            near.close()
            return
        with self._lock:
            self._ends |= {near: far, far: near}
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(end, selectors.EVENT_READ)

    def _pass_on(self, end: socket.socket) -> None:
        other = self._ends.get(end)
        if other is None:  # It went with the other one a moment ago.
            return
        try:
            read = end.recv(1 << 20)
        except OSError:
            read = b""
        with self._lock:
            is_cut = self._left == 0
            if self._left >= 0:
                self._left -= 1
            swallows = self._swallows
        if is_cut:
            self.cut()
            read = b""
        try:
            if read and not swallows:
                other.sendall(read)
        except OSError:
            read = b""
        if not read:
            self._forget(end, other)

    def _forget(self, *ends: socket.socket) -> None:
        with self._lock:
            for end in ends:
                self._ends.pop(end, None)
        for end in ends:
            self._selector.unregister(end)
            end.close()

    def _end(self) -> None:
        for each in list(self._selector.get_map().values()):
            assert isinstance(each.fileobj, socket.socket)
            each.fileobj.close()
        self._selector.close()
        self._stop.close()
