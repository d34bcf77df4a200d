"""One watched agent, between the thread that passes its bytes on and those of whoever looks at it."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from linnet.monitor.states import Running
from linnet.monitor.stream import Stream
from linnet.monitor.tap import ROOM, Tap, open_tap
from linnet.monitor.words import DialectName
from linnet.serve.watching.agent_facts import AgentFacts, error_of, shown_state
from linnet.serve.watching.watched_lines import MOST, Taken, WatchedLines

if TYPE_CHECKING:
    from linnet.serve.agents.summary import State


class Watched:
    """What an agent printed and what is known of it.

    All lines are kept; what is known is folded from as many of them as there is time for. Whoever passes on bytes holds
    the lock for as long as it takes to copy or to fold them, and whoever looks for as long as it takes to copy a block:
    neither waits for a browser.
    """

    def __init__(self, dialect: DialectName | None = None, most: int = MOST) -> None:
        self.id = os.urandom(8).hex()
        self._lock = threading.Lock()
        self._facts = AgentFacts(dialect)
        self._lines = WatchedLines(most)
        self._began = time.time() - time.monotonic()
        self._start = time.monotonic()
        self._state, self._since, self._changed = "idle", self._start, self._start
        self._cwd = os.getcwd()
        self._listeners: tuple[Callable[[], None], ...] = ()
        self.watchers: Callable[[], int] = lambda: 0
        """Returns how many look at it."""

    def stream(self) -> Stream:
        """Return what bytes that the agent prints are fed to, as many as there is time for."""
        return _Folding(self._facts, self._lines, self._lock, self._told)

    def tap(self, source: int, target: int) -> Tap:
        """Return a tap that keeps all that passes it."""
        return KeepingTap(open_tap(source, target), self._keep)

    @property
    def ended(self) -> bool:
        """Return whether the agent is gone: then nothing more comes."""
        return self._lines.ended

    @property
    def protocol(self) -> str:
        """Return `zot` or `pi`; empty as long as no line shows it."""
        return self._facts.dialect or ""

    def listen(self, tell: Callable[[], None]) -> None:
        """Have `tell` called, in the thread that passes bytes on, when something was printed. It must not block."""
        with self._lock:
            self._listeners = (*self._listeners, tell)

    def unlisten(self, tell: Callable[[], None]) -> None:
        with self._lock:
            self._listeners = tuple(each for each in self._listeners if each is not tell)

    def reader(self, after: int | None) -> Callable[[], Taken | None]:
        """Return a function that returns the next lines after this number; None if there are none yet."""
        with self._lock:
            cursor = self._lines.cursor(after)

        def take() -> Taken | None:
            with self._lock:
                return self._lines.take(cursor)

        return take

    def summary(self) -> dict[str, Any]:
        """Return what a list of agents shows. A program that has ended is `gone`, which no agent of a server is."""
        from linnet.serve.agents.summary import RunningTool, Summary, Tokens  # Not before the agent has begun.

        with self._lock:
            facts, now = self._facts, time.monotonic()
            state = self._shown_state(now)
            waiting = facts.waiting(now - self._start)
            doing, spent = facts.doing, facts.spent
            tool = None
            if isinstance(doing, Running):
                since = self._time(self._start + doing.since)
                tool = RunningTool(doing.tool, facts.titles.get(doing.call, ""), since)
            told: State = "idle" if state == "gone" else state  # type: ignore[assignment]
            summary = Summary(
                id=self.id,
                state=told,
                cwd=facts.cwd or self._cwd,
                name=facts.name,
                model=facts.model,
                provider=facts.provider,
                dialect=facts.dialect or "",
                session_id=facts.session_id,
                session_file=facts.session_file,
                created=self._time(self._start),
                changed=self._time(self._changed),
                since=self._time(self._since),
                tool=tool,
                waiting=waiting,
                prompts=facts.prompts,
                tokens=Tokens(spent.input, spent.output, spent.cache_read, spent.cache_write),
                cost=spent.cost,
                last=" ".join(facts.words.split()),
                seq=self._lines.last,
                watchers=self.watchers(),
                error=error_of(doing),
            )
        return {**to_builtins(summary), "state": state}

    def _shown_state(self, now: float) -> str:
        """Return the state, and note since when it is another. Called with the lock held."""
        state = shown_state(self._facts.doing, asked=bool(self._facts.waiting(now - self._start)))
        if state != self._state:
            self._state, self._since = state, now
        return state

    def _keep(self, data: bytes) -> None:
        with self._lock:
            self._lines.add(data)

    def _told(self) -> None:
        """Tell the listeners that something came. Called in the thread that passes bytes on."""
        self._changed = time.monotonic()
        for tell in self._listeners:
            tell()

    def _time(self, monotonic: float) -> int:
        return round((self._began + monotonic) * 1000)


class KeepingTap:
    """Passes bytes on by another tap, and keeps all of them.

    A monitor that has no time to look at something can do without it, but a page would miss a message. To copy bytes
    takes so much less time than to fold them that nothing is lost for it.
    """

    def __init__(self, inner: Tap, keep: Callable[[bytes], None]) -> None:
        self._inner, self._keep = inner, keep
        self._parts: deque[bytes] = deque()
        self._lost = 0
        self.waiting = 0

    def forward(self) -> bool:
        try:
            return self._inner.forward()
        finally:  # Also what was read when nobody took it any more.
            while self._inner.waiting:
                _, data = self._inner.take()
                self._keep(data)
                self._parts.append(data)
                self.waiting += len(data)

    def full(self) -> bool:
        return self.waiting >= ROOM

    def make_room(self) -> None:
        self._lost += self.waiting
        self._parts.clear()
        self.waiting = 0

    def take(self) -> tuple[int, bytes]:
        lost, self._lost = self._lost, 0
        data = self._parts.popleft() if self._parts else b""
        self.waiting -= len(data)
        return lost, data

    def close(self) -> None:
        self._inner.close()


class _Folding(Stream):
    """Folds what passes, as a monitor does, and tells of it."""

    def __init__(self, facts: AgentFacts, lines: WatchedLines, lock: threading.Lock, told: Callable[[], None]) -> None:
        super().__init__(facts)
        self._lines, self._lock, self._told = lines, lock, told

    def feed(self, at: float, chunk: bytes) -> None:
        with self._lock:
            super().feed(at, chunk)
        self._told()

    def finish(self, at: float, code: int | None = None) -> None:
        with self._lock:
            super().finish(at, code)
            self._lines.end()
        self._told()
