"""The one lock of a session, and the one way in which anything changes: told as events, to everybody, in order."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import RLock

from linnet.core.cancel import Cancel
from linnet.core.conversation import identified
from linnet.core.events import PASSING, Event
from linnet.errors import Cancelled, LinnetError
from linnet.runtime.listener import Listener
from linnet.runtime.state import State


class Broadcast:
    """Invariant: `state` is the fold of all that was published, and each listener has heard the same, in that order.

    Listeners are told in the order of the list: the store comes first, so that what is told is on disk.
    """

    def __init__(self, state: State, listeners: Sequence[Listener], new_id: Callable[[], str]) -> None:
        self.lock = RLock()
        self.state = state
        self._listeners = list(listeners)
        self._new_id = new_id
        self._warned: set[str] = set()

    def add(self, listener: Listener) -> None:
        """It hears what is published from now on, after all others."""
        with self.lock:
            self._listeners.append(listener)

    def publish(self, events: Sequence[Event]) -> None:
        """Messages get their ids here. Whoever calls this holds the lock."""
        if any(type(event) not in PASSING for event in events):
            events = [identified(event, self._new_id) for event in events]
            for event in events:
                self.state.apply(event)
        if events:
            for listener in self._listeners:
                listener.hear(events)

    def pace(self, cancel: Cancel) -> None:
        """Wait, without the lock, until every listener has room for more, or an abort comes. Never raises."""
        with suppress(Cancelled):  # Whoever runs notices an abort by itself.
            for listener in self._listeners:
                listener.pace(cancel)

    def warn(self, sentence: str) -> None:
        """Tell everybody, once. Not to be called under the lock."""
        with self.lock:
            known = sentence in self._warned
            self._warned.add(sentence)
        if not known:
            for listener in self._listeners:
                listener.warned(sentence)

    def broke(self, error: LinnetError) -> None:
        """Tell everybody that nothing will be done any more. Not to be called under the lock."""
        for listener in self._listeners:
            listener.broke(error)

    def is_behind(self) -> bool:
        return any(listener.is_behind() for listener in self._listeners)

    def idle(self) -> None:
        """Tell everybody that nothing is left to do. Whoever calls this holds the lock."""
        for listener in self._listeners:
            listener.idle()
