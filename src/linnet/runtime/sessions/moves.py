"""Moves an agent to another session, or to another entry of its own: new, switch, branch, clone, navigate."""

import os
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, assert_never

from linnet.core import commands
from linnet.core.commands import Branch, CloneSession, Move, Navigate, NewSession, SwitchSession
from linnet.core.events import Entered, Event, Navigated, SessionEntered
from linnet.errors import BadInput, LinnetError, SessionError, SessionInUse
from linnet.runtime.broadcast import Broadcast
from linnet.runtime.error_report import as_error
from linnet.runtime.sessions.journal import Journal, user_text
from linnet.runtime.sessions.places import Place, remembered
from linnet.runtime.sessions.storage import Storage

if TYPE_CHECKING:
    from linnet.runtime.requester import PendingRequest
    from linnet.runtime.settings.settings import LiveSettings

UNSAVED = "This session has not been saved yet. Send a message before cloning or forking it."


class Moves:
    """A move is checked first (`check_locked`, `fetch`), then whatever runs is ended, then it is carried out: one that
    is bound to fail ends nothing.
    """

    def __init__(
        self, broadcast: Broadcast, storage: Storage, live: "LiveSettings", new_session_id: Callable[[], str]
    ) -> None:
        # Held while a session is fetched and its move submitted, so that what one switch has opened is not in the way
        # of another. It is taken before the session's lock, never with that held.
        self.switching = Lock()
        self._broadcast = broadcast
        self._lock = broadcast.lock
        self._state = broadcast.state
        self._storage = storage
        self._live = live
        self._new_session_id = new_session_id

    def check_locked(self, work: Move) -> None:
        """Raise LinnetError if the move is bound to fail."""
        self._flush_locked(work)
        match work:
            case Branch() | CloneSession() if not self._storage.kept.store.is_kept:
                raise BadInput(UNSAVED)
            case Branch(entry):
                _branched_from(entry, self._storage.kept)
            case Navigate(entry):
                _find(entry, self._storage.kept)
            case CloneSession() | SwitchSession():
                _ = self._storage.kept
            case NewSession():
                pass
            case _:
                assert_never(work)

    def fetch(self, work: SwitchSession, *, others_wait: bool) -> Place | None:
        """Open the session to go to. Not called under the lock, since reading may take long. Raises LinnetError.

        Returns a place that the caller enters or closes; None if the session is open here, or will be by then.
        """
        with self._lock:
            self.check_locked(work)
        sessions = self._storage.elsewhere
        key = sessions.key_of(work.session)
        with self._lock:
            if self._is_here_locked(key):
                return None
        try:
            return sessions.open(key)
        except SessionInUse as error:
            if error.holder != os.getpid() or not others_wait:
                raise
            return None  # Another switch to it waits. By then, it has closed it, or entered it.

    def call_off_locked(self, request: "PendingRequest") -> None:
        """Answer a move that an extension cancelled."""
        assert isinstance(request.command, Move)
        try:
            request.answer(self._called_off_locked(request.command))
        except LinnetError as error:
            request.refuse(error)

    def move_locked(self, work: Move, request: "PendingRequest") -> None:
        """Carry out a move, and answer whoever asked for it."""
        try:
            answer = self._carry_out_locked(work, request.place)
        except Exception as fault:
            request.refuse(as_error(fault, "a session could not be opened"))
            return
        self._storage.sync()  # What is answered is on disk.
        request.answer(answer)

    def _carry_out_locked(self, work: Move, fetched: Place | None) -> commands.Answer:
        """Make the move, while no job runs, and publish what has changed. Raises LinnetError, and then nothing has."""
        self._flush_locked(work)  # What ran until now may have left something.
        storage = self._storage
        match work:
            case NewSession(parent):
                if storage.sessions is None:
                    self._broadcast.publish_locked([SessionEntered(session_id=self._new_session_id(), reason="new")])
                else:
                    self._enter_locked("new", storage.sessions.new(parent))
                return commands.SessionOpened()
            case SwitchSession(word):
                place = fetched or self._elsewhere_locked(word)  # Where we are may have changed since it was fetched.
                return commands.SessionOpened(remark=self._switch_locked(place) if place is not None else "")
            case Branch(entry):
                text, parent = _branched_from(entry, storage.kept)
                self._enter_locked("branch", storage.elsewhere.copy(storage.kept.store, parent))
                return commands.Branched(text)
            case CloneSession():
                store = storage.kept.store
                self._enter_locked("clone", storage.elsewhere.copy(store, store.tree.leaf))
                return commands.SessionOpened()
            case Navigate(entry):
                _find(entry, storage.kept)
                past = storage.kept.move(entry)
                self._broadcast.publish_locked([Navigated(entry, past)])
                return commands.Navigated(storage.kept.store.leaf)  # With what was set again there.
            case _:
                assert_never(work)

    def _called_off_locked(self, work: Move) -> commands.Answer:
        """Return the answer to a move that an extension cancelled. Raises BadInput if it names no entry."""
        match work:
            case Branch(entry):
                return commands.Branched(_branched_from(entry, self._storage.kept)[0], cancelled=True)
            case Navigate():
                return commands.Navigated(self._storage.kept.store.leaf, cancelled=True)
            case _:
                return commands.SessionOpened(cancelled=True)

    def _enter_locked(self, reason: Entered, place: Place, *settings: Event) -> None:
        """Enter a session with the model and level of thinking of now, and then set these."""
        entered = self._storage.enter(place, self._state.model, self._state.asked_thinking, reason)
        self._broadcast.publish_locked([entered, *settings])

    def _switch_locked(self, place: Place) -> str:
        """Enter a session with the model and the level of thinking that were last used there. Returns a sentence if its
        model cannot be used; otherwise an empty string.
        """
        settings, unusable = remembered(place, self._live.now.known_models)
        self._enter_locked("resume", place, *settings)
        here = self._state.model
        return f"{unusable}; going on with {here.provider}/{here.id}" if unusable else ""

    def _elsewhere_locked(self, word: str) -> Place | None:
        """Open that session; None if it is open here."""
        sessions = self._storage.elsewhere
        key = sessions.key_of(word)
        return None if self._is_here_locked(key) else sessions.open(key)

    def _is_here_locked(self, key: str) -> bool:
        """Return whether this session is the open one. Raises SessionError if it is, and another program changed it."""
        log = self._storage.kept.store.log
        if not log.holds(key):
            return False
        if not log.intact:
            raise SessionError(f"{key} was changed by another program; begin another session, then switch to it")
        return True

    def _flush_locked(self, work: Move) -> None:
        """Save what could not be saved before, unless the move takes it along. Raises SessionError if that fails."""
        if self._storage.journal is not None and not isinstance(work, CloneSession | Navigate):
            self._storage.journal.flush()


def _find(id: str | None, journal: Journal) -> None:
    """Raise BadInput if there is no such entry. None stands for the place before the first one."""
    if id is not None and id not in journal.store.tree:
        raise BadInput(f"Entry {id} not found")


def _branched_from(id: str, journal: Journal) -> tuple[str, str | None]:
    """Return the text of that message of the user's, and the id of the entry before it. Raises BadInput if it
    is none.
    """
    node = journal.store.tree.find(id)
    if node is None or node.role != "user":
        kind = "branching" if journal.store.format == "0.73" else "forking"  # As the command is called by then.
        raise BadInput(f"Invalid entry ID for {kind}")
    [entry] = journal.store.entries([node])
    return user_text(entry.content), node.parent
