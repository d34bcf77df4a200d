"""All agents of a server: opened, found, listed, there again after a restart, asleep when nothing is to be done."""

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Event as Signal
from threading import Lock, Thread
from time import monotonic, sleep

from linnet.core import commands
from linnet.errors import BadInput, ConfigError, LinnetError
from linnet.eventlog.retention import drop
from linnet.files.lock import holder, lock
from linnet.logs import warn
from linnet.runtime.error_report import as_error, explained, hand_over, start
from linnet.runtime.session import Session
from linnet.serve.agents.doors import Counts, OpenedAgent
from linnet.serve.agents.recipe import OpenRequest as OpenRequest
from linnet.serve.agents.recipe import understood
from linnet.serve.agents.record import Missing, Opening, Record, Unknown, load, save
from linnet.serve.agents.served_agent import Agent
from linnet.serve.agents.shared import DRAINING, Shared
from linnet.serve.agents.shared import HostOptions as HostOptions
from linnet.serve.agents.summary import Summary
from linnet.store.factory import LogFactory

PATIENCE = 2.0  # Seconds for which the lock of a server that is gone is waited for.
SWEEP = 60.0  # Seconds between two looks at what is kept of events.
OTHER = "another server keeps its agents in {} (process {}); give this one a folder of its own: --state DIR"


class NoSuchAgent(LinnetError):
    """An id that no agent has."""

    code = "no_such_agent"

    def __init__(self, id: str) -> None:
        super().__init__(f"there is no agent {id!r}")


class TooMany(LinnetError):
    """There are as many agents as there may be."""

    code = "too_many_agents"


class Draining(LinnetError):
    code = "draining"

    def __init__(self) -> None:
        super().__init__(DRAINING)


