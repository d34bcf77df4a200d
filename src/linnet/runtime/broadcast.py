"""The one lock of a session, and the one way in which anything changes: told as events, to everybody, in order."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from linnet.core import ui_events
from linnet.core.context.conversation import ADDING, identified
from linnet.core.events import PASSING, Event
from linnet.errors import Cancelled, LinnetError
from linnet.runtime.listener import Listener
from linnet.runtime.requester import Requester
from linnet.runtime.state import SessionState

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.runtime.sessions.telling import Telling

IDENTIFIED = ADDING | ui_events.KINDS

Action: TypeAlias = "Callable[[], Sequence[Action] | None]"
"""What follows from a decision and is done without the lock: closing a socket, killing a process tree, starting a
thread, calling what others wrote. Returns what is to be done after it, if anything.
"""


def act(actions: Iterable[Action]) -> None:
    """Do these, and whatever follows from them, in order. Not to be called under the lock."""
    todo = deque(actions)
    while todo:  # Not by recursion: any number of commands may have waited.
        todo.extend(todo.popleft()() or ())


class Broadcast:
    """Invariant: `state` is the fold of all that was published, and each listener has heard the same, in that order.

    Listeners are told in the order of the list: the store comes first, so that what is told is on disk. Where a log may
    wait, those outside hear through `telling`, when it is. `number` is that of the event that was published last.
    """

    def __init__(
        self,
        state: SessionState,
        listeners: Sequence[Listener],
        new_id: Callable[[], str],
        ended: Callable[[], None] | None = None,
    ) -> None:
        """With `ended`, the log may wait: all listeners but the first, which is the store, hear when it is written.
        `ended` is called, without the lock, if the log refuses an entry, and ends the agent.
        """
        self.lock = RLock()
        self.state = state
        self.number = 0
        self.telling: Telling | None = None
        if ended is not None:
            from linnet.runtime.sessions import telling

            self.telling = telling.Telling(listeners[1:], self.lock, ended)
            listeners = [*listeners[:1], self.telling]
        self._listeners: list[tuple[Listener, frozenset[type[Event]] | None]] = [(each, None) for each in listeners]
        self._pacing = [each.pace for each in listeners if _paces(each)]
        self._new_id = new_id
        self._shown = count(1)
        self._warned: set[str] = set()

    def add(self, listener: Listener, kinds: frozenset[type[Event]] | None = None) -> None:
        """Let another hear what is published from now on, after all others; with `kinds`, only what comes together
        with an event of these.
        """
        with self.lock:
            self._listeners.append((listener, kinds))
            if _paces(listener):
                self._pacing = [*self._pacing, listener.pace]

    def publish(self, events: Sequence[Event]) -> None:
        """Apply these events, then tell everybody. Messages, and what extensions show, get their ids here.

        Whoever calls this holds the lock.
        """
        if not PASSING.issuperset(map(type, events)):
            if not IDENTIFIED.isdisjoint(map(type, events)):
                events = [self._identified(event) if type(event) in IDENTIFIED else event for event in events]
            self.state.apply(*events)
        if events:
            self.number += len(events)
            for listener, kinds in self._listeners:
                if kinds is None or not kinds.isdisjoint(map(type, events)):
                    listener.hear(events)

    def _identified(self, event: Event) -> Event:
        """Give an event its id. Here and not in a dialect: all who are told, now or again, hear the same."""
        if type(event) in ui_events.KINDS:
            return replace(event, id=f"shown-{next(self._shown)}")
        return identified(event, self._new_id)

    def pace(self, cancel: "Cancel") -> None:
        """Wait, without the lock, until every listener has room for more, or an abort comes. Never raises."""
        with suppress(Cancelled):  # Whoever runs notices an abort by itself.
            for pace in self._pacing:
                pace(cancel)

    def warn(self, sentence: str) -> None:
        """Tell everybody, once. Not to be called under the lock."""
        with self.lock:
            known = sentence in self._warned
            self._warned.add(sentence)
        if not known:
            for listener, _ in self._listeners:
                listener.warned(sentence)

    def broke(self, error: LinnetError) -> None:
        """Tell everybody that nothing will be done any more. Not to be called under the lock."""
        for listener, _ in self._listeners:
            listener.broke(error)

    def begin(self) -> None:
        """Write and tell from now on, where the log may wait: the session is complete. Raises LinnetError."""
        if self.telling is not None:
            self.telling.begin()

    def in_turn(self, requester: Requester) -> Requester:
        """Return who to answer, so that answers keep their place among the events."""
        return requester if self.telling is None else self.telling.in_turn(requester)

    def tell(self, act: Callable[[], None]) -> None:
        """Call it, in the order of what is told."""
        if self.telling is None:
            act()
        else:
            self.telling.tell(act)

    def is_owing(self) -> bool:
        """Return whether something was decided that not everybody has been told yet; when it was, `idle` is told."""
        return self.telling is not None and self.telling.is_owing()

    def drain(self) -> None:
        """Wait until everybody has been told everything. Not to be called under the lock."""
        if self.telling is not None:
            self.telling.drain(None)

    def close(self, timeout: float) -> None:
        """See that what was said is written and told, as far as that can be done in time. Idempotent."""
        if self.telling is not None:
            self.telling.close(timeout)

    def is_behind(self) -> bool:
        return any(listener.is_behind() for listener, _ in self._listeners)

    def idle(self) -> None:
        """Tell everybody that nothing is left to do. Whoever calls this holds the lock."""
        for listener, _ in self._listeners:
            listener.idle()


def _paces(listener: Listener) -> bool:
    """Return whether it ever makes a run wait."""
    return getattr(listener.pace, "__func__", None) is not Listener.pace
