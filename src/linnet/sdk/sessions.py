"""What a program can do with sessions: begin, open, branch, go back, name, list and export them."""

import os
from collections.abc import Sequence

from linnet.core import commands
from linnet.core.sessions import OutlineEntry, SessionInfo
from linnet.errors import BadInput
from linnet.runtime.config import Path
from linnet.runtime.session import Session
from linnet.sdk.answer import ask


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
        ask(self._session, commands.SetSessionName(name), commands.Ok)

    def new(self, parent: Path | None = None) -> None:
        """Begin an empty one. `parent` is the session it came from."""
        ask(self._session, commands.NewSession(None if parent is None else os.fspath(parent)), commands.SessionOpened)

    def switch(self, session: Path) -> None:
        """Go on with another: a file, or the beginning of an id."""
        ask(self._session, commands.SwitchSession(os.fspath(session)), commands.SessionOpened)

    def branch(self, entry: str) -> str:
        """A session of its own that goes on from before this message of the user's, which is returned."""
        return ask(self._session, commands.Branch(entry), commands.Branched).text

    def clone(self) -> None:
        """The same conversation in a session of its own."""
        ask(self._session, commands.CloneSession(), commands.SessionOpened)

    def navigate(self, entry: str | None) -> None:
        """Go on from another entry of this session; from the very beginning if none is given."""
        ask(self._session, commands.Navigate(entry), commands.Navigated)

    def prompts(self) -> Sequence[tuple[str, str]]:
        """What the user said, and the ids of the entries: where `branch` can start from."""
        return ask(self._session, commands.GetBranchMessages(), commands.BranchMessages).messages

    def outline(self) -> Sequence[OutlineEntry]:
        return ask(self._session, commands.GetTree(), commands.Outline).entries

    def entries(self, since: str | None = None) -> Sequence[bytes]:
        """The lines of the file, or those after an entry."""
        return ask(self._session, commands.GetEntries(since), commands.EntryList).lines

    def listed(self, *, everywhere: bool = False) -> Sequence[SessionInfo]:
        """Newest first: those of the folder that is worked in, or all."""
        return ask(self._session, commands.ListSessions(everywhere), commands.SessionList).sessions

    def export_html(self, path: Path | None = None) -> str:
        """Write one page that shows the session, and return where it is."""
        return ask(
            self._session, commands.ExportHtml(None if path is None else os.fspath(path)), commands.Exported
        ).path

    @property
    def _state(self) -> commands.State:
        return ask(self._session, commands.GetState(), commands.State)
