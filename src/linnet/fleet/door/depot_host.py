"""All agents of a depot, for a door of this process: opened, found, listed; they run on workers."""

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event as Signal
from threading import Lock, Thread
from time import monotonic
from typing import Literal
from uuid import uuid4

from linnet.core import commands
from linnet.core.fleet.records import Asked, Shown
from linnet.depot.depot import Depot
from linnet.errors import BadInput, LinnetError, LogUnavailable
from linnet.fleet.door.remote_agent import RemoteAgent
from linnet.fleet.fleet_record import FleetRecord, spelled_record
from linnet.logs import warn
from linnet.runtime.error_report import hand_over, start
from linnet.serve.agents.doors import Counts, OpenedAgent
from linnet.serve.agents.host import Draining, NoSuchAgent, TooMany
from linnet.serve.agents.recipe import OpenRequest, understood
from linnet.serve.agents.record import Opening, Record
from linnet.serve.agents.shared import DRAINING, SPENT, Counters, HostOptions
from linnet.serve.agents.summary import Summary
from linnet.store.factory import LogFactory

POLL = 1.0  # Seconds between two looks at what is shown, if no hint comes.
PAUSE = 0.05  # Seconds between two looks, however many hints come.
WHOLE = 10.0  # Seconds between two looks for agents that are gone.
PATIENCE = 60.0  # Seconds for which a command waits for a database that cannot be reached.
KEYS = "the keys that came along are not used: the workers that run the agent have their own"
UNSAVED = "agents of a store are kept there: --no-session has no meaning for them"


