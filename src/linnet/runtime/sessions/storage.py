"""The first listener of a session: passes events to the journal of the session that is open, and enters others."""

import os
import uuid  # msgspec has loaded it already.
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from linnet.core.events import Event, SessionEntered
from linnet.core.setting_names import Spelling
from linnet.errors import BadInput
from linnet.runtime.config.config import flag
from linnet.runtime.listener import Listener

if TYPE_CHECKING:
    from linnet.core.events import Entered
    from linnet.core.models import Model, Reasoning
    from linnet.runtime.broadcast import Broadcast
    from linnet.runtime.sessions.journal import Journal
    from linnet.runtime.sessions.places import Place, Sessions

NO_SESSIONS = "this agent keeps no session; start it with {} or {}"


def entry_id() -> str:
    """Return a random id for an entry. The store sees to it that no other entry has it."""
    return os.urandom(4).hex()


def session_id() -> str:
    """Return a new random id for a session."""
    return str(uuid.uuid4())


class Storage(Listener):
    """All of it is called with the session's lock held, but for `sync`, `kept` and `elsewhere`; and before the session
    is complete, when nobody else knows it.
    """

    def __init__(self, new_id: Callable[[], str], spelled: Spelling = flag) -> None:
        self._spelled = spelled
        self._sessions: Sessions | None = None
        self._journal: Journal | None = None
        self._begin: Callable[[], None] | None = None  # What the session that is open still needs to be begun.
        self.broadcast: Broadcast | None = None  # Where it is published that something could not be saved.
        self._new_id = new_id
        self._blank: list[str] = []  # Keys of sessions that were made here and left without anything said in them.

    def begin_later(self, begin: Callable[[], None]) -> None:
        """Have the first session entered when it is first needed; `begin` sets `sessions` and calls `enter`."""
        self._begin = begin

    @property
    def sessions(self) -> "Sessions | None":
        """Return the sessions that can be gone to; None if the agent keeps no session, not even in memory."""
        if self._begin is not None:
            self._begin_now()
        return self._sessions

    @sessions.setter
    def sessions(self, sessions: "Sessions") -> None:
        self._sessions = sessions

    @property
    def journal(self) -> "Journal | None":
        """Return the journal of the open session; None if the agent keeps none. Like `sessions`, it may be read without
        the lock.
        """
        if self._begin is not None:
            self._begin_now()
        return self._journal

    @property
    def name(self) -> str:
        """Return the name of the open session; empty if it has none. Never waits."""
        return "" if self._journal is None else self._journal.store.name

    @property
    def problem(self) -> str:
        """Return why something is not saved; empty if all is."""
        return "" if self._journal is None else self._journal.problem

    def _begin_now(self) -> None:
        """Enter the first session, unless another thread has done so meanwhile."""
        assert self.broadcast is not None
        with self.broadcast.lock:
            if self._begin is not None:
                self._begin()
                self._begin = None

    def new_id(self) -> str:
        """Return an id that no entry of the open session has."""
        journal = self.journal
        return self._new_id() if journal is None else journal.store.new_id()

    def hear(self, events: Sequence[Event]) -> None:
        journal = self.journal
        if journal is not None:
            journal.hear(events)

    def asides(self) -> list[Event]:
        """Return the events that tell of entries which no other event shows, since this was last called."""
        journal = self.journal
        if journal is None or not (lines := journal.store.take_asides()):
            return []
        from linnet.core.events import EntryAppended

        return [EntryAppended(line) for line in lines]

    def enter(
        self, place: "Place", model: "Model", thinking: "Reasoning", reason: "Entered" = "startup"
    ) -> SessionEntered:
        """Close the session that was open, and go on in this one, with this model and level of thinking. Returns the
        event to publish.
        """
        from linnet.runtime.sessions.journal import Journal

        self._leave()
        self._journal = Journal(place, model, thinking, self._tell)
        store = place.store
        return SessionEntered(
            session_id=store.header.id, reason=reason, file=store.path, past=place.past, spent=place.spent
        )

    def _tell(self, events: Sequence[Event]) -> None:
        if self.broadcast is not None:
            with self.broadcast.lock:  # `sync` is called without it.
                self.broadcast.publish_locked(events)

    @property
    def kept(self) -> "Journal":
        """Return the journal of the open session. Raises BadInput if the agent keeps none."""
        if self.journal is None:
            raise BadInput(NO_SESSIONS.format(self._spelled("session"), self._spelled("resume")))
        return self.journal

    @property
    def elsewhere(self) -> "Sessions":
        """Return the sessions that can be gone to. Raises BadInput if the agent keeps none."""
        if self.sessions is None:
            raise BadInput(NO_SESSIONS.format(self._spelled("session"), self._spelled("resume")))
        return self.sessions

    def sync(self) -> None:
        """See that what was written is on disk. May wait for the disk; what goes wrong is told."""
        journal = self.journal
        if journal is not None:
            journal.sync()

    def close(self) -> None:
        """Close the session, and delete those that were made here and in which nothing was said. Idempotent."""
        self._leave()
        if self._sessions is not None and self._blank:
            self._sessions.forget(self._blank)
        self._blank = []

    def _leave(self) -> None:
        """Close the journal, and remember the session if nothing was said in it."""
        if self._journal is not None and (blank := self._journal.close()):
            self._blank.append(blank)
