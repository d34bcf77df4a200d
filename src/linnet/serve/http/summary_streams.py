"""Tells many clients what agents do, in summaries: each change at most ten times a second, each put into bytes once."""

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from linnet.errors import LinnetError
from linnet.serve.agents.doors import AgentHost
from linnet.serve.http.event_streams import Wakeup
from linnet.wire.jsonl import encode_value

if TYPE_CHECKING:
    from linnet.serve.agents.summary import Summary

GAP: Final = 0.1  # Seconds between two summaries of one agent.
_CHUNK: Final = 64 * 1024


class SummarySource:
    """The news of one client: the newest summary of each agent that has changed. At most one for each agent waits."""

    ended = False

    def __init__(self, wakeup: Wakeup, forget: "Callable[[SummarySource], None]") -> None:
        self._wakeup = wakeup
        self._forget = forget
        self._lock = threading.Lock()
        self._waiting: dict[str, bytes] = {}

    def put(self, frames: dict[str, bytes]) -> None:
        """Add news, which replace those of the same agents."""
        with self._lock:
            self._waiting.update(frames)
        self._wakeup()

    def begin(self, frames: dict[str, bytes]) -> None:
        """Add what was known when the client came. What has come since is newer."""
        with self._lock:
            self._waiting = {**frames, **self._waiting}

    def take(self) -> bytes | None:
        chunk, size = [], 0
        with self._lock:
            while self._waiting and size < _CHUNK:
                chunk.append(self._waiting.pop(next(iter(self._waiting))))
                size += len(chunk[-1])
        return b"".join(chunk) or None

    def close(self) -> None:
        self._forget(self)


class SummaryStreams:
    """Listens to a host, and passes on what is new to everybody who wants to know."""

    def __init__(self, host: AgentHost) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._sources: set[SummarySource] = set()
        self._wakeup: Wakeup | None = None

    async def run(self) -> None:
        """Pass on news until cancelled."""
        self._wakeup = wakeup = Wakeup()
        self._host.listen(self._tell)
        try:
            while True:
                wakeup.clear()
                if not self._changed:
                    await wakeup.wait(3600)
                    continue
                with self._lock:
                    changed, self._changed = self._changed, set()
                if self._sources:
                    frames = await to_thread.run_sync(self._frames, changed)
                    for source in self._sources:
                        source.put(frames)
                await asyncio.sleep(GAP)
        finally:
            self._host.unlisten(self._tell)

    async def source(self, wakeup: Wakeup) -> SummarySource:
        """Return the news for one more client, which begin with all agents."""
        source = SummarySource(wakeup, self._sources.discard)
        self._sources.add(source)
        try:
            source.begin(await to_thread.run_sync(self._all))
        except BaseException:
            source.close()
            raise
        return source

    def _tell(self, id: str) -> None:
        """Note that an agent has changed. Called in any thread."""
        with self._lock:
            self._changed.add(id)
        if self._wakeup is not None:
            self._wakeup()

    def _all(self) -> dict[str, bytes]:
        return {each.id: _frame(each) for each in self._host.summaries()}

    def _frames(self, ids: Iterable[str]) -> dict[str, bytes]:
        return {id: self._frame_of(id) for id in ids}

    def _frame_of(self, id: str) -> bytes:
        try:
            return _frame(self._host.find(id).summary())
        except LinnetError:
            return b"event: gone\ndata: %b\n\n" % encode_value({"id": id})


def _frame(summary: "Summary") -> bytes:
    return b"event: agent\ndata: %b\n\n" % encode_value(summary)
