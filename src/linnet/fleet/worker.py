"""A worker: owns as many agents as it has slots for, renews its lease on them, and hands them over at its end."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event as Signal
from threading import Lock, Thread
from time import monotonic

from msgspec import Struct

from linnet.core.fleet.records import Claim
from linnet.core.fleet.tenure import Tenure
from linnet.depot.depot import Depot
from linnet.errors import LinnetError, LogUnavailable, SessionError
from linnet.fleet.owned_agent import OwnedAgent, Terms, in_a_thread
from linnet.logs import warn
from linnet.runtime.error_report import start

OVERDUE = "the lease could not be renewed in time: somebody else may go on with the agent"
SWEEP = 300.0  # Seconds between two looks at what is kept too long.
TAKEN = "somebody else has taken the agent over"


class WorkerOptions(Struct, frozen=True, kw_only=True):
    slots: int = 100
    lease: float = 15.0
    """Seconds for which an agent is nobody else's after its worker was lost."""
    poll: float = 1.0
    """Seconds between two looks for something to do, if no hint comes."""
    labels: tuple[str, ...] = ()
    name: str = ""
    kept: tuple[int, int] = (24 * 3_600_000, 64 * 1024 * 1024)
    """For how many milliseconds, and of one agent how many bytes, what was told is kept."""


def default_name() -> str:
    """Return a name that no other worker has."""
    return f"{os.uname().nodename[:40]}-{os.getpid()}-{os.urandom(3).hex()}"


class Worker:
    """Invariant: nothing is done for an agent whose lease may be over. `_lock` guards which agents it owns."""

    def __init__(self, depot: Depot, options: WorkerOptions, terms: Terms) -> None:
        self.name = options.name or default_name()
        self._depot = depot
        self._options = options
        self._terms = terms
        self._lock = Lock()
        self._agents: dict[str, OwnedAgent] = {}
        self._tenure = Tenure(options.lease, monotonic())
        self._woken = Signal()
        self._draining = False
        self._ending = Signal()
        self._pause = min(1.0, options.lease / 30)  # Seconds between two looks at the clock.
        self._threads: list[Thread] = []
        self._unlisten: Callable[[], None] = lambda: None

    def begin(self) -> None:
        """Begin to work, in threads. Raises LinnetError."""
        self._unlisten = self._depot.listen(self._hear)
        for thread in (
            Thread(target=self._claim_all, name="linnet-claims", daemon=True),
            Thread(target=self._renew_all, name="linnet-lease", daemon=True),
            Thread(target=self._watch_clock, name="linnet-tenure", daemon=True),
        ):
            start(thread)
            self._threads.append(thread)

    def drain(self, patience: float | None = None) -> bool:
        """Own nothing new, and hand over each agent at the end of its step. Wait until none is left, at most so many
        seconds; return whether none is.
        """
        self._draining = True
        until = None if patience is None else monotonic() + patience
        while agents := self._all():
            for agent in agents:  # Each time: a step under way may come to ask somebody, and wait.
                agent.hand_over()
            if (until is not None and monotonic() > until) or self._ending.is_set():
                return False
            self._woken.wait(0.05)
            self._woken.clear()
        return True

    def close(self) -> None:
        """Hand over what is left at once, and end. Blocks. Idempotent."""
        self._draining = True
        for agent in self._all():
            agent.hand_over(at_once=True)
        deadline = monotonic() + self._options.lease
        while self._all() and monotonic() < deadline:
            self._woken.wait(0.02)
            self._woken.clear()
        self._ending.set()
        self._woken.set()
        self._unlisten()
        for thread in self._threads:
            thread.join()

    def _all(self) -> list[OwnedAgent]:
        with self._lock:
            return list(self._agents.values())

    def _hear(self, agent: str) -> None:
        """Take a hint: never blocks."""
        with self._lock:
            ours = self._agents.get(agent)
            all_of_ours = list(self._agents.values()) if not agent else []
        for each in all_of_ours:
            each.poke()
        if ours is not None:
            ours.poke()
        else:
            self._woken.set()

    def _claim_all(self) -> None:
        """Look for something to do: what that thread does."""
        swept = monotonic()
        while not self._ending.is_set():
            self._woken.wait(self._options.poll)
            self._woken.clear()
            for agent in self._all():
                agent.poke()  # A hint may be missing.
                if agent.rests():
                    in_a_thread(agent.let_go)
            if not self._draining:
                self._claim()
            if monotonic() - swept > SWEEP:
                swept = monotonic()
                with suppress(SessionError):
                    self._depot.drop(*self._options.kept)

    def _claim(self) -> None:
        while (free := self._options.slots - len(self._all())) > 0 and not self._draining:
            sent = monotonic()
            try:
                claims = self._depot.claim(self.name, free, self._options.lease, self._options.labels)
            except SessionError as error:
                if not isinstance(error, LogUnavailable):
                    warn(__name__, f"nothing can be claimed: {error}")
                return
            for claim in claims:
                self._own(claim, sent)
            if not claims:
                return

    def _own(self, claim: Claim, sent: float) -> None:
        try:
            agent = OwnedAgent(self._depot, claim, self._terms, self._gone)
        except LinnetError as error:
            warn(__name__, f"agent {claim.hold.agent}: {error}")
            return
        with self._lock:
            if not self._agents:
                self._tenure = Tenure(self._options.lease, sent)
            self._agents[claim.hold.agent] = agent
        try:
            agent.begin()
        except LinnetError as error:
            agent.drop(error)

    def _gone(self, agent: OwnedAgent) -> None:
        with self._lock:
            if self._agents.get(agent.hold.agent) is agent:
                del self._agents[agent.hold.agent]
        self._woken.set()

    def _renew_all(self) -> None:
        """Renew the lease: what that thread does."""
        while not self._ending.wait(self._pause):
            agents = self._all()
            if agents and self._tenure.is_due(monotonic()):
                self._renew(agents)

    def _watch_clock(self) -> None:
        """Stop everything once the lease may be over, whatever the depot is asked meanwhile: what that thread does."""
        while not self._ending.wait(self._pause):
            if self._tenure.is_over(monotonic()):
                for agent in self._all():
                    agent.drop(SessionError(OVERDUE))

    def _renew(self, agents: Sequence[OwnedAgent]) -> None:
        sent = monotonic()
        try:
            ours = self._depot.renew(self.name, [each.hold for each in agents], self._options.lease)
        except SessionError:
            return
        self._tenure.renewed(sent)
        for agent in agents:
            if agent.hold.agent not in ours:
                agent.drop(SessionError(TAKEN))
