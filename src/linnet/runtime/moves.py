"""From one place to go on from to another: a new session, another one, a branch, an earlier entry."""

import os
from contextlib import AbstractContextManager
from typing import assert_never

from linnet.core.commands import (
    Answer,
    Branch,
    Branched,
    CloneSession,
    Move,
    Navigate,
    Navigated,
    NewSession,
    SessionOpened,
    SwitchSession,
)
from linnet.errors import BadInput, SessionError, SessionInUse
from linnet.runtime.journal import Journal, user_text
from linnet.runtime.sessions import Place, Sessions
from linnet.runtime.state import State

NO_SESSIONS = "this agent keeps no session; start it with --session or --continue"


def check(work: Move, state: State) -> None:
    """What is bound to fail must fail before anything is ended for its sake. Raises LinnetError."""
    _settle(work, state)
    match work:
        case Branch(entry):
            _branched_from(entry, _kept(state)[0])
        case Navigate(entry):
            _find(entry, _kept(state)[0])
        case CloneSession() | SwitchSession():
            _kept(state)
        case NewSession():
            pass
        case _:
            assert_never(work)


def fetch(
    work: SwitchSession, state: State, lock: AbstractContextManager[object], *, others_wait: bool
) -> Place | None:
    """The session to go to, read while everything else goes on: it may be long. Raises LinnetError.

    What it returns is to be carried out, or closed. `lock` is the session's.
    """
    sessions = _kept(state)[1]
    path = sessions.path_of(work.session)
    with lock:
        if _is_here(path, state):
            return None
    try:
        return sessions.open(path)
    except SessionInUse as error:
        if error.holder != os.getpid() or not others_wait:
            raise
        return None  # Another switch to it waits, and will have let go of it or be there.


def carry_out(work: Move, fetched: Place | None, state: State) -> Answer:
    """Nothing runs any more. Raises LinnetError, and then everything is as it was. What it answers is on disk."""
    _settle(work, state)  # What ran until now may have left something.
    answer = _carry_out(work, fetched, state)
    if state.journal is not None:
        state.journal.sync()
    return answer


def _carry_out(work: Move, fetched: Place | None, state: State) -> Answer:
    match work:
        case NewSession(parent):
            state.open_session(parent)
            return SessionOpened()
        case SwitchSession(word):
            place = fetched or _elsewhere(word, state)  # Where we are may have changed since it was fetched.
            return SessionOpened(remark=state.enter(place, remember=True) if place is not None else "")
        case Branch(entry):
            journal, sessions = _kept(state)
            text, parent = _branched_from(entry, journal)
            state.enter(sessions.copy(journal.store, parent))
            return Branched(text)
        case CloneSession():
            journal, sessions = _kept(state)
            state.enter(sessions.copy(journal.store, journal.store.tree.leaf))
            return SessionOpened()
        case Navigate(entry):
            _find(entry, _kept(state)[0])
            state.go_to(entry)
            return Navigated(_kept(state)[0].store.leaf)
        case _:
            assert_never(work)


def _elsewhere(word: str, state: State) -> Place | None:
    """That session, unless we are there."""
    sessions = _kept(state)[1]
    path = sessions.path_of(word)
    return None if _is_here(path, state) else sessions.open(path)


def _is_here(path: str, state: State) -> bool:
    log = _kept(state)[0].store.log
    if not log.holds(path):
        return False
    if not log.intact:
        raise SessionError(f"{path} was changed by another program; begin another session, then switch to it")
    return True


def _settle(work: Move, state: State) -> None:
    """What could not be saved yet would be left behind, unless it goes along."""
    if state.journal is not None and not isinstance(work, CloneSession | Navigate):
        state.journal.settle()


def _kept(state: State) -> tuple[Journal, Sessions]:
    if state.journal is None or state.sessions is None:
        raise BadInput(NO_SESSIONS)
    return state.journal, state.sessions


def _find(id: str | None, journal: Journal) -> None:
    """Before the first entry there is nothing to be found."""
    if id is not None and id not in journal.store.tree:
        raise BadInput(f"Entry {id} not found")


def _branched_from(id: str, journal: Journal) -> tuple[str, str | None]:
    """What was said there, and what came before it."""
    node = journal.store.tree.find(id)
    if node is None or node.role != "user":
        raise BadInput("Invalid entry ID for branching")
    [entry] = journal.store.entries([node])
    return user_text(entry.content), node.parent
