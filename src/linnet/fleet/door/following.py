"""Follows one agent for all of a door's clients: its events, and the answers to their commands in their places."""

from collections.abc import Callable
from threading import Lock
from typing import TypeAlias

from linnet.core.events import JobStarted
from linnet.core.fleet.records import Row
from linnet.depot.depot import Depot
from linnet.errors import LinnetError, LogUnavailable
from linnet.fleet.door.depot_log import DepotLog
from linnet.fleet.poked import Poked

Name: TypeAlias = tuple[str, str]
"""A client, and what it calls its command."""
Heard: TypeAlias = Callable[[bytes, int], None]
"""Is called with the line that answers a command, and the number of the last event before it."""


class Following:
    """Invariant: an answer is handed out when all events before it are in `log`, and none that come after it."""

    def __init__(
        self, depot: Depot, agent: str, rests: Callable[[], None], broken: Callable[[LinnetError], None]
    ) -> None:
        """`rests` is called when nothing runs any more, `broken` if it cannot be followed any more."""
        self._depot = depot
        self._agent = agent
        self._rests = rests
        self._broken = broken
        self.log = DepotLog(depot, agent)
        self.busy = False
        """Something runs or waits to run."""
        self.users = 0  # Whoever counts them has a lock of their own.
        self._place = 0
        self._looking = Poked("linnet-follow", self._look)
        self._lock = Lock()  # Guards the next.
        self._waiting: dict[Name, list[Heard]] = {}

    @property
    def waits(self) -> bool:
        """Return whether somebody waits for an answer."""
        return bool(self._waiting)

    def begin(self, last: int) -> None:
        """Read on from where a mark makes that possible; `last` is the number of the last event. Raises LinnetError."""
        place = self._depot.marked(self._agent, last)
        self._place = 0 if place is None else place - 1
        while rows := self._depot.told(self._agent, self._place):
            self._take(rows)
        self.busy = self.busy or any(isinstance(each, JobStarted) for each in self.log.live()[1])

    def expect(self, name: Name, heard: Heard) -> None:
        """Have this called with the answer to a command, once."""
        with self._lock:
            self._waiting.setdefault(name, []).append(heard)

    def forget(self, name: Name, heard: Heard) -> None:
        """Have this called no more."""
        with self._lock:
            waiting = [each for each in self._waiting.pop(name, []) if each is not heard]
            if waiting:
                self._waiting[name] = waiting

    def settle(self, name: Name, line: bytes) -> None:
        """Hand out an answer that was found elsewhere, in the place that it has now."""
        with self._lock:
            heard = self._waiting.pop(name, [])
        for tell in heard:
            tell(line, self.log.told)

    def poke(self) -> None:
        """Look for more. Never blocks."""
        self._looking.poke()

    def stop(self) -> None:
        """Look no more. Never blocks."""
        self._looking.stop()

    def _look(self) -> None:
        try:
            while not self._looking.stopped and (rows := self._depot.told(self._agent, self._place)):
                self._take(rows)
        except LogUnavailable:  # Whoever polls comes again.
            pass
        except LinnetError as error:
            self._looking.stop()
            self._broken(error)

    def _take(self, rows: list[Row]) -> None:
        for row in rows:
            self.log.take(row)
            self._place = row.place
            for each in row.answers:
                rested = self.busy and not each.command
                self.busy = bool(each.command) and (self.busy or each.busy)
                if rested:
                    self._rests()
                with self._lock:
                    heard = self._waiting.pop((each.client, each.name), [])
                for tell in heard:
                    tell(each.line, row.last)
