"""The events of one run, handed from the thread that makes them to whoever iterates over them."""

from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition

from linnet.core.cancel import Cancel
from linnet.sdk.events import Event

ROOM = 10_000


class Stream:
    """With more than `room` events that nobody has taken, the run waits. A closed one takes in nothing more and holds
    nobody up.
    """

    def __init__(self, room: int = ROOM) -> None:
        self._room = room
        self._changed = Condition()
        self._events: deque[Event] = deque()
        self._closed = False
        self._ended = False  # The run itself is over, whether or not anybody listens.
        self.notify: Callable[[], None] = lambda: None

    def put(self, events: Sequence[Event]) -> None:
        if not events:
            return
        with self._changed:
            if self._closed:
                return
            was_empty = not self._events
            self._events.extend(events)
            self._changed.notify_all()
        if was_empty:  # Or else whoever takes them has been told, and has not come yet.
            self.notify()

    def end(self) -> None:
        """There is nothing more to come."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        self.notify()

    def pace(self, cancel: Cancel) -> None:
        if len(self._events) <= self._room:
            return
        with cancel.interrupting(self._wake), self._changed:
            self._changed.wait_for(lambda: len(self._events) <= self._room or self._closed or cancel.is_set)

    def take(self, most: int, *, block: bool) -> list[Event]:
        """The next events; none when there are none, and with `block` there will never be any."""
        with self._changed:
            if block:
                self._changed.wait_for(lambda: self._events or self._closed or self._ended)
            was_behind = len(self._events) > self._room
            taken = [self._events.popleft() for _ in range(min(most, len(self._events)))]
            if was_behind and len(self._events) <= self._room:
                self._changed.notify_all()
            return taken

    @property
    def is_behind(self) -> bool:
        return len(self._events) > self._room and not self._closed

    @property
    def is_over(self) -> bool:
        """The run has ended and all of it was taken, or nobody listens any more."""
        with self._changed:
            return self._closed or (self._ended and not self._events)

    @property
    def has_ended(self) -> bool:
        return self._ended

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._events.clear()
            self._changed.notify_all()

    def wait(self) -> None:
        """Until the run is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
