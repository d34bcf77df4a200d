"""A depot in Postgres: the machine of `core.fleet` decides in transactions, and one statement makes each change."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from typing import Literal, TypeVar
from uuid import uuid4

from linnet.core.fleet import inbox, owning
from linnet.core.fleet.changes import Added, Change, Removed
from linnet.core.fleet.committing import committed
from linnet.core.fleet.kept import Agent, Fleet
from linnet.core.fleet.records import Asked, Batch, Claim, Effect, Hold, Row, Shown, Waiting
from linnet.depot.fencing import checked, fenced
from linnet.depot.postgres import locked_rows
from linnet.depot.postgres.connections import PATIENCE, Connections
from linnet.depot.postgres.locked_rows import Loading
from linnet.depot.postgres.notices import Notices
from linnet.depot.postgres.postgres_sessions import PostgresSessions
from linnet.depot.postgres.schema import prepare
from linnet.depot.postgres.transactions import Transactions
from linnet.errors import SessionError

T = TypeVar("T")
_END_STOPPED = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and application_name like 'linnet:%'
    and wait_event = 'ClientRead' and state <> 'idle'
    and state_change < clock_timestamp() - interval '2 seconds'
"""


class PostgresDepot:
    """A `Depot`. Invariant: every change is decided by the machine while what it is decided about is locked."""

    def __init__(self, dsn: str, name: str = "linnet", *, patience: float = PATIENCE) -> None:
        """`name` is what the database's list of connections shows, after "linnet:". A call takes `patience` seconds at
        most, or is given up. Nothing is connected before the first call.
        """
        self._connections = Connections(dsn, name, patience=patience)
        self._connections.preparing(prepare)
        self._transactions = Transactions(self._connections)
        self._notices = Notices(self._connections.connect)
        self._requests = Lock()
        self._unanswered: dict[str, str] = {}  # The last request of a worker whose answer it may not have got.
        self.sessions = PostgresSessions(self._connections, self._transactions)

    def close(self) -> None:
        self._notices.close()
        self._connections.close()

    # Of doors.

    def add(self, id: str, record: bytes, labels: Sequence[str] = ()) -> None:
        added = Added(id, record, frozenset(labels))

        def decide(fleet: Fleet, now: int) -> tuple[list[Change], None]:
            there = fleet.agents.get(id)
            if there is None:
                return [added], None
            if (there.added, there.labels) != (added.record, added.labels):
                raise SessionError(f"there is another agent {id} already")
            return [], None

        self._of(id, decide)
        self._notices.give(id)

    def remove(self, id: str) -> bool:
        was_there = self._of(id, lambda fleet, now: ([Removed(each) for each in fleet.agents], bool(fleet.agents)))
        self._notices.give(id)
        return was_there

    def shown(self, since: int = 0) -> tuple[list[Shown], int]:
        with self._connections.connection() as connection:
            it = Loading(connection)
            # Transactions do not end in the order in which they began: who asks next begins with the oldest of now.
            ((moment,),) = it.send("select pg_snapshot_xmin(pg_current_snapshot())::text::bigint").fetchall()
            found = it.send(locked_rows.AGENT + "where changed >= %s order by number", [since]).fetchall()
        return [locked_rows.agent(row).shown for row in found], moment

    def ids(self) -> list[str]:
        with self._connections.connection() as connection:
            return [id for (id,) in connection.execute("select id from linnet.agents order by number")]

    def ask(self, agent: str, asked: Asked) -> tuple[Literal["new", "waits", "reused", "gone"] | bytes, int]:
        def load(it: Loading) -> None:
            it.agents("where id = %s for no key update", [agent])
            it.commands(agent, "client = %s and name = %s", [asked.client.encode(), asked.name.encode()])

        def decide(
            fleet: Fleet, now: int
        ) -> tuple[list[Change], tuple[Literal["new", "waits", "reused", "gone"] | bytes, int]]:
            decided, became, number = inbox.asked(fleet, agent, asked)
            return decided, (became, number)

        result = self._transactions.decided(load, decide)
        self._notices.give(agent)
        return result

    def told(self, agent: str, after: int, most: int = 256) -> list[Row]:
        with self._connections.connection() as connection:
            found = Loading(connection).send(
                f"{locked_rows.TOLD} where agent = %s and place > %s order by place limit %s", [agent, after, most]
            )
            return [locked_rows.told(agent, row).row for row in found]

    def marked(self, agent: str, number: int) -> int | None:
        with self._connections.connection() as connection:
            found = connection.execute(
                "select max(place) from linnet.told where agent = %s and marked and before <= %s",
                [agent, number],
            ).fetchone()
            return None if found is None else found[0]

    def listen(self, tell: Callable[[str], None]) -> Callable[[], None]:
        return self._notices.listen(tell)

    # Of workers.

    def claim(self, worker: str, most: int, lease: float, labels: Sequence[str] = ()) -> list[Claim]:
        """Own agents. A worker asks from one thread at a time."""
        with self._requests:
            again = worker in self._unanswered
            request = self._unanswered.setdefault(worker, str(uuid4()))
        # What is locked is about to be somebody's: perhaps ours, by the same request, whose answer was lost.
        locked = "for no key update" if again else "for no key update skip locked"

        def load(it: Loading) -> None:
            it.agents(
                "where parked = '' and (working or open > 0) and labels <@ %s and (owner = '' or until <= linnet.now())"
                f" order by number limit %s {locked}",
                [list(labels), most],
            )
            it.agents("where owner = %s and request = %s order by number for no key update", [worker, request])

        def more(it: Loading, fleet: Fleet) -> None:
            for agent in fleet.agents.values():
                if agent.owner and agent.request != request:
                    it.effects(agent.id, "state = 'begun' and epoch = %s", [agent.epoch])

        def decide(fleet: Fleet, now: int) -> tuple[list[Change], list[Claim]]:
            return owning.claimed(fleet, worker, request, most, now + int(lease * 1000), labels, now)

        given = self._transactions.decided(load, decide, more)
        with self._requests:
            self._unanswered.pop(worker, None)
        for each in given:
            self._notices.give(each.hold.agent)
        if len(given) < most:
            self._end_stopped()
        return given

    def _end_stopped(self) -> None:
        """End connections of ours that wait for their client in the middle of a transaction: one that was stopped there
        has locked an agent, and nobody else could own it or write to it.
        """
        with suppress(SessionError), self._connections.connection() as connection:
            connection.execute(_END_STOPPED)

    def renew(self, worker: str, holds: Sequence[Hold], lease: float) -> set[str]:
        def load(it: Loading) -> None:
            it.agents("where id = any(%s) order by number for no key update", [[each.agent for each in holds]])

        def decide(fleet: Fleet, now: int) -> tuple[Sequence[Change], set[str]]:
            decided = owning.renewed(fleet, worker, holds, now + int(lease * 1000))
            return decided, {each.agent for each in decided}

        return self._transactions.decided(load, decide)

    def release(self, hold: Hold, record: bytes) -> None:
        self._of(hold.agent, lambda fleet, now: (owning.released(fleet, hold, record), None))
        self._notices.give(hold.agent)

    def commands(self, hold: Hold, after: int = 0) -> list[Waiting]:
        def load(it: Loading) -> None:
            it.agents("where id = %s for key share", [hold.agent])
            it.commands(hold.agent, "answer is null and number > %s order by number", [after])

        return self._held(hold, load, lambda agent: agent.waiting)

    def commit(self, hold: Hold, batch: Batch) -> None:
        calls = [each.call.encode() for each in batch.effects]
        numbers = [*batch.begun, *(each.command for each in batch.row.answers)]

        def load(it: Loading) -> None:
            it.agents("where id = %s for no key update", [hold.agent])
            if numbers:
                it.commands(hold.agent, "number = any(%s)", [numbers])
            if calls:
                it.effects(hold.agent, "call = any(%s)", [calls])
            if batch.entries:
                it.sessions({each.key for each in batch.entries})

        def more(it: Loading, fleet: Fleet) -> None:
            agent = fleet.agents.get(hold.agent)
            if agent is not None and agent.place == batch.row.place:
                it.told(hold.agent, agent.place)  # It may be the same batch, whose answer was lost.

        self._transactions.decided(
            load, lambda fleet, now: (checked(hold, committed(fleet, hold, batch, now)), None), more
        )
        self._notices.give(hold.agent)

    def effects(self, hold: Hold, calls: Sequence[str]) -> Mapping[str, Effect]:
        def load(it: Loading) -> None:
            it.agents("where id = %s for key share", [hold.agent])
            it.effects(hold.agent, "call = any(%s)", [[each.encode() for each in calls]])

        return self._held(hold, load, lambda agent: agent.effects)

    def drop(self, milliseconds: int, bytes: int) -> int:
        with self._connections.connection() as connection:
            heavy = connection.execute(
                "select agent from linnet.told group by agent having min(time) < linnet.now() - %s or sum(size) > %s",
                [milliseconds, bytes],
            ).fetchall()
        return sum(self._dropped(id, milliseconds, bytes) for (id,) in heavy)

    def _dropped(self, id: str, milliseconds: int, bytes: int) -> int:
        """Drop records of one agent, and return how many those were."""
        weights: list[inbox.Weight] = []

        def load(it: Loading) -> None:
            it.agents("where id = %s for no key update", [id])

        def more(it: Loading, fleet: Fleet) -> None:
            rows = it.send("select place, marked, time, size from linnet.told where agent = %s order by place", [id])
            it.reads(lambda _: weights.extend(inbox.Weight(*row) for row in rows))

        def decide(fleet: Fleet, now: int) -> tuple[Sequence[Change], int]:
            decided = inbox.forgotten(id, weights, now - milliseconds, bytes) if fleet.agents else []
            return decided, sum(1 for weight in weights for each in decided if weight.place < each.before)

        return self._transactions.decided(load, decide, more)

    def _of(self, id: str, decide: Callable[[Fleet, int], tuple[Sequence[Change], T]]) -> T:
        return self._transactions.decided(lambda it: it.agents("where id = %s for no key update", [id]), decide)

    def _held(self, hold: Hold, load: Callable[[Loading], None], read: Callable[[Agent], T]) -> T:
        """Return what is read of an agent that is owned. Raises Fenced."""

        def decide(fleet: Fleet, now: int) -> tuple[list[Change], T]:
            agent = owning.owned(fleet, hold)
            if agent is None:
                raise fenced(hold)
            return [], read(agent)

        return self._transactions.decided(load, decide)
