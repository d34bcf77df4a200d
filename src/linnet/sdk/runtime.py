"""The synchronous face of the runtime."""

import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Thread, current_thread
from types import TracebackType
from typing import Any, TypeVar, overload

from linnet.core import commands
from linnet.core.events import QueueMode
from linnet.core.messages import BashRun
from linnet.core.models import Reasoning
from linnet.core.slash import SlashCommand
from linnet.errors import UnknownModel
from linnet.sdk import questions
from linnet.sdk.answer import ask, say
from linnet.sdk.beside import beside
from linnet.sdk.configured import Configured
from linnet.sdk.events import Event
from linnet.sdk.follow import Ear, Followed
from linnet.sdk.pictures import Picture
from linnet.sdk.questions import State, Stats, prompt_command
from linnet.sdk.result import Result
from linnet.sdk.sessions import Sessions
from linnet.wire.zot import frames

Self = TypeVar("Self", bound="Runtime")
T = TypeVar("T")
CLOSING = 5.0  # How long, at most, letting go of a run waits for its end.
BATCH = 256  # Events that are taken at once.


class Run(Iterator[Event]):
    """The events of one run, up to its last. Letting go of it before the end aborts the run; so does leaving `with`."""

    def __init__(self, followed: Followed) -> None:
        self._followed = followed
        self._stream = followed.stream
        self._taken: deque[Event] = deque()

    def __next__(self) -> Event:
        if not self._taken:
            self._taken.extend(self._stream.take(BATCH, block=True))
        if not self._taken:
            raise StopIteration
        return self._taken.popleft()

    def __enter__(self) -> "Run":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def result(self) -> Result[Any]:
        """What came of it. Raises BadInput before the run has ended."""
        return self._followed.result

    def close(self) -> None:
        """Abort the run, if it has not ended, and wait until it has."""
        self._taken.clear()
        if self._stream.has_ended:
            self._stream.close()
        elif not sys.is_finalizing():  # Or else its thread is gone, and nobody would ever say that it has ended.
            self._end()

    def __del__(self) -> None:
        """Wherever that happens: it may be in the run's own thread, or while somebody holds a lock."""
        if not hasattr(self, "_taken") or self._stream.has_ended or sys.is_finalizing():
            return
        closing = Thread(target=self._end, name="linnet-closing", daemon=True)
        closing.start()
        if not current_thread().name.startswith("linnet-"):
            closing.join(CLOSING)

    def _end(self) -> None:
        try:
            beside.do(self._followed.abandon)
            self._stream.wait()
        except BaseException:  # An interrupt, of which nobody knows how far we were.
            self._followed.let_go()
            raise


