"""The lock of a session, and the one way to change its state: events, which are applied to the state and then told to
all listeners, in one order.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import count
from threading import RLock
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from linnet.core import ui_events
from linnet.core.context.conversation import ADDING, identified
from linnet.core.events import PASSING, Event, ReplyEnded, ReplyStarted
from linnet.errors import Cancelled, LinnetError
from linnet.runtime.listener import Listener
from linnet.runtime.requester import Requester
from linnet.runtime.state import SessionState

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.runtime.sessions.telling import Telling

IDENTIFIED = ADDING | ui_events.KINDS | {ReplyStarted}

Action: TypeAlias = "Callable[[], Sequence[Action] | None]"
"""Carries out, without the lock, what was decided under it: closes a socket, kills a process tree, starts a thread,
calls code of others. Returns the actions to do next, if any.
"""


def act(actions: Iterable[Action]) -> None:
    """Do these actions, and those that they return, in order. Not to be called under the lock."""
    todo = deque(actions)
    while todo:  # Not by recursion: any number of commands may have waited.
        todo.extend(todo.popleft()() or ())


class Broadcast:
    """Invariant: `state` is the fold of all events that were published, and each listener has heard the same events in
    that order.

    Listeners are told in the order of the list: the store comes first, so that what is told is on disk. Where the log
    may wait, all others are told through `telling`, once it is.
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
        self.lock = RLock()  # Reentrant: a listener that hears something may publish something.
        self.state = state
        self.number = 0  # Of the event that was published last.
        self.telling: Telling | None = None
        if ended is not None:
            from linnet.runtime.sessions import telling

            self.telling = telling.Telling(listeners[1:], self.lock, ended)
            listeners = [*listeners[:1], self.telling]
        self._listeners: list[tuple[Listener, frozenset[type[Event]] | None]] = [(each, None) for each in listeners]
        self._pacing = [each.pace for each in listeners if _paces(each)]
        self.asides: Callable[[], Sequence[Event]] | None = None
        """Returns what is to be told after events that all have heard: what the store made of them."""
        self._depth = 0  # How many calls of `publish_locked` are not finished.
        self._new_id = new_id
        self._shown = count(1)
        self._reply = ""  # The id of the message that the open reply will be, if one is open.
        self._warned: set[str] = set()

    def add(self, listener: Listener, kinds: frozenset[type[Event]] | None = None) -> None:
        """Have another listener hear what is published from now on, after those there are; with `kinds`, only what
        comes together with an event of these.
        """
        with self.lock:
            self._listeners.append((listener, kinds))
            if _paces(listener):
                self._pacing = [*self._pacing, listener.pace]

    def publish_locked(self, events: Sequence[Event]) -> None:
        """Apply these events to the state, then tell all listeners. Messages, and what extensions show, get their ids
        here.
        """
        if PASSING.issuperset(map(type, events)):  # Deltas change no state: most calls need not look at each event.
            self._tell_locked(events)
            return
        if not IDENTIFIED.isdisjoint(map(type, events)):
            events = [self._identified(event) if type(event) in IDENTIFIED else event for event in events]
        self.state.apply(*events)
        self._depth += 1
        try:
            self._tell_locked(events)
        finally:
            self._depth -= 1
        # Not if a listener publishes this: then others have not heard yet what the entries came from.
        if self.asides is not None and not self._depth and (asides := self.asides()):
            self._tell_locked(asides)

    def _tell_locked(self, events: Sequence[Event]) -> None:
        if events:
            self.number += len(events)
            for listener, kinds in self._listeners:
                if kinds is None or not kinds.isdisjoint(map(type, events)):
                    listener.hear(events)

    def emit(self, events: Sequence[Event], cancel: "Cancel", then: Sequence[Event] = ()) -> None:
        """Publish these events, and in the same step `then`, after the entries that the first ones left in the session;
        wait until listeners have room for more. Not to be called under the lock. Never raises.
        """
        with self.lock:
            self.publish_locked(events)
            if then:
                self.publish_locked(then)
        self.pace(cancel)

    def _identified(self, event: Event) -> Event:
        """Return the event with an id. Here and not in a dialect, so that all listeners hear the same one."""
        if type(event) in ui_events.KINDS:
            return replace(event, id=f"shown-{next(self._shown)}")
        if isinstance(event, ReplyStarted):
            self._reply = self._new_id()
            return replace(event, id=self._reply)
        if isinstance(event, ReplyEnded) and self._reply:
            id, self._reply = self._reply, ""
            return replace(event, id=id)
        return identified(event, self._new_id)

    def pace(self, cancel: "Cancel") -> None:
        """Wait until every listener has room for more, or an abort comes. Not to be called under the lock. Never
        raises.
        """
        with suppress(Cancelled):  # Whoever runs notices an abort by itself.
            for pace in self._pacing:
                pace(cancel)

    def warn(self, sentence: str) -> None:
        """Tell all listeners this sentence, unless they were told it before. Not to be called under the lock."""
        with self.lock:
            known = sentence in self._warned
            self._warned.add(sentence)
        if not known:
            for listener, _ in self._listeners:
                listener.warned(sentence)

    def broke(self, error: LinnetError) -> None:
        """Tell all listeners that the session can do nothing any more. Not to be called under the lock."""
        for listener, _ in self._listeners:
            listener.broke(error)

    def finish(self) -> None:
        """Tell all listeners that the agent is to end once it has nothing left to do."""
        for listener, _ in self._listeners:
            listener.finish()

    def begin(self) -> None:
        """Start to write and tell what has waited for the session to be complete, if its log may wait.

        Raises LinnetError if the system has no further thread.
        """
        if self.telling is not None:
            self.telling.begin()

    def in_turn(self, requester: Requester) -> Requester:
        """Return a requester that passes its answers on to this one in their place among the events."""
        return requester if self.telling is None else self.telling.in_turn(requester)

    def tell(self, act: Callable[[], None]) -> None:
        """Call this function after all that was told before, and before all that is told after."""
        if self.telling is None:
            act()
        else:
            self.telling.tell(act)

    def is_owing(self) -> bool:
        """Return whether something waits to be written or told. If so, listeners hear `idle` when nothing does."""
        return self.telling is not None and self.telling.is_owing()

    def drain(self) -> None:
        """Wait until all listeners have been told everything. Not to be called under the lock."""
        if self.telling is not None:
            self.telling.drain(None)

    def close(self, timeout: float) -> None:
        """Wait up to `timeout` seconds until all is written and told; what is not by then is lost. Idempotent."""
        if self.telling is not None:
            self.telling.close(timeout)

    def is_behind(self) -> bool:
        """Return whether a listener has no room for more now."""
        return any(listener.is_behind() for listener, _ in self._listeners)

    def idle_locked(self) -> None:
        """Tell all listeners that no job and no background command is left."""
        for listener, _ in self._listeners:
            listener.idle()


def _paces(listener: Listener) -> bool:
    """Return whether it ever makes a run wait."""
    return getattr(listener.pace, "__func__", None) is not Listener.pace
