"""What all agents of a server share: its options, its numbers, what is counted, and who hears of changes."""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from linnet.core import commands
from linnet.eventlog.event_log import Limits
from linnet.eventlog.reserved import Reserved
from linnet.files.folders import make_own

if TYPE_CHECKING:
    from linnet.serve.agents.served_agent import Agent

DRAINING = "the server is shutting down, and begins nothing any more"
SPENT = "the budget of {} is spent: {:.2f} of {:.2f} dollars"


class HostOptions(Struct, frozen=True, kw_only=True):
    """How a server keeps its agents."""

    state: str
    """The folder where everything about its agents is kept, but for their sessions."""
    defaults: tuple[str, ...] = ()
    """Words that every agent is opened with, before those of whoever opens it."""
    max_agents: int = 10_000
    awake: int = 100
    """So many may be awake without anything to do; those that have been idle longest fall asleep first."""
    sleep_after: float = 60.0
    """Seconds after which an agent that has nothing to do falls asleep."""
    on_detach: Literal["keep", "abort"] = "keep"
    """What becomes of a run when the last one that drives its agent goes."""
    agent_budget: float | None = None
    """Dollars that one agent may cost."""
    budget: float | None = None
    """Dollars that all agents may cost together."""
    limits: Limits = Limits()
    """How much is kept of the events of one agent."""
    all_bytes: int = 4 * 1024 * 1024 * 1024
    """How much is kept of the events of all."""


class Counters:
    """What has happened since the server began. Any thread may count; readers see a moment."""

    def __init__(self) -> None:
        self.commands = 0
        self.events = 0
        self.cost = 0.0


class Shared:
    """Any thread may call. Nothing here blocks."""

    def __init__(self, options: HostOptions, environ: Mapping[str, str], *, own_process: bool) -> None:
        """Raises OSError, ConfigError."""
        self.options = options
        self.own_process = own_process
        self.environ = environ
        make_own(options.state)  # Agents are found again by what is in there, with all of their flags.
        self.reserved = Reserved(os.path.join(options.state, "numbers.json"))
        self.counters = Counters()
        self.spent = 0.0  # What all agents have cost, those of before included.
        self.draining = False
        self._lock = Lock()
        self._listeners: list[Callable[[str], None]] = []
        self.awake: set[Agent] = set()

    @staticmethod
    def clock() -> int:
        return time.time_ns() // 1_000_000

    def listen(self, tell: Callable[[str], None]) -> None:
        """Have this function called with the id of an agent whose summary has changed. It must not block."""
        with self._lock:
            self._listeners = [*self._listeners, tell]

    def unlisten(self, tell: Callable[[str], None]) -> None:
        with self._lock:
            self._listeners = [each for each in self._listeners if each != tell]

    def changed(self, id: str) -> None:
        for tell in self._listeners:
            with suppress(RuntimeError):  # A loop that was closed meanwhile.
                tell(id)

    def awoke(self, agent: "Agent") -> None:
        with self._lock:
            self.awake.add(agent)

    def fell_asleep(self, agent: "Agent") -> None:
        with self._lock:
            self.awake.discard(agent)

    def count_command(self) -> None:
        self.counters.commands += 1

    def count_events(self, count: int, cost: float) -> None:
        with self._lock:
            self.counters.events += count
            self.counters.cost += cost
            self.spent += cost

    def refusal(self, command: commands.Command, cost: float) -> tuple[str, str]:
        """Return why this is not begun now by an agent that has cost so much, and a code; empty if it may be."""
        if not isinstance(command, commands.Prompt | commands.Compact | commands.Bash):
            return "", ""
        if self.draining:
            return DRAINING, "draining"
        options = self.options
        if options.agent_budget is not None and cost >= options.agent_budget:
            return SPENT.format("this agent", cost, options.agent_budget), "budget"
        if options.budget is not None and self.spent >= options.budget:
            return SPENT.format("all agents", self.spent, options.budget), "budget"
        return "", ""
