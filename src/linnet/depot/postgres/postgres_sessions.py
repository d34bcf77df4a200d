"""Sessions in Postgres."""

from typing import TypeVar

from linnet.depot.depot_sessions import Decide, DepotSessions
from linnet.depot.postgres.connections import Connections
from linnet.depot.postgres.transactions import Transactions
from linnet.errors import SessionError

T = TypeVar("T")


class PostgresSessions(DepotSessions):
    def __init__(self, connections: Connections, transactions: Transactions) -> None:
        self._connections = connections
        self._transactions = transactions

    def decided(self, key: str, decide: Decide[T]) -> T:
        return self._transactions.decided(lambda it: it.sessions([key]), lambda fleet, now: decide(fleet))

    def first_line(self, key: str) -> bytes | None:
        with self._connections.connection() as connection:
            found = connection.execute(
                "select header from linnet.sessions where key = %s", [key], binary=True
            ).fetchone()
        return None if found is None else bytes(found[0])

    def lines(self, key: str, first: int) -> list[bytes]:
        with self._connections.connection() as connection:
            found = connection.execute(
                "select line from linnet.lines where key = %s and place >= %s order by place", [key, first], binary=True
            )
            return [line for (line,) in found]

    def keys(self) -> list[str]:
        with self._connections.connection() as connection:
            return [key for (key,) in connection.execute("select key from linnet.sessions order by number desc")]

    def find(self, word: str, cwd: str = "") -> str | None:
        with self._connections.connection() as connection:
            keys = [
                key
                for (key,) in connection.execute(
                    "select key from linnet.sessions where starts_with(key, %s) order by key limit 1000", [word]
                )
            ]
        if len(keys) > 1 and word not in keys:
            raise SessionError(f"{word} is the beginning of {len(keys)} sessions; write more of its id")
        return keys[0] if keys else None
