"""What a program can do with sessions: begin, open, branch, go back, name, list and export them."""

import os
from collections.abc import Sequence
from threading import Event
from typing import TypeVar

from linnet.core import commands
from linnet.core.sessions import OutlineEntry, SessionInfo
from linnet.errors import BadInput, SessionError
from linnet.runtime.config import Path
from linnet.runtime.job import Job
from linnet.runtime.session import Session

T = TypeVar("T")


class Sessions:
    """Moves end what runs first. All of them raise SessionError or BadInput with a sentence that says why not."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def file(self) -> str | None:
        """Where the open session is kept; nothing if it is in memory only."""
        return self._state.session_file

    @property
    def id(self) -> str:
        return self._state.session_id

    @property
    def name(self) -> str:
        return self._state.session_name

    @name.setter
    def name(self, name: str) -> None:
        if not name.strip():
            raise BadInput("Session name cannot be empty")
        self._ask(commands.SetSessionName(name), commands.Ok)

    def new(self, parent: Path | None = None) -> None:
        """Begin an empty one. `parent` is the session it came from."""
        self._move(commands.NewSession(None if parent is None else os.fspath(parent)), commands.SessionOpened)

    def switch(self, session: Path) -> None:
        """Go on with another: a file, or the beginning of an id."""
        self._move(commands.SwitchSession(os.fspath(session)), commands.SessionOpened)

    def branch(self, entry: str) -> str:
        """A session of its own that goes on from before this message of the user's, which is returned."""
        return self._move(commands.Branch(entry), commands.Branched).text

    def clone(self) -> None:
        """The same conversation in a session of its own."""
        self._move(commands.CloneSession(), commands.SessionOpened)

    def navigate(self, entry: str | None) -> None:
        """Go on from another entry of this session; from the very beginning if none is given."""
        self._move(commands.Navigate(entry), commands.Navigated)

    def prompts(self) -> Sequence[tuple[str, str]]:
        """What the user said, and the ids of the entries: where `branch` can start from."""
        return self._ask(commands.GetBranchMessages(), commands.BranchMessages).messages

    def outline(self) -> Sequence[OutlineEntry]:
        return self._ask(commands.GetTree(), commands.Outline).entries

    def entries(self, since: str | None = None) -> Sequence[bytes]:
        """The lines of the file, or those after an entry."""
        return self._ask(commands.GetEntries(since), commands.EntryList).lines

    def listed(self, *, everywhere: bool = False) -> Sequence[SessionInfo]:
        """Newest first: those of the folder that is worked in, or all."""
        return self._wait(commands.ListSessions(everywhere), commands.SessionList).sessions

    def export_html(self, path: Path | None = None) -> str:
        """Write one page that shows the session, and return where it is."""
        return self._wait(commands.ExportHtml(None if path is None else os.fspath(path)), commands.Exported).path

    @property
    def _state(self) -> commands.State:
        return self._ask(commands.GetState(), commands.State)

    def _ask(self, query: commands.Query, kind: type[T]) -> T:
        answers: list[commands.Answer] = []
        self._session.ask(query, answers.append)
        return _only(answers, kind)

    def _move(self, work: commands.Move, kind: type[T]) -> T:
        answer = _Waiting()
        self._session.submit(Job(work, finished=answer.give, refused=answer.refuse))
        return answer.take(kind)

    def _wait(self, command: commands.Aside, kind: type[T]) -> T:
        answer = _Waiting()
        self._session.aside(command, answer.give, answer.refuse)
        return answer.take(kind)


class _Waiting:
    """An answer that another thread will give."""

    def __init__(self) -> None:
        self._given = Event()
        self._answers: list[commands.Answer] = []
        self._reason = ""

    def give(self, answer: commands.Answer) -> None:
        self._answers.append(answer)
        self._given.set()

    def refuse(self, reason: str) -> None:
        self._reason = reason
        self._given.set()

    def take(self, kind: type[T]) -> T:
        self._given.wait()
        if self._reason:
            raise SessionError(self._reason)
        return _only(self._answers, kind)


def _only(answers: Sequence[commands.Answer], kind: type[T]) -> T:
    [answer] = answers
    assert isinstance(answer, kind)
    return answer