class Host:
    """Invariant: an agent that was opened is found until it is removed, over restarts too if it has a session.

    Any thread may call.
    """

    def __init__(self, options: HostOptions, environ: Mapping[str, str], *, own_process: bool = False) -> None:
        """`own_process`: nothing but linnet runs in this process, and whatever becomes its child is an agent's. Raises
        OSError, and ConfigError if another server has the folder.
        """
        self.options = options
        self.logs: LogFactory | None = None
        self.shared = Shared(options, environ, own_process=own_process)
        self._folder = os.path.join(options.state, "agents")
        self._lock = Lock()
        self._agents: dict[str, Agent] = {}
        self._locked = _locked(options.state)
        self._ending = Signal()
        self._keeper: Thread | None = None
        self.ready = False

    def begin(self) -> None:
        """Find the agents of before, and have those that were cut off say so. Raises LinnetError."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        cut_off: list[Agent] = []
        orphans: list[Agent] = []
        for id in sorted(os.listdir(self._folder)):
            agent = self._found_again(id)
            if agent is not None:
                self._agents[id] = agent
                self.shared.spent += agent.record.spent
                if not agent.record.kept:
                    orphans.append(agent)
                elif agent.record.working:
                    cut_off.append(agent)
        self._keeper = Thread(target=self._keep_house, args=(cut_off, orphans), name="linnet-housekeeping", daemon=True)
        start(self._keeper)
        self.ready = True

    def open(self, request: OpenRequest) -> OpenedAgent:
        """Open an agent. Blocks for some milliseconds. Raises LinnetError, and then there is none."""
        if self.draining:
            raise Draining
        recipe = understood(request, self.options.defaults)
        _check_name(recipe.cwd)
        id = os.urandom(8).hex()
        now = self.shared.clock()
        shown = Summary(id=id, cwd=recipe.cwd, dialect=recipe.dialect, created=now, changed=now, since=now)
        record = Record(
            id=id,
            words=recipe.words,
            program=request.program,
            dialect=recipe.dialect,
            cwd=recipe.cwd,
            kept=request.keep,
            summary=shown,
        )
        folder = os.path.join(self._folder, id)
        env = dict(request.env)
        agent = Agent(folder, record, self.shared, env)
        with self._lock:
            if len(self._agents) >= self.options.max_agents:
                raise TooMany(f"there are {len(self._agents)} agents, and there may be no more: --max-agents")
            self._agents[id] = agent
        try:
            session = agent.begin(recipe)
        except Exception as fault:
            with self._lock:
                del self._agents[id]
            agent.close(gone=True)
            shutil.rmtree(folder, ignore_errors=True)
            raise as_error(fault, "an agent could not be opened") from None
        if request.key:
            record.opening = Opening(request.key, request.digest, tuple(session.remarks))
        save(folder, record)
        with suppress(LinnetError):  # No thread: its first run will take longer.
            start(Thread(target=self._warm, args=(agent,), name="linnet-warm", daemon=True))
        return OpenedAgent(agent, recipe.spoken(), recipe.dialect, tuple(session.remarks))

    def find(self, id: str) -> Agent:
        """Return the agent. Raises NoSuchAgent."""
        agent = self._agents.get(id)
        if agent is None:
            raise NoSuchAgent(id)
        return agent

    def opened_by(self, key: str) -> tuple[Agent, Opening] | None:
        """Return the agent that a request with this name has opened, if there is one, and that request."""
        for agent in list(self._agents.values()):
            opening = agent.record.opening
            if opening is not None and opening.key == key:
                return agent, opening
        return None

    def remove(self, id: str) -> None:
        """Close an agent and forget it; its session stays. Blocks until what runs has ended. Raises NoSuchAgent."""
        with self._lock:
            agent = self._agents.pop(id, None)
        if agent is None:
            raise NoSuchAgent(id)
        agent.close(gone=True)
        self.shared.fell_asleep(agent)
        shutil.rmtree(os.path.join(self._folder, id), ignore_errors=True)
        self.shared.changed(id)

    def summaries(self) -> list[Summary]:
        """Return how all agents are, those that were opened last at the end."""
        return [agent.summary() for agent in list(self._agents.values())]

    def listen(self, tell: Callable[[str], None]) -> None:
        """Have this function called, in any thread, with the id of an agent that has changed, or is gone."""
        self.shared.listen(tell)

    def unlisten(self, tell: Callable[[str], None]) -> None:
        self.shared.unlisten(tell)

    def counts(self) -> Counts:
        """Return how things are."""
        summaries = self.summaries()
        states: dict[str, int] = {}
        for each in summaries:
            states[each.state] = states.get(each.state, 0) + 1
        kinds = ("input", "output", "cache_read", "cache_write")
        counters = self.shared.counters
        return Counts(
            agents=len(summaries),
            awake=len(self.shared.awake),
            states=states,
            drivers=sum(each.drivers for each in summaries),
            watchers=sum(each.watchers for each in summaries),
            prompts=sum(each.prompts for each in summaries),
            commands=counters.commands,
            events=counters.events,
            cost=self.shared.spent,
            tokens={kind: sum(getattr(each.tokens, kind) for each in summaries) for kind in kinds},
            bytes=_size(self._folder),
        )

    @property
    def is_quiet(self) -> bool:
        """Return whether no agent works."""
        return not any(agent.is_working for agent in list(self.shared.awake))

    @property
    def environ(self) -> Mapping[str, str]:
        return self.shared.environ

    @property
    def draining(self) -> bool:
        return self.shared.draining

    def drain(self, patience: float | None = None) -> None:
        """Begin nothing any more, have each run end with its step, and wait until nothing runs, at most so many
        seconds. A run that waits for somebody's answer ends at once: nobody knows when that comes.
        """
        self.shared.draining = True
        until = None if patience is None else monotonic() + patience
        while working := [agent for agent in list(self._agents.values()) if agent.is_working]:
            for agent in working:  # Each time: a step under way may come to ask.
                if agent.record.summary.state in ("waiting", "retrying"):
                    agent.quietly(commands.Abort())
            if (until is not None and monotonic() > until) or self._ending.wait(0.05):
                return

    def close(self) -> None:
        """Close all agents: what runs is aborted, sessions are written. Blocks. Idempotent."""
        self.shared.draining = True
        self._ending.set()
        if self._keeper is not None:
            self._keeper.join()
        agents = list(self._agents.values())
        for agent in agents:
            agent.stop()
        for agent in agents:
            agent.close()
        if self._locked >= 0:
            os.close(self._locked)
            self._locked = -1

    def _found_again(self, id: str) -> Agent | None:
        """Return the agent of before in this folder; None if there is none any more."""
        folder = os.path.join(self._folder, id)
        try:
            record = load(folder)
        except Missing:
            shutil.rmtree(folder, ignore_errors=True)
            return None
        except (Unknown, OSError) as error:
            warn(__name__, f"an agent of before is left out: {error}")
            return None
        if not record.saved:
            shutil.rmtree(folder, ignore_errors=True)  # It was in memory only.
            return None
        os.makedirs(os.path.join(folder, "events"), mode=0o700, exist_ok=True)  # Lost: numbers go on above all others.
        return Agent(folder, record, self.shared)

    def _warm(self, agent: Agent) -> None:
        """Make ready what the first run of an agent would otherwise wait for."""

        def warm(session: Session) -> None:
            try:
                session.warm()
            except Exception as fault:  # Its first run will say what is wrong.
                if not agent.is_gone:
                    explained(fault, "what a first run needs could not be made ready")

        agent.submit(warm, lambda error: None)

    def _keep_house(self, cut_off: list[Agent], orphans: list[Agent]) -> None:
        """Have agents fall asleep, and drop what is too much of events: what that thread does until the end."""
        for agent in cut_off:
            agent.wake()
        for agent in orphans:
            self._remove_orphan(agent)
        swept = monotonic()
        while not self._ending.wait(min(1.0, max(0.05, self.options.sleep_after / 4))):
            self._put_to_sleep()
            if monotonic() - swept > SWEEP:
                swept = monotonic()
                with suppress(OSError):
                    self._sweep()

    def _remove_orphan(self, agent: Agent) -> None:
        """Remove an agent whose connection went with an earlier process, once its session says what was cut off; if it
        cannot be woken, the session stays as it is.
        """

        def remove() -> None:
            with suppress(NoSuchAgent):
                self.remove(agent.id)

        def remove_later(*_: object) -> None:
            with suppress(LinnetError):  # No thread: at the next start.
                hand_over("linnet-close", remove)

        agent.submit(remove_later, remove_later)

    def _put_to_sleep(self) -> None:
        awake = sorted(self.shared.awake, key=lambda agent: agent.idle_since)
        now = monotonic()
        surplus = len(awake) - self.options.awake
        for place, agent in enumerate(awake):
            due = now - agent.idle_since >= self.options.sleep_after or place < surplus
            if due and not agent.is_working:
                agent.sleep()
            if self._ending.is_set():
                return

    def _sweep(self) -> None:
        folders = [os.path.join(self._folder, id, "events") for id in os.listdir(self._folder)]
        oldest = self.shared.clock() - self.options.limits.milliseconds
        drop([each for each in folders if os.path.isdir(each)], self.options.all_bytes, oldest)


def _check_name(folder: str) -> None:
    """Raise BadInput for a folder that cannot be, or could not be written down: JSON cannot spell it, and no client
    name it.
    """
    try:
        os.path.realpath(folder or ".").encode()
    except UnicodeEncodeError:
        raise BadInput("the name of the folder is not UTF-8, so an agent there would not be found again") from None
    except ValueError:
        raise BadInput(f"`cwd`: no folder has such a name: {folder!r}") from None


def _locked(folder: str) -> int:
    """Lock the folder of a server for as long as this process lives. Raises ConfigError if another has it.

    A process that a killed server was about to start a tool with has the lock for a moment longer than the server.
    """
    fd = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    until = monotonic() + PATIENCE
    while not lock(fd):
        process = holder(fd)
        if monotonic() > until or os.path.exists(f"/proc/{process}"):
            os.close(fd)
            raise ConfigError(OTHER.format(folder, process or "unknown"))
        sleep(0.005)
    return fd


def _size(folder: str) -> int:
    """Return the bytes of all files of events."""
    total = 0
    with suppress(OSError):
        for agent in os.scandir(folder):
            with suppress(OSError):
                total += sum(each.stat().st_size for each in os.scandir(os.path.join(agent.path, "events")))
    return total
