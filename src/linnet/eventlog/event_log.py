"""All events of one agent, numbered and kept for some time, for whoever wants to be told from some number on.

One thread at a time writes; any number of readers follow at their own speed (`cursor.py`). Who keeps up is handed the
events that are still in memory; who does not reads the files, and costs the writer nothing.
"""

import os
from collections.abc import Callable, Sequence
from threading import Lock

from msgspec import Struct

from linnet.core.events import Event
from linnet.core.loop.opening import Opening
from linnet.eventlog.followed import Numbered
from linnet.eventlog.numbering import numbered
from linnet.eventlog.older_files import OlderFiles
from linnet.eventlog.recent import Recent
from linnet.eventlog.reserved import Reserved, boot
from linnet.eventlog.retention import drop
from linnet.eventlog.segment import Header, Reading, Segment, firsts
from linnet.eventlog.spelling import VERSION, Unreadable
from linnet.files.folders import make


class Limits(Struct, frozen=True):
    """How much is kept of one agent."""

    bytes: int = 64 * 1024 * 1024
    milliseconds: int = 24 * 60 * 60 * 1000
    segment: int = 4 * 1024 * 1024
    """A file that has more bytes is followed by another: files are dropped whole."""

    @property
    def file(self) -> int:
        """Return how many bytes a file may have: of what is kept a quarter at most, so that it can be dropped."""
        return min(self.segment, self.bytes // 4)


class EventLog:
    """Invariants: numbers only grow, over restarts too. What readers are handed is in a file before. An event that
    could not be written has no number, and the next file says that something is missing.

    `_lock` guards all of it. It is held for as long as a write to a file takes; whoever appends may hold the session's.
    """

    def __init__(
        self,
        folder: str,
        reserved: Reserved,
        clock: Callable[[], int],
        limits: Limits | None = None,
        *,
        least: int = 0,
    ) -> None:
        """`clock` tells milliseconds since 1970. `least` is a number that is known to have been told: if the files do
        not have it, they have lost it. Raises OSError.
        """
        self._folder = folder
        self._reserved = reserved
        self._clock = clock
        self._least = least
        self._limits = limits or Limits()
        self._boot = boot()
        self._lock = Lock()
        self._opening = Opening()  # Of the agent itself: its children have encoders of their own.
        self._recent = Recent()
        self._listeners: list[Callable[[], None]] = []
        self._segment: Segment | None = None
        self._closed = False
        self._whole = True  # Nothing was lost since the last event in the files.
        self._lost_after = -1  # Something was lost after the event with this number; -1 if nothing ever was.
        self._head = 0
        self._filed = 0  # The number of the last event that is told, and so is in the files.
        self._resume()

    @property
    def head(self) -> int:
        """Return the number of the last event; 0 if there was none."""
        return self._head

    @property
    def told(self) -> int:
        """Return the number of the last event that is told: what comes later has a higher one, after a restart too.
        `head` may be that of an event which nobody is told of, and which no file has.
        """
        return self._filed

    def append(self, batch: Sequence[Event], parent: str = "") -> int:
        """Write these events, then have readers told. Return the number of the last. Never raises: what cannot be
        written is lost, and readers hear of a gap as soon as something can be.
        """
        with self._lock:
            if self._closed:
                return self._head
            numbers = numbered(batch, self._head + 1, parent)
            if self._write(numbers, self._head + len(batch)):
                self._head += len(batch)
                self._recent.add(numbers)
            if not parent:
                self._opening.apply(batch)
            for tell in self._listeners:
                tell()
            return self._head

    def live(self) -> tuple[int, list[Event]]:
        """Return the number of the last event that is told, and what an encoder has to skip to go on after it."""
        with self._lock:
            return self._filed, self._opening.kept

    def opening_after(self, number: int) -> list[Event] | None:
        """Return what an encoder has to skip to go on after this number, if nothing that is told came after it; None if
        something did, or no event has had the number yet.
        """
        with self._lock:
            return self._opening.kept if self._filed <= number <= self._head else None

    def listen(self, tell: Callable[[], None]) -> None:
        """Have this function called when there is more to read. It must neither block nor read."""
        with self._lock:
            self._listeners.append(tell)

    def unlisten(self, tell: Callable[[], None]) -> None:
        """Have it called no more."""
        with self._lock:
            self._listeners.remove(tell)

    def recent(self, after: int) -> list[Numbered] | None:
        """Return what came after this number, if all of that is in memory; None if it is not."""
        with self._lock:
            if after >= self._filed:
                return []
            return None if after <= self._lost_after else self._recent.since(after)

    def older(self, wake: Callable[[], None]) -> OlderFiles:
        """Return what reads the files, which are at hand: nobody need be woken."""
        return OlderFiles(self._folder, self._readable)

    def _readable(self, first: int) -> int | None:
        """Return how many bytes are whole lines of the file that begins with this number; None: all of them."""
        segment = self._segment
        return segment.size if segment is not None and segment.first == first else None

    def settle(self) -> None:
        """Have what was written on disk. Waits for it."""
        with self._lock:
            if self._segment is not None:
                self._segment.settle()

    def close(self) -> None:
        """Write no more, and have what was written on disk: waits for it, unless it is settled. Idempotent."""
        with self._lock:
            self._closed = True
            if self._segment is not None:
                self._segment.settle()
                self._segment.close()
                self._segment = None

    def _write(self, numbered: Sequence[Numbered], last: int) -> bool:
        """Return whether they are written."""
        if not numbered:
            return True
        try:
            self._reserved.reach(last)
            if self._segment is not None and not self._segment.is_intact:
                self._lose()
            segment = self._segment
            if segment is None or segment.added >= self._limits.file:
                segment = self._next_segment(self._filed + 1)
            segment.append(numbered, self._clock())
            self._filed = numbered[-1].last
        except OSError:
            self._lose()
            return False
        return True

    def _lose(self) -> None:
        """Go on in another file, which says that something is missing."""
        self._whole, self._lost_after = False, self._head
        self._recent.clear()
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def _next_segment(self, first: int) -> Segment:
        segment = Segment(self._folder, first)
        try:
            segment.begin(Header(VERSION, first, self._boot, self._whole), self._opening.kept, self._clock())
        except OSError:
            segment.close()
            raise
        if self._segment is not None:
            self._segment.close()
        self._segment, self._whole = segment, True
        drop([self._folder], self._limits.bytes, self._clock() - self._limits.milliseconds)
        return segment

    def _resume(self) -> None:
        """Go on where an earlier process was; above all that any has told, if nobody can say where that was."""
        is_new = not os.path.isdir(self._folder)
        if is_new:
            make(self._folder, 0o700)
        if is_new and not self._least:
            self._next_segment(1)  # Or else nobody could say after a restart that no number was given.
            return
        found = firsts(self._folder)
        try:
            self._head = self._resumed(found[-1] if found else 0)
        except (OSError, Unreadable):
            self._opening = Opening()
            self._head = self._reserved.above(max(self._least, *found, 0))
            self._whole = False
        self._filed = self._head

    def _resumed(self, first: int) -> int:
        """Read the newest file, and return the number of the last event. Raises OSError, Unreadable."""
        reading = Reading(self._folder, first)
        last = first - 1
        try:
            for batch in reading.batches(None):
                if not batch.parent:
                    self._opening.apply(batch.events)
                last = max(last, batch.last)
            if last < self._least:
                raise Unreadable("its end is missing")
            if reading.header.boot != self._boot and not reading.closed:
                raise Unreadable("the machine was started anew, and may have lost the end of it")
            if reading.whole_lines < self._limits.file:
                read = reading.whole_lines, reading.messages
                self._segment = Segment(self._folder, first, *read, settled=reading.closed)
        finally:
            reading.close()
        return last
