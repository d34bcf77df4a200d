"""AsyncRuntime: the agent for programs with an event loop. It has the methods of Runtime, awaited; the session works in
threads of its own.
"""

from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from linnet.faces import Awaited
from linnet.sdk.awaiting import Awaiting, InLoop
from linnet.sdk.configured import Configured
from linnet.sdk.event_types import Event
from linnet.sdk.methods import RuntimeMethods
from linnet.sdk.prompts import Picture, prompt_command
from linnet.sdk.result import Result
from linnet.sdk.sessions import AsyncSessions

Self = TypeVar("Self", bound="AsyncRuntime")
BATCH = 32  # Events that are taken before others in the loop have their turn.


class AsyncRun(AsyncIterator[Event]):
    """The events of one run, up to its last. Whoever leaves it before that aborts the run: by dropping it, by being
    cancelled while waiting for an event, by leaving `async with`, or by `aclose`.
    """

    def __init__(self, awaiting: Awaiting) -> None:
        self._awaiting = awaiting
        self._taken: deque[Event] = deque()  # Taken from the stream, and not yet returned.

    async def __anext__(self) -> Event:
        if not self._taken:
            self._taken.extend(await self._awaiting.take(BATCH))
        if not self._taken:
            raise StopAsyncIteration
        return self._taken.popleft()

    async def __aenter__(self) -> "AsyncRun":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def result(self) -> Result[Any]:
        """Return what came of the run. Raises BadInput before it has ended."""
        return self._awaiting.handle.result

    async def aclose(self) -> None:
        """Abort the run, if it has not ended, and wait until it has."""
        self._taken.clear()
        await self._awaiting.leave()

    def __del__(self) -> None:
        self._awaiting.let_go()


class AsyncRuntime(RuntimeMethods, Configured, Awaited):
    """A folder, a model, a conversation. It is opened by `async with`, or else by whatever is called first, which then
    raises ConfigError or SessionError. Nothing of it blocks the event loop.
    """

    _waits: InLoop

    def _set_up(self) -> None:
        self._waits = InLoop(self._open_session)
        self._sessions = AsyncSessions(self._waits)

    async def __aenter__(self: Self) -> Self:
        await self._waits.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def sessions(self) -> AsyncSessions:
        """Return the sessions: where the conversation is kept, and all that can be done with that."""
        return self._sessions

    def prompt(
        self, text: str, images: Sequence[Picture] = (), *, output: type[Any] | Mapping[str, Any] | None = None
    ) -> AsyncRun:
        """Start a run and iterate over its events, `async for event in runtime.prompt(…)`. Raises Busy while another
        run goes on.
        """
        return AsyncRun(self._waits.start(prompt_command(text, images, output), streams=True))
