"""What a program can do with sessions, awaited."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from linnet.core.sessions import OutlineEntry, SessionInfo
from linnet.runtime.config import Path
from linnet.sdk import questions
from linnet.sdk.awaiting import Opening
from linnet.sdk.questions import Question

T = TypeVar("T")


class Ask(Protocol):
    async def __call__(self, question: Question[T]) -> T: ...


class AsyncSessions:
    """As Sessions. What takes no time is not awaited: `file`, `id` and `name`, once the runtime is open."""

    def __init__(self, opening: Opening, ask: Ask) -> None:
        self._opening = opening
        self._ask = ask

    @property
    def file(self) -> str | None:
        """Where the open session is kept; nothing if it is in memory only."""
        return self._opening.session.file

    @property
    def id(self) -> str:
        return self._opening.session.id

    @property
    def name(self) -> str:
        return self._opening.session.name

    async def set_name(self, name: str) -> None:
        await self._ask(questions.set_name(name))

    async def new(self, parent: Path | None = None) -> None:
        """Begin an empty one. `parent` is the session it came from."""
        await self._ask(questions.new(parent))

    async def switch(self, session: Path) -> None:
        """Go on with another: a file, or the beginning of an id."""
        await self._ask(questions.switch(session))

    async def branch(self, entry: str) -> str:
        """A session of its own that goes on from before this message of the user's, which is returned."""
        return await self._ask(questions.branch(entry))

    async def clone(self) -> None:
        """The same conversation in a session of its own."""
        await self._ask(questions.clone())

    async def navigate(self, entry: str | None) -> None:
        """Go on from another entry of this session; from the very beginning if none is given."""
        await self._ask(questions.navigate(entry))

    async def prompts(self) -> Sequence[tuple[str, str]]:
        """What the user said, and the ids of the entries: where `branch` can start from."""
        return await self._ask(questions.prompts())

    async def outline(self) -> Sequence[OutlineEntry]:
        return await self._ask(questions.outline())

    async def entries(self, since: str | None = None) -> Sequence[bytes]:
        """The lines of the file, or those after an entry."""
        return await self._ask(questions.entries(since))

    async def listed(self, *, everywhere: bool = False) -> Sequence[SessionInfo]:
        """Newest first: those of the folder that is worked in, or all."""
        return await self._ask(questions.listed_sessions(everywhere=everywhere))

    async def export_html(self, path: Path | None = None) -> str:
        """Write one page that shows the session, and return where it is."""
        return await self._ask(questions.export_html(path))
