"""The port behind which agents are kept that run on any of many machines.

One transaction holds all that an agent decides: what its session has to remember, what watchers are told, which
commands are answered, which effects begin and end. So what is in the depot is at each moment a beginning of what the
agent decided, and whoever takes over goes on from there. Whoever implements this tests it with
`linnet.testing.depot_contract`.

Clocks: only the depot's own decides about leases. A worker stops by its own monotonic clock before that
(`core.fleet.tenure`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

from linnet.depot.records import Asked, Batch, Claim, Effect, Hold, Row, Shown, Waiting
from linnet.errors import SessionError
from linnet.store.factory import LogFactory


class Fenced(SessionError):
    """Somebody else owns the agent by now, or it is gone: nothing was written. No client hears of it: what it waits for
    is the new owner's to do.
    """


class Depot(Protocol):
    """Any thread may call; each call may block, and raise LogUnavailable, after which nobody knows whether it was
    carried out: each may be repeated as it is, and says what the first one would have said.
    """

    @property
    def sessions(self) -> LogFactory:
        """Return the sessions in the same place, whose logs may wait."""

    def close(self) -> None:
        """Let go of all connections. Idempotent."""

    # Of doors.

    def add(self, id: str, record: bytes, labels: Sequence[str] = ()) -> None:
        """Keep a new agent. It runs on workers that have all of these labels."""

    def remove(self, id: str) -> bool:
        """Forget an agent with all it told, and return whether there was one. Its session stays."""

    def shown(self, since: int = 0) -> tuple[list[Shown], int]:
        """Return the agents that have changed since a moment, and the moment to ask from next time; 0 is before all of
        them. Some may be handed out that have not changed.
        """

    def ids(self) -> list[str]:
        """Return the ids of all agents, those that were added first at the beginning."""

    def ask(self, agent: str, asked: Asked) -> tuple[Literal["new", "waits", "reused", "gone"] | bytes, int]:
        """Put a command into the inbox, unless one of that name is there. Return what became of that: an answer as
        bytes; and its number.
        """

    def told(self, agent: str, after: int, most: int = 256) -> list[Row]:
        """Return records after this place, in order, without a gap: the first is the next one, unless that was
        dropped.
        """

    def marked(self, agent: str, number: int) -> int | None:
        """Return the place of the last marked record whose first event is not after this number's next; None if what
        comes after the number is not kept any more.
        """

    def listen(self, tell: Callable[[str], None]) -> Callable[[], None]:
        """Have this function called, in a thread, with the id of an agent of which there may be something new: told,
        asked, changed; or with "" after a connection was lost. Hints: some may be missing. Return what ends it.
        """

    # Of workers.

    def claim(self, worker: str, most: int, lease: float, labels: Sequence[str] = ()) -> list[Claim]:
        """Own up to so many agents for `lease` seconds that have something to do and no owner: commands are waiting,
        or they were working. An agent whose owner was lost three times at the same place is set aside instead.
        """

    def renew(self, worker: str, holds: Sequence[Hold], lease: float) -> set[str]:
        """Own these agents for `lease` seconds from now. Return those that are still ours."""

    def release(self, hold: Hold, record: bytes) -> None:
        """Let go of an agent, which is as the record says; it sleeps, or somebody else goes on. Raises nothing if it
        is not ours any more.
        """

    def commands(self, hold: Hold, after: int = 0) -> list[Waiting]:
        """Return the commands after this number that are not answered, in order. Raises Fenced."""

    def commit(self, hold: Hold, batch: Batch) -> None:
        """Write all of it or nothing. Its row follows the last one that was written; if that one is itself, by the same
        owner, nothing is written again. Raises Fenced otherwise.
        """

    def effects(self, hold: Hold, calls: Sequence[str]) -> Mapping[str, Effect]:
        """Return what the ledger knows of these calls."""

    def drop(self, milliseconds: int, bytes: int) -> int:
        """Drop what agents told longer ago than this, and more of one agent than so many bytes, up to a mark. Return
        how many records that were. Any worker may, at any time.
        """