class DepotHost:
    """`AgentHost` for a depot. Invariant: whatever is shown was so a moment ago. `_lock` guards what is known."""

    def __init__(self, depot: Depot, options: HostOptions, environ: Mapping[str, str]) -> None:
        self.depot = depot
        self.options = options
        self.logs: LogFactory | None = depot.sessions
        self.ready = False
        self._environ = environ
        self._lock = Lock()
        self._agents: dict[str, RemoteAgent] = {}
        self._followed: set[RemoteAgent] = set()
        self._listeners: list[Callable[[str], None]] = []
        self._moment = 0
        self._woken = Signal()
        self._ending = Signal()
        self._draining = False
        self._counters = Counters()
        self._keeper: Thread | None = None
        self._unlisten: Callable[[], None] = lambda: None

    def begin(self) -> None:
        """Find the agents that there are. Raises LinnetError."""
        self._look()
        self._unlisten = self.depot.listen(self._hear)
        self._keeper = Thread(target=self._keep_looking, name="linnet-shown", daemon=True)
        start(self._keeper)
        self.ready = True

    @property
    def environ(self) -> Mapping[str, str]:
        return self._environ

    @property
    def draining(self) -> bool:
        return self._draining

    @property
    def is_quiet(self) -> bool:
        return not any(agent.is_working for agent in self._all())

    def open(self, request: OpenRequest) -> OpenedAgent:
        if self._draining:
            raise Draining
        recipe = understood(request, self.options.defaults)
        if recipe.flags.config.get("save") is False or recipe.flags.config.get("sessions") is False:
            raise BadInput(UNSAVED)
        if len(self._agents) >= self.options.max_agents:
            raise TooMany(f"there are {len(self._agents)} agents, and there may be no more: --max-agents")
        id = os.urandom(8).hex()
        now = time.time_ns() // 1_000_000
        shown = Summary(
            id=id, state="asleep", cwd=recipe.cwd, dialect=recipe.dialect, created=now, changed=now, since=now
        )
        remarks = (KEYS,) if request.env or "api_key" in recipe.flags.config else ()
        record = Record(
            id=id,
            words=recipe.words,
            program=request.program,
            dialect=recipe.dialect,
            cwd=recipe.cwd,
            kept=request.keep,
            opening=Opening(request.key, request.digest, remarks) if request.key else None,
            summary=shown,
        )
        text = spelled_record(FleetRecord(record=record, new=True, session=str(uuid4())))
        self.depot.add(id, text)
        agent = self._see(Shown(id, text, False, "", 0))
        return OpenedAgent(agent, recipe.spoken(), recipe.dialect, remarks)

    def opened_by(self, key: str) -> tuple[RemoteAgent, Opening] | None:
        for agent in self._all():
            opening = agent.record.record.opening
            if opening is not None and opening.key == key:
                return agent, opening
        return None

    def find(self, id: str) -> RemoteAgent:
        agent = self._agents.get(id)
        if agent is None:
            with suppress(LinnetError):
                self._look()  # Another door may have opened it just now.
            agent = self._agents.get(id)
        if agent is None:
            raise NoSuchAgent(id)
        return agent

    def remove(self, id: str) -> None:
        with self._lock:
            agent = self._agents.pop(id, None)
        if agent is None or not self.depot.remove(id):
            raise NoSuchAgent(id)
        agent.gone()
        self.changed(id)

    def summaries(self) -> list[Summary]:
        return [agent.summary() for agent in self._all()]

    def listen(self, tell: Callable[[str], None]) -> None:
        with self._lock:
            self._listeners = [*self._listeners, tell]

    def unlisten(self, tell: Callable[[str], None]) -> None:
        with self._lock:
            self._listeners = [each for each in self._listeners if each != tell]

    def counts(self) -> Counts:
        summaries = self.summaries()
        states: dict[str, int] = {}
        for each in summaries:
            states[each.state] = states.get(each.state, 0) + 1
        kinds = ("input", "output", "cache_read", "cache_write")
        return Counts(
            agents=len(summaries),
            awake=sum(each.state != "asleep" for each in summaries),
            states=states,
            drivers=sum(each.drivers for each in summaries),
            watchers=sum(each.watchers for each in summaries),
            prompts=sum(each.prompts for each in summaries),
            commands=self._counters.commands,
            events=sum(each.seq for each in summaries),
            cost=sum(agent.record.record.spent for agent in self._all()),
            tokens={kind: sum(getattr(each.tokens, kind) for each in summaries) for kind in kinds},
            bytes=0,
        )

    def drain(self, patience: float | None = None) -> None:
        """Begin nothing any more. What runs goes on elsewhere: nobody has to wait for it."""
        self._draining = True

    def close(self) -> None:
        self._draining = True
        self._ending.set()
        self._woken.set()
        self._unlisten()
        if self._keeper is not None:
            self._keeper.join()
            self._keeper = None
        self.depot.close()

    # For its agents.

    def asked(self, id: str, said: Asked) -> "Literal['new', 'waits', 'reused', 'gone'] | bytes":
        """Put a command into an agent's inbox. Raises LinnetError."""
        delay, until = 0.05, monotonic() + PATIENCE
        while True:  # It has a name: once more does no harm.
            try:
                return self.depot.ask(id, said)[0]
            except LogUnavailable:
                if monotonic() > until or self._ending.wait(delay):
                    raise
            delay = min(delay * 2, 1.0)

    def quietly(self, id: str, said: Asked) -> None:
        """Ask something for which nobody waits, in a thread."""

        def ask() -> None:
            with suppress(LinnetError):
                self.asked(id, said)

        with suppress(LinnetError):
            hand_over("linnet-aside", ask)

    def refusal(self, command: commands.Command, spent: float) -> tuple[str, str]:
        """Return why this is not begun now by an agent that has cost so much, and a code; empty if it may be."""
        if not isinstance(command, commands.Prompt | commands.Compact | commands.Bash):
            return "", ""
        if self._draining:
            return DRAINING, "draining"
        if self.options.agent_budget is not None and spent >= self.options.agent_budget:
            return SPENT.format("this agent", spent, self.options.agent_budget), "budget"
        if self.options.budget is not None:
            all = sum(agent.record.record.spent for agent in self._all())
            if all >= self.options.budget:
                return SPENT.format("all agents", all, self.options.budget), "budget"
        return "", ""

    def count_command(self) -> None:
        self._counters.commands += 1

    def follows(self, agent: RemoteAgent, is_followed: bool) -> None:
        """Take note that somebody follows an agent, or nobody does any more."""
        with self._lock:
            if is_followed:
                self._followed = {*self._followed, agent}
            else:
                self._followed = self._followed - {agent}

    def changed(self, id: str) -> None:
        for tell in self._listeners:
            with suppress(RuntimeError):  # A loop that was closed meanwhile.
                tell(id)

    def warn(self, sentence: str) -> None:
        warn(__name__, sentence)

    # What is known.

    def _all(self) -> list[RemoteAgent]:
        with self._lock:
            return list(self._agents.values())

    def _hear(self, id: str) -> None:
        """Take a hint: never blocks."""
        for agent in self._followed:
            if not id or agent.id == id:
                agent.poke()
        self._woken.set()

    def _keep_looking(self) -> None:
        """Keep what is known up to date: what that thread does."""
        whole = monotonic()
        while not self._ending.is_set():
            self._woken.wait(POLL)
            self._woken.clear()
            for agent in self._followed:
                agent.poke()  # A hint may be missing.
            try:
                self._look()
                if monotonic() - whole > WHOLE:
                    whole = monotonic()
                    self._forget_others(set(self.depot.ids()))
            except LinnetError:  # The database is away; what was known stays.
                pass
            self._ending.wait(PAUSE)

    def _look(self) -> None:
        shown, moment = self.depot.shown(self._moment)
        for each in shown:
            self._see(each)
        self._moment = moment

    def _see(self, shown: Shown) -> RemoteAgent:
        with self._lock:
            agent = self._agents.get(shown.id)
        try:
            if agent is None:
                agent = RemoteAgent(self, shown)
                with self._lock:
                    agent = self._agents.setdefault(shown.id, agent)
            elif not agent.see(shown):
                return agent
        except LinnetError as error:
            self.warn(f"agent {shown.id}: {error}")
            raise
        self.changed(shown.id)
        return agent

    def _forget_others(self, ids: set[str]) -> None:
        for agent in self._all():
            if agent.id not in ids:
                with self._lock:
                    self._agents.pop(agent.id, None)
                agent.gone()
                self.changed(agent.id)
