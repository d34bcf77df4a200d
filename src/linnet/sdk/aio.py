"""The asynchronous face of the runtime: the same names, awaited. The runtime itself stays on its own threads."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar, overload

from linnet.core import commands
from linnet.core.events import QueueMode
from linnet.core.messages import BashRun
from linnet.core.models import Reasoning
from linnet.core.slash import SlashCommand
from linnet.errors import UnknownModel
from linnet.runtime.session import Session
from linnet.sdk import questions
from linnet.sdk.aio_sessions import AsyncSessions
from linnet.sdk.awaiting import Awaiting, Opening
from linnet.sdk.configured import Configured
from linnet.sdk.events import Event
from linnet.sdk.follow import Ear, Followed
from linnet.sdk.host_loop import HostLoop
from linnet.sdk.pictures import Picture
from linnet.sdk.questions import Question, State, Stats, prompt_command
from linnet.sdk.result import Result
from linnet.wire.zot import frames

Self = TypeVar("Self", bound="AsyncRuntime")
T = TypeVar("T")
BATCH = 32  # Events that are taken before others in the loop have their turn.
ROOM = 32  # With more that nobody has taken, the run waits: hundreds of them share one interpreter with the loop.


class AsyncRun(AsyncIterator[Event]):
    """The events of one run, up to its last. Whoever leaves it before that aborts it: by letting go of it, by being
    cancelled while waiting for an event, by leaving `async with`, or by `aclose`.
    """

    def __init__(self, awaiting: Awaiting) -> None:
        self._awaiting = awaiting
        self._taken: deque[Event] = deque()

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
        """What came of it. Raises BadInput before the run has ended."""
        return self._awaiting.followed.result

    async def aclose(self) -> None:
        """Abort the run, if it has not ended, and wait until it has."""
        self._taken.clear()
        await self._awaiting.leave()

    def __del__(self) -> None:
        self._awaiting.let_go()


class AsyncRuntime(Configured):
    """A folder, a model, a conversation. It is opened by `async with`, or else by whatever is called first, which then
    raises ConfigError or SessionError. Nothing of it blocks the event loop.
    """

    def _set_up(self) -> None:
        self._ear = Ear()
        self._host = HostLoop()
        self._opening = Opening(self._make)
        self._latest: Awaiting | None = None
        self._sessions = AsyncSessions(self._opening, self._ask)

    def _make(self) -> Session:
        return self._open_session(self._ear, self._host)

    async def __aenter__(self: Self) -> Self:
        await self._opening.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def sessions(self) -> AsyncSessions:
        """Where the conversation is kept, and all that can be done with that."""
        return self._sessions

    def prompt(
        self, text: str, images: Sequence[Picture] = (), *, output: type[Any] | Mapping[str, Any] | None = None
    ) -> AsyncRun:
        """`async for event in runtime.prompt(…)`. Raises Busy while another run goes on."""
        return AsyncRun(self._follow(prompt_command(text, images, output), streams=True))

    @overload
    async def run(self, text: str, images: Sequence[Picture] = ()) -> Result[None]: ...

    @overload
    async def run(self, text: str, images: Sequence[Picture] = (), *, output: type[T]) -> Result[T]: ...

    @overload
    async def run(self, text: str, images: Sequence[Picture] = (), *, output: Mapping[str, Any]) -> Result[Any]: ...

    async def run(
        self, text: str, images: Sequence[Picture] = (), *, output: type[Any] | Mapping[str, Any] | None = None
    ) -> Result[Any]:
        """Run a prompt to its end. A run that fails raises nothing: its result says so. Cancelling aborts it.

        With `output`, a type or a JSON Schema, the answer's `value` has that form; the model is asked again once. A
        type is a struct, a dataclass, a pydantic model, or made of these.
        """
        return await self._run(prompt_command(text, images, output))

    async def steer(self, text: str, images: Sequence[Picture] = ()) -> None:
        """Say something to the run that goes on: the model hears it after the tool that runs. Raises NotRunning."""
        await self._opening.say(questions.said(text, images, "steer"))

    async def follow_up(self, text: str, images: Sequence[Picture] = ()) -> None:
        """Say something that the run that goes on sees to when it would otherwise end. Raises NotRunning."""
        await self._opening.say(questions.said(text, images, "follow_up"))

    async def abort(self) -> None:
        """Cancel what runs, if anything does, and drop what waits to be said to it. Its last events follow."""
        latest = self._ear.latest
        if latest is not None:
            await self._opening.call(latest.abort)
        await self._opening.ask(questions.abort())

    cancel = abort

    async def compact(self, instructions: str = "") -> str:
        """Replace all but the newest messages by a summary, and return it. Cancelling aborts it."""
        awaiting = self._follow(commands.Compact(instructions), streams=False)
        await awaiting.end()
        return awaiting.followed.summary

    async def bash(self, command: str, *, private: bool = False) -> BashRun:
        """Run a shell command, also beside a run. The model is shown it with the next prompt; if `private`, never.
        Cancelling kills it.
        """
        return await self._ask(questions.bash(command, private=private))

    async def list_commands(self) -> Sequence[SlashCommand]:
        """What can be said as `/name`: commands of extensions, templates, skills."""
        return await self._ask(questions.slash_commands())

    async def reload(self) -> None:
        """Read the extensions again. Raises BadInput while a run goes on."""
        await self._ask(questions.reload())

    async def abort_bash(self) -> None:
        """Kill what `bash` runs."""
        await self._opening.ask(questions.abort_bash())

    async def abort_retry(self) -> None:
        """Do not wait for the next try of a run that failed: let it have failed."""
        await self._opening.ask(questions.abort_retry())

    async def set_model(self, model: str) -> frames.ModelInfo:
        """`id` or `provider/id`, for the next prompt on. Raises UnknownModel."""
        first, *others = questions.set_model(model)
        try:
            return await self._ask(first)
        except UnknownModel:
            if not others:
                raise
        return await self._ask(others[0])

    async def cycle_model(self) -> frames.ModelInfo | None:
        """Take the next of the models that can be used. None if there is no other."""
        return await self._ask(questions.cycle_model())

    async def list_models(self, *, everywhere: bool = False) -> list[frames.ModelInfo]:
        """Of the present provider, or of every provider that there is a key for."""
        return await self._ask(questions.list_models(everywhere=everywhere))

    async def set_thinking(self, level: Reasoning) -> None:
        """How much the model thinks before it answers; the state's `thinking` is what it can do of that."""
        await self._ask(questions.set_thinking(level))

    async def cycle_thinking(self) -> Reasoning | None:
        """Take the next level, and return it. None if the model does not think."""
        return await self._ask(questions.cycle_thinking())

    async def set_steering_mode(self, mode: QueueMode) -> None:
        """Whether several steering messages are heard one by one or all at once."""
        await self._ask(questions.set_steering_mode(mode))

    async def set_follow_up_mode(self, mode: QueueMode) -> None:
        """Whether several follow-ups are heard one by one or all at once."""
        await self._ask(questions.set_follow_up_mode(mode))

    async def set_auto_compaction(self, enabled: bool) -> None:
        """Whether a conversation that grows too long is compacted by itself."""
        await self._ask(questions.set_auto_compaction(enabled=enabled))

    async def set_auto_retry(self, enabled: bool) -> None:
        """Whether a run that failed for a passing reason is tried again."""
        await self._ask(questions.set_auto_retry(enabled=enabled))

    async def clear(self) -> None:
        """Forget the conversation. A run that is under way ends without a trace."""
        await self._ask(questions.clear())

    async def state(self) -> State:
        return await self._ask(questions.state())

    async def messages(self) -> list[frames.Message]:
        """The conversation, as the model is shown it."""
        return await self._ask(questions.messages())

    async def cost(self) -> frames.Tokens:
        """Tokens and dollars so far."""
        return await self._ask(questions.cost())

    async def stats(self) -> Stats:
        return await self._ask(questions.stats())

    async def close(self) -> None:
        """Abort what runs and leave no child process behind. Idempotent."""
        await self._opening.close()

    async def _ask(self, question: Question[T]) -> T:
        """A run that somebody has left ends first: it is over for whoever asks."""
        if self._latest is not None and self._latest.followed.abandoned:
            await self._latest.ended()
        return await self._opening.ask(question)

    async def _run(self, prompt: commands.Prompt) -> Result[Any]:
        awaiting = self._follow(prompt, streams=False)
        await awaiting.end()
        return awaiting.followed.result

    def _follow(self, work: commands.Prompt | commands.Compact, *, streams: bool) -> Awaiting:
        """Raises Busy. What else may be wrong with it is raised where it is waited for."""
        loop = asyncio.get_running_loop()  # Before anything is started that nobody could follow.
        followed = Followed(self._ear, streams=streams, room=ROOM)
        self._ear.take_up(followed)
        self._host.loop = loop
        self._latest = awaiting = Awaiting(followed, loop)
        self._opening.follow(followed, work)
        return awaiting
