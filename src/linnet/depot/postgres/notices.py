"""Hints by LISTEN and NOTIFY: which agents have changed, sent by a thread of its own, apart from what changed them.

A notification holds a lock of the whole database while its transaction ends, so none is part of a transaction that does
something. Those that wait are sent together. Channels are shards of the agents.
"""

import os
import select
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread
from typing import TypeAlias
from zlib import crc32

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Identifier

from linnet.errors import SessionError

SHARDS = 16
LONGEST_PAUSE = 1.0  # Seconds between two tries to connect.
_SEND = """
select pg_notify('linnet_' || shard, agent) from unnest(%s::int[], %s::text[]) as changed (shard, agent)
"""

Tell: TypeAlias = Callable[[str], None]


def shard(agent: str) -> int:
    return crc32(agent.encode()) % SHARDS


class Notices:
    """Invariant: there is a thread from the first listener or hint until `close`. `_lock` guards what it shares."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        """`connect` returns a new connection; it raises SessionError."""
        self._connect = connect
        self._lock = Lock()
        self._listeners: list[Tell] = []
        self._pending: set[str] = set()
        self._thread: Thread | None = None
        self._closed = False
        self._woken, self._wake = -1, -1

    def give(self, agent: str) -> None:
        """Have everybody told of this agent, soon. Never blocks."""
        with self._lock:
            if self._closed or agent in self._pending:
                return
            self._pending.add(agent)
            self._begin_locked()
            if len(self._pending) == 1:
                os.write(self._wake, b"x")

    def listen(self, tell: Tell) -> Callable[[], None]:
        """Have this function called with the ids, until what is returned is called. It must not raise."""
        with self._lock:
            self._listeners = [*self._listeners, tell]
            self._begin_locked()
        return lambda: self._unlisten(tell)

    def close(self) -> None:
        """Tell nobody anything any more. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._listeners = []
            thread = self._thread
            if thread is not None:
                os.write(self._wake, b"x")
        if thread is not None:
            thread.join()
            os.close(self._woken)
            os.close(self._wake)

    def _unlisten(self, tell: Tell) -> None:
        with self._lock:
            self._listeners = [each for each in self._listeners if each is not tell]

    def _begin_locked(self) -> None:
        if self._thread is None and not self._closed:
            self._woken, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            self._thread = Thread(target=self._run, name="linnet-notices", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        pause = 0.05
        while not self._closed:
            began = time.monotonic()
            with suppress(SessionError, psycopg.Error, OSError), self._connect() as connection:
                self._serve(connection)
            pause = 0.05 if time.monotonic() - began > LONGEST_PAUSE else min(pause * 2, LONGEST_PAUSE)
            if not self._closed:
                select.select([self._woken], [], [], pause)  # A hint that waits may end the pause: no harm.

    def _serve(self, connection: Connection) -> None:
        """Send and hear until the connection is lost, or this is closed."""
        connection.add_notify_handler(lambda notice: self._tell(notice.payload))  # While something is executed.
        for number in range(SHARDS):
            connection.execute(SQL("listen {}").format(Identifier(f"linnet_{number}")))
        self._tell("")  # Whatever happened before, nobody was told of.
        while True:
            self._hear(connection)
            self._send(connection)
            if self._closed:  # What woke us for that may just have been taken for a hint.
                return
            select.select([connection.fileno(), self._woken], [], [])
            connection.pgconn.consume_input()

    def _send(self, connection: Connection) -> None:
        with self._lock:
            with suppress(BlockingIOError):
                os.read(self._woken, 4096)
            agents = sorted(self._pending)
            self._pending = set()
        if agents:
            connection.execute(_SEND, [[shard(each) for each in agents], agents])

    def _hear(self, connection: Connection) -> None:
        while (notice := connection.pgconn.notifies()) is not None:
            self._tell(notice.extra.decode())

    def _tell(self, agent: str) -> None:
        for tell in self._listeners:
            tell(agent)
