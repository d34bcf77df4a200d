"""Where the open session is kept, and the way to others."""

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
    """Return an id for an entry. Whether another has it is for the store to see."""
    return os.urandom(4).hex()


def session_id() -> str:
    return str(uuid.uuid4())


class Storage(Listener):
    """`journal` and `sessions` are None for an agent that keeps no session, not even in memory.

    `broadcast` is told what goes wrong with the saving of something.
    """

    def __init__(self, new_id: Callable[[], str], spelled: Spelling = flag) -> None:
        self._spelled = spelled
        self.sessions: Sessions | None = None
        self.journal: Journal | None = None
        self.broadcast: Broadcast | None = None
        self._new_id = new_id
        self._blank: list[str] = []

    def new_id(self) -> str:
        """One that no entry of the session has."""
        return self._new_id() if self.journal is None else self.journal.store.new_id()

    def hear(self, events: Sequence[Event]) -> None:
        if self.journal is not None:
            self.journal.hear(events)

    def enter(
        self, place: "Place", model: "Model", thinking: "Reasoning", reason: "Entered" = "startup"
    ) -> SessionEntered:
        """Let go of the session that was open, and go on in this one, with this model and level of thinking."""
        from linnet.runtime.sessions.journal import Journal

        self._leave()
        self.journal = Journal(place, model, thinking, self._tell)
        store = place.store
        return SessionEntered(
            session_id=store.header.id, reason=reason, file=store.path, past=place.past, spent=place.spent
        )

    def _tell(self, events: Sequence[Event]) -> None:
        if self.broadcast is not None:
            with self.broadcast.lock:  # Whoever syncs does so without it.
                self.broadcast.publish_locked(events)

    @property
    def kept(self) -> "Journal":
        """The journal of the session that is open. Raises BadInput if there is none."""
        if self.journal is None:
            raise BadInput(NO_SESSIONS.format(self._spelled("session"), self._spelled("resume")))
        return self.journal

    @property
    def elsewhere(self) -> "Sessions":
        """Raises BadInput if no sessions are kept."""
        if self.sessions is None:
            raise BadInput(NO_SESSIONS.format(self._spelled("session"), self._spelled("resume")))
        return self.sessions

    def sync(self) -> None:
        """See that what was written is on the disk. What goes wrong is told."""
        if self.journal is not None:
            self.journal.sync()

    def close(self) -> None:
        """Sessions that were made here and that nothing came of are taken away."""
        self._leave()
        if self.sessions is not None and self._blank:
            self.sessions.forget(self._blank)
        self._blank = []

    def _leave(self) -> None:
        if self.journal is not None and (blank := self.journal.close()):
            self._blank.append(blank)
