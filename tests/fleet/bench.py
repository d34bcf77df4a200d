"""Workers in this process on a depot, and a client that asks and reads."""

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Condition
from time import monotonic
from typing import Any, TypeVar
from uuid import uuid4

from linnet.core.events import Event
from linnet.core.fleet.records import Asked, Kind, Shown
from linnet.depot.depot import Depot
from linnet.errors import SessionError
from linnet.eventlog.spelling import Reader
from linnet.fleet.fleet_record import read, spelled
from linnet.fleet.owned_agent import Terms
from linnet.fleet.worker import Worker, WorkerOptions
from linnet.serve.agents.record import Record
from linnet.serve.agents.summary import Summary
from linnet.testing.model_server import ModelServer
from linnet.wire.pi.dialect import Pi
from linnet.wire.pi.generations import named

T = TypeVar("T")
PATIENCE = 60.0
LEASE = 0.6


class Bench:
    """Everything of one test. `folder` is where its agents work."""

    def __init__(self, depot: Depot, folder: Path, server: ModelServer) -> None:
        self.depot = depot
        self.folder = folder
        self.server = server
        self._environ = {
            **os.environ,
            "LINNET_HOME": str(folder / "home"),
            "LINNET_MODEL": "claude-sonnet-4-5",
            "ANTHROPIC_API_KEY": "x",
            "ANTHROPIC_BASE_URL": server.url,
        }
        self._workers: list[Worker] = []
        self._changed = Condition()
        self._hints = 0
        self._unlisten = depot.listen(self._hear)

    def close(self) -> None:
        for worker in self._workers:
            worker.close()
        self._unlisten()
        self.depot.close()

    def add(self, id: str = "a", *words: str, permission: str = "auto", cwd: str = "") -> None:
        """Add an agent."""
        said = ("--provider", "anthropic", "--permission", permission, *words)
        cwd = cwd or str(self.folder)
        summary = Summary(id=id, cwd=cwd, dialect="pi-1", session_id=str(uuid4()))
        record = Record(id=id, words=said, dialect="pi-1", cwd=cwd, summary=summary)
        self.depot.add(id, spelled(record, 0))

    def worker(self, name: str = "", roots: tuple[str, ...] = (), **options: Any) -> Worker:
        """Begin a worker, whose agents may work in these folders only."""
        worker = Worker(
            self.depot,
            WorkerOptions(**{"name": name, "lease": LEASE, "poll": 0.05, **options}),
            Terms(self._environ, sleep_after=3600, roots=roots),
        )
        self._workers.append(worker)
        worker.begin()
        return worker

    def lose(self, worker: Worker) -> None:
        """Have a worker be gone from one moment to the next, as far as the depot can see."""
        worker._draining = True
        worker._ending.set()
        for agent in worker._all():
            agent.drop(SessionError("the worker was lost"))

    def ask(self, agent: str = "a", *, name: str = "", client: str = "c", **command: Any) -> str:
        """Ask something, and return its name."""
        name = name or str(uuid4())
        line = json.dumps({"id": name, **command}).encode()
        self.depot.ask(agent, Asked(client=client, name=name, dialect="pi-1", line=line, digest=str(hash(line))))
        return name

    def aside(self, kind: Kind, line: bytes = b"", *, client: str = "door") -> dict[str, Any]:
        """Ask what is no command, and return the answer."""
        name = str(uuid4())
        self.depot.ask("a", Asked(client=client, name=name, kind=kind, dialect="pi-1", line=line))
        return self.answer(name)

    def answer(self, name: str, agent: str = "a") -> dict[str, Any]:
        """Wait for the answer to a command."""

        def found() -> bytes | None:
            for row in self.depot.told(agent, 0, 100_000):
                for each in row.answers:
                    if each.name == name:
                        return each.line
            return None

        line = self.until(found)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def events(self, agent: str = "a") -> list[Event]:
        """Return all events, and see that their numbers are in order."""
        found: list[Event] = []
        reader, last = Reader(), 0
        for row in self.depot.told(agent, 0, 100_000):
            reader = Reader() if row.marked else reader
            for line in row.body.splitlines(keepends=True):
                said, happened = reader.read(line)
                if said.n:
                    assert said.n > last
                    last = said.n + len(happened) - 1
                    found += happened
            assert row.last == last
        return found

    def lines(self, agent: str = "a") -> list[dict[str, Any]]:
        """Return what a client of today's pi is told."""
        encoder = Pi(named("pi-1")).encoder()
        return [json.loads(b"".join(buffers)) for event in self.events(agent) for buffers in encoder.encode([event])]

    def types(self, agent: str = "a") -> list[str]:
        return [line["type"] for line in self.lines(agent)]

    def until_told(self, *types: str, agent: str = "a", times: int = 1) -> list[dict[str, Any]]:
        """Wait until lines of one of these types were told so often; return those."""

        def found() -> list[dict[str, Any]] | None:
            told = [line for line in self.lines(agent) if line["type"] in types]
            return told if len(told) >= times else None

        return self.until(found)

    def settled(self, agent: str = "a", times: int = 1) -> None:
        self.until_told("agent_settled", agent=agent, times=times)

    def shown(self, agent: str = "a") -> Shown:
        return next(each for each in self.depot.shown()[0] if each.id == agent)

    def record(self, agent: str = "a") -> Record:
        return read(self.shown(agent).record).record

    def messages(self, agent: str = "a") -> list[dict[str, Any]]:
        """Return the messages in the session."""
        session = self.depot.sessions.read(self.record(agent).summary.session_id)
        entries = [json.loads(line) for line in session.lines]
        return [each["message"] for each in entries if each["type"] == "message"]

    def until(self, found: Callable[[], T | None]) -> T:
        """Wait until the function returns something."""
        end = monotonic() + PATIENCE
        while True:
            with self._changed:
                hints = self._hints
            value = found()
            if value:
                return value
            assert monotonic() < end, f"it never was so: {self.types()[-20:]}"
            with self._changed:
                self._changed.wait_for(partial(self._is_new, hints), 0.1)

    def _is_new(self, hints: int) -> bool:
        return self._hints != hints

    def _hear(self, agent: str) -> None:
        with self._changed:
            self._hints += 1
            self._changed.notify_all()
