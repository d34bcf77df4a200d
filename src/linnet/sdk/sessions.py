"""What a program can do with sessions: begin, open, branch, go back, name, list and export them."""

from collections.abc import Sequence

from linnet.core.sessions import OutlineEntry, SessionInfo
from linnet.runtime.config import Path
from linnet.runtime.session import Session
from linnet.sdk import questions
from linnet.sdk.answer import ask


class Sessions:
    """Moves end what runs first. All of them raise SessionError or BadInput with a sentence that says why not."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def file(self) -> str | None:
        """Where the open session is kept; nothing if it is in memory only."""
        return self._session.file

    @property
    def id(self) -> str:
        return self._session.id

    @property
    def name(self) -> str:
        """Set it to name the session; `set_name` does the same."""
        return self._session.name

    @name.setter
    def name(self, name: str) -> None:
        self.set_name(name)

    def set_name(self, name: str) -> None:
        ask(self._session, questions.set_name(name))

    def new(self, parent: Path | None = None) -> None:
        """Begin an empty one. `parent` is the session it came from."""
        ask(self._session, questions.new(parent))

    def switch(self, session: Path) -> None:
        """Go on with another: a file, or the beginning of an id."""
        ask(self._session, questions.switch(session))

    def branch(self, entry: str) -> str:
        """A session of its own that goes on from before this message of the user's, which is returned."""
        return ask(self._session, questions.branch(entry))

    def clone(self) -> None:
        """The same conversation in a session of its own."""
        ask(self._session, questions.clone())

    def navigate(self, entry: str | None) -> None:
        """Go on from another entry of this session; from the very beginning if none is given."""
        ask(self._session, questions.navigate(entry))

    def prompts(self) -> Sequence[tuple[str, str]]:
        """What the user said, and the ids of the entries: where `branch` can start from."""
        return ask(self._session, questions.prompts())

    def outline(self) -> Sequence[OutlineEntry]:
        return ask(self._session, questions.outline())

    def entries(self, since: str | None = None) -> Sequence[bytes]:
        """The lines of the file, or those after an entry."""
        return ask(self._session, questions.entries(since))

    def listed(self, *, everywhere: bool = False) -> Sequence[SessionInfo]:
        """Newest first: those of the folder that is worked in, or all."""
        return ask(self._session, questions.listed_sessions(everywhere=everywhere))

    def export_html(self, path: Path | None = None) -> str:
        """Write one page that shows the session, and return where it is."""
        return ask(self._session, questions.export_html(path))