class Runtime(Configured):
    """A folder, a model, a conversation. One prompt at a time: a second one raises Busy. Safe to use from any thread.

    >>> with Runtime(provider="scripted") as runtime:
    ...     print(runtime.run("hello").text)
    """

    def _set_up(self) -> None:
        with suppress(RuntimeError):
            beside.start()
        self._ear = Ear()
        self._session = self._open_session(self._ear)
        self._sessions = Sessions(self._session)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def sessions(self) -> Sessions:
        """Where the conversation is kept, and all that can be done with that."""
        return self._sessions

    def prompt(
        self, text: str, images: Sequence[Picture] = (), *, output: type[Any] | Mapping[str, Any] | None = None
    ) -> Run:
        """Start a run and iterate over its events. Images are paths, bytes or `Image`s; `output`: see `run`."""
        command = prompt_command(text, images, output)
        followed = Followed(self._ear, streams=True)
        try:
            self._begin(followed, command)
            followed.check()
            return Run(followed)
        except BaseException:  # KeyboardInterrupt, say: nobody would ever take its events.
            followed.let_go()
            raise

    @overload
    def run(self, text: str, images: Sequence[Picture] = ()) -> Result[None]: ...

    @overload
    def run(self, text: str, images: Sequence[Picture] = (), *, output: type[T]) -> Result[T]: ...

    @overload
    def run(self, text: str, images: Sequence[Picture] = (), *, output: Mapping[str, Any]) -> Result[Any]: ...

    def run(
        self, text: str, images: Sequence[Picture] = (), *, output: type[Any] | Mapping[str, Any] | None = None
    ) -> Result[Any]:
        """Run a prompt to its end. A run that fails raises nothing: its result says so.

        With `output`, a type or a JSON Schema, the answer's `value` has that form; the model is asked again once. A
        type is a struct, a dataclass, a pydantic model, or made of these.
        """
        return self._run(prompt_command(text, images, output))

    def steer(self, text: str, images: Sequence[Picture] = ()) -> None:
        """Say something to the run that goes on: the model hears it after the tool that runs. Raises NotRunning."""
        say(self._session, questions.said(text, images, "steer"))

    def follow_up(self, text: str, images: Sequence[Picture] = ()) -> None:
        """Say something that the run that goes on sees to when it would otherwise end. Raises NotRunning."""
        say(self._session, questions.said(text, images, "follow_up"))

    def abort(self) -> None:
        """Cancel what runs, if anything does, and drop what waits to be said to it. Its last events follow."""
        latest = self._ear.latest
        if latest is not None:
            beside.do(latest.abort)
        ask(self._session, questions.abort())

    cancel = abort

    def compact(self, instructions: str = "") -> str:
        """Replace all but the newest messages by a summary, and return it."""
        return self._followed(commands.Compact(instructions)).summary

    def bash(self, command: str, *, private: bool = False) -> BashRun:
        """Run a shell command, also beside a run. The model is shown it with the next prompt; if `private`, never."""
        return ask(self._session, questions.bash(command, private=private))

    def abort_bash(self) -> None:
        """Kill what `bash` runs."""
        ask(self._session, questions.abort_bash())

    def abort_retry(self) -> None:
        """Do not wait for the next try of a run that failed: let it have failed."""
        ask(self._session, questions.abort_retry())

    def set_model(self, model: str) -> frames.ModelInfo:
        """`id` or `provider/id`, for the next prompt on. Raises UnknownModel."""
        first, *others = questions.set_model(model)
        try:
            return ask(self._session, first)
        except UnknownModel:
            if not others:
                raise
        return ask(self._session, others[0])

    def cycle_model(self) -> frames.ModelInfo | None:
        """Take the next of the models that can be used. None if there is no other."""
        return ask(self._session, questions.cycle_model())

    def list_models(self, *, everywhere: bool = False) -> list[frames.ModelInfo]:
        """Of the present provider, or of every provider that there is a key for."""
        return ask(self._session, questions.list_models(everywhere=everywhere))

    def list_commands(self) -> Sequence[SlashCommand]:
        """What can be said as `/name`: commands of extensions, templates, skills."""
        return ask(self._session, questions.slash_commands())

    def reload(self) -> None:
        """Read the extensions again. Raises BadInput while a run goes on."""
        ask(self._session, questions.reload())

    def set_thinking(self, level: Reasoning) -> None:
        """How much the model thinks before it answers; `state().thinking` is what it can do of that."""
        ask(self._session, questions.set_thinking(level))

    def cycle_thinking(self) -> Reasoning | None:
        """Take the next level, and return it. None if the model does not think."""
        return ask(self._session, questions.cycle_thinking())

    def set_steering_mode(self, mode: QueueMode) -> None:
        """Whether several steering messages are heard one by one or all at once."""
        ask(self._session, questions.set_steering_mode(mode))

    def set_follow_up_mode(self, mode: QueueMode) -> None:
        """Whether several follow-ups are heard one by one or all at once."""
        ask(self._session, questions.set_follow_up_mode(mode))

    def set_auto_compaction(self, enabled: bool) -> None:
        """Whether a conversation that grows too long is compacted by itself."""
        ask(self._session, questions.set_auto_compaction(enabled=enabled))

    def set_auto_retry(self, enabled: bool) -> None:
        """Whether a run that failed for a passing reason is tried again."""
        ask(self._session, questions.set_auto_retry(enabled=enabled))

    def clear(self) -> None:
        """Forget the conversation. A run that is under way ends without a trace."""
        ask(self._session, questions.clear())

    def state(self) -> State:
        return ask(self._session, questions.state())

    def messages(self) -> list[frames.Message]:
        """The conversation, as the model is shown it."""
        return ask(self._session, questions.messages())

    def cost(self) -> frames.Tokens:
        """Tokens and dollars so far."""
        return ask(self._session, questions.cost())

    def stats(self) -> Stats:
        return ask(self._session, questions.stats())

    def close(self) -> None:
        """Abort what runs and leave no child process behind. Idempotent."""
        if not sys.is_finalizing():  # Or else the other threads are gone, with whatever locks they held.
            beside.do(lambda: self._session.close(timeout=5))

    def _run(self, prompt: commands.Prompt) -> Result[Any]:
        return self._followed(prompt).result

    def _followed(self, work: commands.Prompt | commands.Compact) -> Followed:
        """See it through to its end."""
        followed = Followed(self._ear, streams=False)
        try:
            self._begin(followed, work)
            followed.stream.wait()
        except BaseException:  # KeyboardInterrupt, say: nobody would ever take up its result.
            followed.let_go()
            raise
        return followed

    def _begin(self, followed: Followed, work: commands.Prompt | commands.Compact) -> None:
        self._ear.take_up(followed)
        beside.do(lambda: followed.submit(self._session, work))
