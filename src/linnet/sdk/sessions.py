"""The methods of `runtime.sessions`, blocking and awaited: begin, open, branch, name, list and export sessions."""

import os
from collections.abc import Sequence

from linnet.core import commands
from linnet.core.session_info import OutlineEntry, SessionInfo
from linnet.errors import BadInput, CalledOff
from linnet.faces import Awaited, Blocking, Steps, once
from linnet.runtime.config.config import Path
from linnet.sdk.waiting import Asking, Waits


class SessionMethods(Asking):
    """The methods that Sessions and AsyncSessions share."""

    def __init__(self, waits: Waits) -> None:
        self._waits = waits

    @property
    def file(self) -> str | None:
        """Return the path of the open session's file; None if it is in memory only."""
        return self._waits.session.file

    @property
    def id(self) -> str:
        """Return the id of the open session. Its beginning is enough for `switch`."""
        return self._waits.session.id

    @property
    def name(self) -> str:
        """Return the name of the open session; empty if it has none. `set_name` sets it."""
        return self._waits.session.name

    @once
    def set_name(self, name: str) -> Steps[None]:
        """Name the open session. Raises BadInput for an empty name."""
        if not name.strip():
            raise BadInput("Session name cannot be empty")
        yield from self._tell(commands.SetSessionName(name))

    @once
    def new(self, parent: Path | None = None) -> Steps[None]:
        """Begin an empty session. `parent` is the session that it came from."""
        yield from self._move(commands.NewSession(None if parent is None else os.fspath(parent)))

    @once
    def switch(self, session: Path) -> Steps[None]:
        """Go on with another session: a file, or the beginning of an id."""
        yield from self._move(commands.SwitchSession(os.fspath(session)))

    @once
    def branch(self, entry: str) -> Steps[str]:
        """Go on from before this message of the user's, in a session of its own, and return the message."""
        answer = yield from self._ask(commands.Branch(entry), commands.Branched)
        _check_carried_out(answer)
        return answer.text

    @once
    def clone(self) -> Steps[None]:
        """Go on with the same conversation in a session of its own."""
        yield from self._move(commands.CloneSession())

    @once
    def navigate(self, entry: str | None) -> Steps[None]:
        """Go on from another entry of this session; from the very beginning if none is given."""
        yield from self._move(commands.Navigate(entry))

    @once
    def prompts(self) -> Steps[Sequence[tuple[str, str]]]:
        """Return the ids of the user's messages, for `branch`, each with its text."""
        return (yield from self._ask(commands.GetBranchMessages(), commands.BranchMessages)).messages

    @once
    def outline(self) -> Steps[Sequence[OutlineEntry]]:
        """Return the entries of the session, on all branches, each with a line of its content."""
        return (yield from self._ask(commands.GetTree(), commands.Outline)).entries

    @once
    def entries(self, since: str | None = None) -> Steps[Sequence[bytes]]:
        """Return the lines of the session's file, or those after an entry."""
        return (yield from self._ask(commands.GetEntries(since), commands.EntryList)).lines

    @once
    def listed(self, *, everywhere: bool = False) -> Steps[Sequence[SessionInfo]]:
        """Return the sessions of the folder that is worked in, or all of them, newest first."""
        return (yield from self._ask(commands.ListSessions(everywhere), commands.SessionList)).sessions

    @once
    def export_html(self, path: Path | None = None) -> Steps[str]:
        """Write an HTML page that shows the session, and return its path."""
        command = commands.ExportHtml(None if path is None else os.fspath(path))
        return (yield from self._ask(command, commands.Exported)).path

    def _move(self, command: commands.Move) -> Steps[None]:
        """Go to another entry or session. Raises CalledOff if an extension cancels it."""
        _check_carried_out((yield from self._tell(command)))


class Sessions(SessionMethods, Blocking):
    """Moves end what runs first. All of them raise SessionError or BadInput with a sentence that says why not."""

    @property
    def name(self) -> str:
        """Return the name of the open session; empty if it has none. To set it is to call `set_name`."""
        return self._waits.session.name

    @name.setter
    def name(self, name: str) -> None:
        self.set_name(name)


class AsyncSessions(SessionMethods, Awaited):
    """The same as Sessions, awaited; but for `file`, `id` and `name`, which need no waiting once the runtime
    is open.
    """


def _check_carried_out(answer: object) -> None:
    """Raise CalledOff if an extension cancelled the move."""
    if isinstance(answer, commands.SessionOpened | commands.Branched | commands.Navigated) and answer.cancelled:
        raise CalledOff
