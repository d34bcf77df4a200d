"""The events of one run, handed from the thread that makes them to whoever iterates over them."""

from collections import deque
from collections.abc import Callable, Sequence

from linnet.changes import Changes
from linnet.core.cancel import Cancel
from linnet.sdk.events import Event

ROOM = 10_000


class Stream:
    """With more than `room` events that nobody has taken, the run waits. A closed one takes in nothing more and holds
    nobody up.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._changes = Changes()
        self._events: deque[Event] = deque()
        self._closed = False
        self._ended = False  # The run itself is over, whether or not anybody listens.
        self.notify: Callable[[], None] = lambda: None

    def put(self, events: Sequence[Event]) -> None:
        if not events:
            return
        with self._changes.lock:
            if self._closed:
                return
            was_empty = not self._events
            self._events.extend(events)
            self._changes.tell()
        if was_empty:  # Or else whoever takes them has been told, and has not come yet.
            self.notify()

    def end(self) -> None:
        """There is nothing more to come."""
        with self._changes.lock:
            self._ended = True
            self._changes.tell()
        self.notify()

    def pace(self, cancel: Cancel) -> None:
        if len(self._events) <= self._room:
            return
        with cancel.interrupting(self._wake):
            self._changes.wait_for(lambda: len(self._events) <= self._room or self._closed or cancel.is_set, None)

    def take(self, most: int, *, block: bool) -> list[Event]:
        """The next events; none when there are none, and with `block` there will never be any."""
        if block:
            self._changes.wait_for(lambda: bool(self._events) or self._closed or self._ended, None)
        with self._changes.lock:
            was_behind = len(self._events) > self._room
            taken = [self._events.popleft() for _ in range(min(most, len(self._events)))]
            if was_behind and len(self._events) <= self._room:
                self._changes.tell()
            return taken

    @property
    def is_behind(self) -> bool:
        return len(self._events) > self._room and not self._closed

    @property
    def is_over(self) -> bool:
        """The run has ended and all of it was taken, or nobody listens any more."""
        with self._changes.lock:
            return self._closed or (self._ended and not self._events)

    @property
    def has_ended(self) -> bool:
        return self._ended

    def close(self) -> None:
        with self._changes.lock:
            self._closed = True
            self._events.clear()
            self._changes.tell()

    def wait(self) -> None:
        """Until the run is over."""
        self._changes.wait_for(lambda: self._ended, None)

    def _wake(self) -> None:
        with self._changes.lock:
            self._changes.tell()
