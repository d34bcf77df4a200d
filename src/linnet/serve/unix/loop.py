"""Serves all connections of a unix socket in one thread: reads commands, and writes what readers have room for."""

import os
import select
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import monotonic

from linnet.serve.agents.doors import AgentHost
from linnet.serve.unix.beginnings import Beginnings
from linnet.serve.unix.client import Client
from linnet.server.wakeup import Wakeup

PATIENCE = 2.0  # Seconds at the end for which somebody must have read something.
LONGEST = 10.0  # Seconds that all of them have for that.
REST = 1.0  # Seconds for which nobody is accepted when there are no descriptors left.
MOST_AT_ONCE = 64  # Connections that are accepted before others have their turn.
TOO_MANY = b'{"type":"response","command":"","success":false,"error":"there are too many connections","code":"busy"}\n'


class Loop:
    """Invariant: a client is looked at when it has something to read, has room, or was poked; however many others there
    are, that costs the same. One thread calls `run`; any may call `poke`.
    """

    def __init__(
        self,
        host: AgentHost,
        listening: socket.socket | None,
        is_allowed: Callable[[socket.socket], bool] = lambda connection: True,
        most: int = 4096,
    ) -> None:
        self._host = host
        self._listening = listening
        self._is_allowed = is_allowed
        self._most = most
        self.wakeup = Wakeup()
        self._epoll = select.epoll()
        self._epoll.register(self.wakeup.fileno(), select.EPOLLIN)
        if listening is not None:
            listening.setblocking(False)
            self._epoll.register(listening.fileno(), select.EPOLLIN)
        self._clients: dict[int, Client] = {}
        self._wanted: dict[int, int] = {}  # What epoll was asked for, by descriptor.
        self._poked: deque[Client] = deque()
        self._after: deque[Callable[[], None]] = deque()
        self.beginnings = Beginnings(self.after_turn)
        self._waits = False
        self._stopped = False
        self._rests_until = 0.0  # When connections are accepted again; 0 if they are now.
        self.on_signal: Callable[[int], None] = lambda number: self.stop()

    @property
    def connections(self) -> int:
        return len(self._clients)

    def poke(self, client: Client) -> None:
        """Have the loop look at a client. Never blocks."""
        if not client.poked:  # However much has happened since it was looked at, that is one look.
            client.poked = True
            self._poked.append(client)
        self._rouse()

    def after_turn(self, act: Callable[[], None]) -> None:
        """Have this function called when all that waits now was looked at. Never blocks, and nor must it."""
        self._after.append(act)
        self._rouse()

    def _rouse(self) -> None:
        if self._waits:
            self._waits = False
            self.wakeup.wake()

    def stop(self) -> None:
        """Have `run` return."""
        self._stopped = True
        self.wakeup.wake()

    def forget(self, client: Client) -> None:
        """Watch a descriptor no more, which is about to be closed."""
        if self._clients.pop(client.fd, None) is not None:
            self._ignore(client)

    def _ignore(self, client: Client) -> None:
        if self._wanted.pop(client.fd, None) is not None:
            self._epoll.unregister(client.fd)

    def run(self) -> None:
        """Serve until `stop` is called. Raises LinnetError if the system gives no thread."""
        self.beginnings.run()
        while not self._stopped:
            self._turn()

    def close(self) -> None:
        """Send what there is, as long as anybody reads, and close all connections."""
        if self._listening is not None:
            self._epoll.unregister(self._listening.fileno())
        self.beginnings.close()
        for client in list(self._clients.values()):
            client.end()
        until = monotonic() + LONGEST
        self._turn(0)
        while self._clients and monotonic() < until and self._turn(PATIENCE):
            pass
        for client in list(self._clients.values()):
            client.close()

    def _turn(self, seconds: float = -1) -> bool:
        """Wait until there is something to do, at most so many seconds (-1: for ever), and do it. Return whether there
        was.
        """
        self._waits = True
        if self._rests_until:
            seconds = REST if seconds < 0 else min(seconds, REST)
        ready = self._epoll.poll(0 if self._poked or self._after else seconds)
        self._waits = False
        if self._rests_until and monotonic() >= self._rests_until:
            self._accept_again()
        turns = len(self._after)
        for fd, event in ready:
            self._see_to(fd, event)
        for _ in range(len(self._poked)):  # Those that are poked meanwhile come after the next look.
            client = self._poked.popleft()
            client.poked = False  # Before the look: what happens from here on may be too late for it.
            self._look_at(client)
        for _ in range(turns):
            self._after.popleft()()
        return bool(ready or self._poked)

    def _see_to(self, fd: int, event: int) -> None:
        if fd == self.wakeup.fileno():
            self.wakeup.clear()
            number, self.wakeup.signal = self.wakeup.signal, 0
            if number:
                self.on_signal(number)
        elif self._listening is not None and fd == self._listening.fileno():
            self._accept()
        elif (client := self._clients.get(fd)) is not None:
            if event & (select.EPOLLHUP | select.EPOLLERR) and not event & select.EPOLLIN:
                if client.occupied:
                    self._ignore(client)  # It may have sent more before it went, which is read when its turn comes.
                else:
                    client.close()
                return
            if event & select.EPOLLIN:
                client.read()
            self._look_at(client)

    def _look_at(self, client: Client) -> None:
        client.write()
        if client.connection is None:
            return
        wanted = (select.EPOLLIN if client.may_read else 0) | (select.EPOLLOUT if client.blocked else 0)
        before = self._wanted.get(client.fd)
        if before is None:
            if not client.occupied:
                self._wanted[client.fd] = wanted
                self._epoll.register(client.fd, wanted)
        elif before != wanted:
            self._wanted[client.fd] = wanted
            self._epoll.modify(client.fd, wanted)

    def _accept_again(self) -> None:
        assert self._listening is not None
        self._rests_until = 0.0
        self._epoll.modify(self._listening.fileno(), select.EPOLLIN)

    def _accept(self) -> None:
        assert self._listening is not None
        for _ in range(MOST_AT_ONCE):
            try:
                connection, _ = self._listening.accept()
            except BlockingIOError:
                return
            except ConnectionAbortedError:
                continue
            except OSError:  # There are too many descriptors: whoever waits would wake this loop again at once.
                self._rests_until = monotonic() + REST
                self._epoll.modify(self._listening.fileno(), 0)
                return
            connection.setblocking(False)
            if not self._is_allowed(connection):
                connection.close()
                continue
            if len(self._clients) >= self._most:
                with suppress(OSError):  # It may be gone.
                    connection.send(TOO_MANY)
                connection.close()
                continue
            client = Client(connection, self, self._host)
            self._clients[client.fd] = client
            self._wanted[client.fd] = select.EPOLLIN
            self._epoll.register(client.fd, select.EPOLLIN)


def raise_limit_of_descriptors() -> None:
    """Have as many descriptors as the system allows: a connection is one, and so is an agent at work."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def is_own(uid: int) -> bool:
    """Return whether a peer is the user whose process this is."""
    return uid == os.geteuid()
