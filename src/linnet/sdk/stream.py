"""The events of one run, handed from the thread that makes them to whoever iterates over them."""

from collections import deque
from collections.abc import Callable, Sequence
from threading import Condition

from linnet.core.cancel import Cancel
from linnet.wire.zot.frames import Event

ROOM = 10_000  # Events nobody has taken, above which the run waits.


class Stream:
    """A closed one takes in nothing more and holds nobody up."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._events: deque[Event] = deque()
        self._ended = False
        self._last = False  # The run itself is over, whether or not anybody listens.
        self.notify: Callable[[], None] = lambda: None

    def put(self, events: Sequence[Event], *, last: bool) -> None:
        with self._changed:
            if not self._ended:
                self._events.extend(events)
                self._ended = last
            self._last = self._last or last
            self._changed.notify_all()
        self.notify()

    def pace(self, cancel: Cancel) -> None:
        if len(self._events) <= ROOM:
            return
        with cancel.interrupting(self._wake), self._changed:
            self._changed.wait_for(lambda: len(self._events) <= ROOM or self._ended or cancel.is_set)

    def take(self, *, block: bool) -> Event | None:
        """The next event; None when there is none, and with `block` there will never be one."""
        with self._changed:
            if block:
                self._changed.wait_for(lambda: self._events or self._ended)
            if not self._events:
                return None
            event = self._events.popleft()
            if len(self._events) == ROOM:
                self._changed.notify_all()
            return event

    @property
    def is_behind(self) -> bool:
        return len(self._events) > ROOM and not self._ended

    @property
    def over(self) -> bool:
        with self._changed:
            return self._ended and not self._events

    @property
    def ended(self) -> bool:
        return self._ended

    def close(self) -> None:
        with self._changed:
            self._ended = True
            self._events.clear()
            self._changed.notify_all()

    def wait(self) -> None:
        """Until the run is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._last)

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()
