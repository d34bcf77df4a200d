"""Connections to one database, for any number of threads; what goes wrong with them is said in the depot's words."""

import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Condition, Lock, Thread

import psycopg
from psycopg import Connection
from psycopg.errors import InsufficientPrivilege

from linnet.errors import LogUnavailable, SessionError

# It warns of each connection that is lost while something is sent: whoever called is told that anyway.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

MOST = 8  # Connections of one process that are at work at once; threads wait for their turn.
PATIENCE = 15.0  # Seconds that a call may take; then the connection is given up.
IDLE_IN_TRANSACTION = 2000  # Milliseconds after which the database ends a transaction whose owner was stopped.


class Connections:
    """A stack of connections. One that anything went wrong with is closed and not used again."""

    def __init__(self, dsn: str, name: str, *, most: int = MOST, patience: float = PATIENCE) -> None:
        """`name` is what the database's list of connections shows. Nothing is connected yet."""
        self._dsn = dsn
        self.name = name
        self._patience = patience
        self._most = most
        self._condition = Condition()
        self._idle: list[Connection] = []
        self._used = 0
        self._closed = False
        self._prepare: Callable[[Connection], None] | None = None
        self._watch = _Watch(patience)

    def preparing(self, prepare: Callable[[Connection], None]) -> None:
        """Have this called with the first connection, and with one more for as long as it fails."""
        self._prepare = prepare

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Hand out a connection in autocommit. Raises LogUnavailable if there is none, or if it is lost within; then
        nobody knows whether what was sent last was carried out. Raises SessionError for what will not get better.
        """
        held = self._take()
        try:
            if held is None:
                held = self.connect()
            with self._watch.limited(held), _said(held):
                if self._prepare is not None:
                    self._prepare(held)
                    self._prepare = None
                yield held
        except BaseException:
            self._give_up(held)
            raise
        self._give_back(held)

    def connect(self) -> Connection:
        """Return a connection of one's own. Raises LogUnavailable, SessionError."""
        with _said():
            return psycopg.connect(
                self._dsn,
                autocommit=True,
                application_name=f"linnet:{self.name}"[:63],
                connect_timeout=max(2, int(self._patience)),
                keepalives_idle=5,
                keepalives_interval=2,
                keepalives_count=3,
                options=f"-c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION} -c client_min_messages=warning",
            )

    def close(self) -> None:
        """Let go of all. Idempotent. Whoever is at work ends first."""
        with self._condition:
            self._closed = True
            idle, self._idle = self._idle, []
        for each in idle:
            each.close()
        self._watch.close()

    def _take(self) -> Connection | None:
        """Return an idle connection; None if one is to be made."""
        until = time.monotonic() + self._patience
        with self._condition:
            while self._used >= self._most:
                if not self._condition.wait(until - time.monotonic()):
                    raise LogUnavailable("all connections to the database are at work, and none was free in time")
            if self._closed:
                raise LogUnavailable("the connections to the database were closed")
            self._used += 1
            return self._idle.pop() if self._idle else None

    def _give_back(self, connection: Connection) -> None:
        with self._condition:
            self._used -= 1
            is_closed = self._closed
            if not is_closed:
                self._idle.append(connection)
            self._condition.notify()
        if is_closed:
            connection.close()

    def _give_up(self, connection: Connection | None) -> None:
        """Close a connection, and the idle ones: the database may have been started anew."""
        with self._condition:
            self._used -= 1
            idle, self._idle = self._idle, []
            self._condition.notify()
        for each in [*idle, *([connection] if connection is not None else [])]:
            with suppress(psycopg.Error):
                each.close()


class _Watch:
    """Cuts connections that take too long: a network that swallows what is sent must not hold a thread for ever."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._lock = Lock()
        self._changed = Condition(self._lock)
        self._deadlines: dict[int, tuple[float, Connection]] = {}
        self._thread: Thread | None = None
        self._closed = False

    @contextmanager
    def limited(self, connection: Connection) -> Iterator[None]:
        with self._lock:
            self._deadlines[id(connection)] = (time.monotonic() + self._patience, connection)
            if self._thread is None and not self._closed:
                self._thread = Thread(target=self._run, name="linnet-deadlines", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._deadlines.pop(id(connection), None)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        with self._lock:
            while not self._closed:
                now = time.monotonic()
                for key, (deadline, connection) in list(self._deadlines.items()):
                    if deadline <= now:
                        del self._deadlines[key]
                        _cut(connection)
                self._changed.wait(self._patience / 4)


def _cut(connection: Connection) -> None:
    """Have whoever waits for this connection find it closed by the other side."""
    with (
        suppress(psycopg.Error, OSError),
        socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as end,
    ):
        end.shutdown(socket.SHUT_RDWR)


@contextmanager
def _said(connection: Connection | None = None) -> Iterator[None]:
    """Say what psycopg says in the depot's words."""
    try:
        yield
    except psycopg.Error as error:
        passes = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError) and not _is_settled(error)
        if passes or (connection is not None and connection.closed):  # The server may end it for a reason of its own.
            raise LogUnavailable(f"the database cannot be reached: {_words(error)}") from error
        verb = "does not allow it" if isinstance(error, InsufficientPrivilege) else "refuses"
        raise SessionError(f"the database {verb}: {_words(error)}") from error


def _is_settled(error: psycopg.Error) -> bool:
    """Return whether the database has answered that it will not have this client, or has no such database. What goes
    wrong while connecting has no code in psycopg.
    """
    said = str(error)
    return "authentication failed" in said or ("FATAL" in said and "does not exist" in said)


def _words(error: psycopg.Error) -> str:
    return " ".join(str(error).split()) or type(error).__name__
