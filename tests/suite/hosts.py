"""Hosts that do not answer."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def deaf_host() -> Iterator[int]:
    """A port whose queue is full: a connection attempt is neither accepted nor refused."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        fillers = [socket.socket() for _ in range(3)]
        try:
            for filler in fillers:
                filler.setblocking(False)
                filler.connect_ex(listener.getsockname())
            yield listener.getsockname()[1]
        finally:
            for filler in fillers:
                filler.close()


@contextmanager
def mute_host() -> Iterator[tuple[socket.socket, int]]:
    """A port that is connected to, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener, listener.getsockname()[1]
