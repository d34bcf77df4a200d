"""A depot in memory: the machine of `core.fleet` with a lock and a clock."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from threading import Lock
from typing import Literal, TypeVar

from linnet.core.fleet import inbox, owning
from linnet.core.fleet.changes import Added, Change, Removed
from linnet.core.fleet.committing import committed
from linnet.core.fleet.kept import Agent, Fleet
from linnet.core.fleet.records import Asked, Batch, Claim, Effect, Hold, Row, Shown, Waiting
from linnet.depot.fencing import checked, fenced
from linnet.depot.hints import Hints
from linnet.depot.memory_sessions import MemorySessions
from linnet.errors import SessionError

T = TypeVar("T")


def steady_clock() -> Callable[[], int]:
    """Return a clock in milliseconds since 1970 that never goes back."""
    start = time.time() - time.monotonic()
    return lambda: int((start + time.monotonic()) * 1000)


class MemoryDepot:
    """A `Depot` that lasts as long as this object, for workers and doors of one process.

    Invariant: what is kept changes only by what the machine decided, all of one decision at once.
    """

    def __init__(self, clock: Callable[[], int] | None = None) -> None:
        """`clock` returns milliseconds since 1970."""
        self._clock = clock or steady_clock()
        self._lock = Lock()
        self._fleet = Fleet()
        self._hints = Hints()
        self._requests = count(1)
        self._unanswered: dict[str, str] = {}  # The last request of a worker whose answer it may not have got.
        self.sessions = MemorySessions(self._carry_out)

    def close(self) -> None:
        self._hints.close()

    # Of doors.

    def add(self, id: str, record: bytes, labels: Sequence[str] = ()) -> None:
        added = Added(id, record, frozenset(labels))

        def decide(fleet: Fleet) -> tuple[list[Change], None]:
            there = fleet.agents.get(id)
            if there is None:
                return [added], None
            if (there.added, there.labels) != (added.record, added.labels):
                raise SessionError(f"there is another agent {id} already")
            return [], None

        self._carry_out(decide)
        self._hints.give(id)

    def remove(self, id: str) -> bool:
        def decide(fleet: Fleet) -> tuple[list[Change], bool]:
            return ([Removed(id)], True) if id in fleet.agents else ([], False)

        was_there = self._carry_out(decide)
        self._hints.give(id)
        return was_there

    def shown(self, since: int = 0) -> tuple[list[Shown], int]:
        def decide(fleet: Fleet) -> tuple[list[Change], tuple[list[Shown], int]]:
            return [], ([each.shown for each in fleet.agents.values() if each.changed > since], fleet.changed)

        return self._carry_out(decide)

    def ids(self) -> list[str]:
        return self._carry_out(lambda fleet: ([], list(fleet.agents)))

    def ask(self, agent: str, asked: Asked) -> tuple[Literal["new", "waits", "reused", "gone"] | bytes, int]:
        def decide(fleet: Fleet) -> tuple[list[Change], tuple[Literal["new", "waits", "reused", "gone"] | bytes, int]]:
            decided, became, number = inbox.asked(fleet, agent, asked)
            return decided, (became, number)

        result = self._carry_out(decide)
        self._hints.give(agent)
        return result

    def told(self, agent: str, after: int, most: int = 256) -> list[Row]:
        return self._of(agent, lambda kept: kept.told(after, most), [])

    def marked(self, agent: str, number: int) -> int | None:
        return self._of(agent, lambda kept: inbox.mark(kept, number), None)

    def listen(self, tell: Callable[[str], None]) -> Callable[[], None]:
        return self._hints.listen(tell)

    # Of workers.

    def claim(self, worker: str, most: int, lease: float, labels: Sequence[str] = ()) -> list[Claim]:
        """Own agents. A worker asks from one thread at a time."""
        request = self._unanswered.setdefault(worker, str(next(self._requests)))

        def decide(fleet: Fleet) -> tuple[list[Change], list[Claim]]:
            now = self._clock()
            return owning.claimed(fleet, worker, request, most, _end(now, lease), labels, now)

        given = self._carry_out(decide)
        self._unanswered.pop(worker, None)
        for each in given:
            self._hints.give(each.hold.agent)
        return given

    def renew(self, worker: str, holds: Sequence[Hold], lease: float) -> set[str]:
        def decide(fleet: Fleet) -> tuple[list[Change], set[str]]:
            decided = owning.renewed(fleet, worker, holds, _end(self._clock(), lease))
            return [*decided], {each.agent for each in decided}

        return self._carry_out(decide)

    def release(self, hold: Hold, record: bytes) -> None:
        self._carry_out(lambda fleet: (owning.released(fleet, hold, record), None))
        self._hints.give(hold.agent)

    def commands(self, hold: Hold, after: int = 0) -> list[Waiting]:
        return self._held(hold, lambda agent: [each for each in agent.waiting if each.number > after])

    def commit(self, hold: Hold, batch: Batch) -> None:
        self._carry_out(lambda fleet: (checked(hold, committed(fleet, hold, batch, self._clock())), None))
        self._hints.give(hold.agent)

    def effects(self, hold: Hold, calls: Sequence[str]) -> Mapping[str, Effect]:
        return self._held(hold, lambda agent: {call: agent.effects[call] for call in calls if call in agent.effects})

    def drop(self, milliseconds: int, bytes: int) -> int:
        def decide(fleet: Fleet) -> tuple[list[Change], int]:
            before = self._clock() - milliseconds
            agents = fleet.agents.values()
            decided = [each for it in agents for each in inbox.forgotten(it.id, inbox.weighed(it), before, bytes)]
            return [*decided], sum(each.before - fleet.agents[each.agent].first for each in decided)

        return self._carry_out(decide)

    def _carry_out(self, decide: Callable[[Fleet], tuple[Sequence[Change], T]]) -> T:
        with self._lock:
            decided, result = decide(self._fleet)
            self._fleet.apply(decided)
            return result

    def _of(self, id: str, read: Callable[[Agent], T], otherwise: T) -> T:
        def decide(fleet: Fleet) -> tuple[list[Change], T]:
            agent = fleet.agents.get(id)
            return [], otherwise if agent is None else read(agent)

        return self._carry_out(decide)

    def _held(self, hold: Hold, read: Callable[[Agent], T]) -> T:
        """Return what is read of an agent that is owned. Raises Fenced."""

        def decide(fleet: Fleet) -> tuple[list[Change], T]:
            agent = owning.owned(fleet, hold)
            if agent is None:
                raise fenced(hold)
            return [], read(agent)

        return self._carry_out(decide)


def _end(now: int, lease: float) -> int:
    return now + int(lease * 1000)
