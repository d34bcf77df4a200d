"""The methods of Runtime and AsyncRuntime, each written once: its signature, its command, and how the answer
is read.
"""

from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, get_args, overload

from msgspec import UNSET, Struct, UnsetType

from linnet.core import commands
from linnet.core.events import QueueMode
from linnet.core.messages import AssistantMessage, BashRun, ToolResult, UserMessage
from linnet.core.models import Model, Reasoning
from linnet.core.slash import SlashCommand
from linnet.errors import BadInput, UnknownModel
from linnet.faces import Steps, once, once_overloaded
from linnet.runtime.settings.checks import check_reasoning
from linnet.sdk.prompts import Picture, message_command, prompt_command
from linnet.sdk.result import Result
from linnet.sdk.waiting import Asking
from linnet.wire.zot import answers, frames
from linnet.wire.zot.transcript import listed, tokens

if TYPE_CHECKING:
    from linnet.faces import Awaits, Blocks

T = TypeVar("T")


class State(frames.StateData, frozen=True, kw_only=True):
    """The state of a runtime: that of the zot protocol, and more."""

    thinking: Reasoning
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    auto_compaction: bool
    auto_retry: bool
    streaming: bool
    compacting: bool
    pending: int
    """Messages that wait to be said to the model."""
    session_id: str
    session_name: str = ""
    session_error: str = ""
    session_file: str | UnsetType = UNSET


class Stats(Struct, frozen=True, kw_only=True):
    """Counts of the conversation, as the model is shown it, and the cost of the session."""

    user_messages: int
    assistant_messages: int
    tool_calls: int
    tool_results: int
    messages: int
    usage: frames.Tokens
    """Of the whole session."""
    cost: float | None
    """Of the whole session, in US dollars; None if a price is not known."""
    session_id: str
    session_file: str | None = None


class RuntimeMethods(Asking):
    """The methods that Runtime and AsyncRuntime share: all but `prompt`, for which one waits until the run
    has begun.
    """

    @overload
    def run(self: "Blocks", text: str, images: Sequence[Picture] = ()) -> Result[None]: ...
    @overload
    def run(self: "Blocks", text: str, images: Sequence[Picture] = (), *, output: type[T]) -> Result[T]: ...
    @overload
    def run(self: "Blocks", text: str, images: Sequence[Picture] = (), *, output: Mapping[str, Any]) -> Result[Any]: ...
    @overload
    def run(self: "Awaits", text: str, images: Sequence[Picture] = ()) -> Coroutine[Any, Any, Result[None]]: ...
    @overload
    def run(
        self: "Awaits", text: str, images: Sequence[Picture] = (), *, output: type[T]
    ) -> Coroutine[Any, Any, Result[T]]: ...
    @overload
    def run(
        self: "Awaits", text: str, images: Sequence[Picture] = (), *, output: Mapping[str, Any]
    ) -> Coroutine[Any, Any, Result[Any]]: ...
    @once_overloaded
    def run(
        self, text: str, images: Sequence[Picture] = (), *, output: type[Any] | Mapping[str, Any] | None = None
    ) -> Steps[Result[Any]]:
        """Run a prompt to its end. A run that fails raises nothing: its result says so. Cancelling aborts it.

        With `output`, a type or a JSON Schema, the answer's `value` has that form; the model is asked again once. A
        type is a struct, a dataclass, a pydantic model, or made of these.
        """
        return (yield from self._waits.follow(prompt_command(text, images, output))).result

    @once
    def steer(self, text: str, images: Sequence[Picture] = ()) -> Steps[None]:
        """Say something to the run that goes on: the model hears it after the tool that runs. Raises NotRunning."""
        message = message_command(text, images, "steer")
        yield from self._ask(message, commands.Accepted)

    @once
    def follow_up(self, text: str, images: Sequence[Picture] = ()) -> Steps[None]:
        """Say something that the run that goes on sees to when it would otherwise end. Raises NotRunning."""
        message = message_command(text, images, "follow_up")
        yield from self._ask(message, commands.Accepted)

    @once
    def abort(self) -> Steps[None]:
        """Cancel what runs, if anything does, and drop what waits to be said to it. Its last events follow."""
        latest = self._waits.latest
        if latest is not None:  # It may not have been submitted yet, so that no session knows of it.
            yield from self._waits.do(lambda _: latest.abort())
        yield from self._tell(commands.Abort())

    cancel = abort

    @once
    def compact(self, instructions: str = "") -> Steps[str]:
        """Replace all but the newest messages by a summary, and return it. Cancelling aborts it."""
        return (yield from self._waits.follow(commands.Compact(instructions))).summary

    @once
    def bash(self, command: str, *, private: bool = False) -> Steps[BashRun]:
        """Run a shell command, also beside a run. The model is shown it with the next prompt; if `private`, never.
        Cancelling kills it.
        """
        if not command.strip():
            raise BadInput("a command cannot be empty")
        return (yield from self._ask(commands.Bash(command, private), commands.BashDone)).run

    @once
    def abort_bash(self) -> Steps[None]:
        """Kill what `bash` runs."""
        yield from self._tell(commands.AbortBash())

    @once
    def abort_retry(self) -> Steps[None]:
        """Give up the wait for the next try of a run that failed: it has failed."""
        yield from self._tell(commands.AbortRetry())

    @once
    def set_model(self, model: str) -> Steps[frames.ModelInfo]:
        """Use another model from the next prompt on: `id` or `provider/id`. Raises UnknownModel."""
        provider, slash, id = model.partition("/")
        try:  # An id may have a slash of its own.
            return _model_info((yield from self._ask(commands.SetModel(model), commands.ModelChosen)).model)
        except UnknownModel:
            if not slash:
                raise
        return _model_info((yield from self._ask(commands.SetModel(id, provider), commands.ModelChosen)).model)

    @once
    def cycle_model(self) -> Steps[frames.ModelInfo | None]:
        """Take the next of the models that can be used, and return it. None if there is no other."""
        model = (yield from self._ask(commands.CycleModel(), commands.ModelCycled)).model
        return _model_info(model) if model else None

    @once
    def list_models(self, *, everywhere: bool = False) -> Steps[list[frames.ModelInfo]]:
        """Return the models of the present provider, or of every provider that there is a key for."""
        answer = yield from self._ask(commands.GetModels(everywhere), commands.ModelList)
        return [_model_info(each) for each in answer.models]

    @once
    def list_commands(self) -> Steps[Sequence[SlashCommand]]:
        """Return what can be said as `/name`: commands of extensions, templates, skills."""
        return (yield from self._ask(commands.GetCommands(), commands.CommandList)).commands

    @once
    def reload(self) -> Steps[None]:
        """Read the extensions again. Raises BadInput while a run goes on."""
        yield from self._tell(commands.Reload())

    @once
    def set_thinking(self, level: Reasoning) -> Steps[None]:
        """Say how much the model thinks before it answers; the state's `thinking` is what it can do of that."""
        check_reasoning(level)
        yield from self._tell(commands.SetThinking(level))

    @once
    def cycle_thinking(self) -> Steps[Reasoning | None]:
        """Take the next level of thinking, and return it. None if the model does not think."""
        return (yield from self._ask(commands.CycleThinking(), commands.ThinkingCycled)).level

    @once
    def set_steering_mode(self, mode: QueueMode) -> Steps[None]:
        """Say whether several steering messages are heard one by one or all at once."""
        yield from self._tell(commands.SetSteeringMode(_checked(mode)))

    @once
    def set_follow_up_mode(self, mode: QueueMode) -> Steps[None]:
        """Say whether several follow-ups are heard one by one or all at once."""
        yield from self._tell(commands.SetFollowUpMode(_checked(mode)))

    @once
    def set_auto_compaction(self, enabled: bool) -> Steps[None]:
        """Say whether a conversation that grows too long is compacted by itself."""
        yield from self._tell(commands.SetAutoCompaction(enabled))

    @once
    def set_auto_retry(self, enabled: bool) -> Steps[None]:
        """Say whether a run that failed for a passing reason is tried again."""
        yield from self._tell(commands.SetAutoRetry(enabled))

    @once
    def clear(self) -> Steps[None]:
        """Forget the conversation. A run that is under way ends without a trace."""
        yield from self._tell(commands.Clear())

    @once
    def state(self) -> Steps[State]:
        """Return what holds now: model, modes, what waits, what it has cost."""
        return _state((yield from self._ask(commands.GetState(), commands.AgentState)))

    @once
    def messages(self) -> Steps[list[frames.Message]]:
        """Return the conversation, as the model is shown it."""
        return listed((yield from self._ask(commands.GetMessages(), commands.Transcript)).messages)

    @once
    def cost(self) -> Steps[frames.Tokens]:
        """Return the tokens and dollars that were spent so far."""
        return tokens((yield from self._ask(commands.GetState(), commands.AgentState)).spent)

    @once
    def stats(self) -> Steps[Stats]:
        """Return how many messages of each kind there are, and what the session has cost."""
        return _stats((yield from self._ask(commands.GetStats(), commands.SessionStats)))

    @once
    def close(self) -> Steps[None]:
        """Abort what runs and leave no child process behind. Idempotent."""
        yield from self._waits.close()


def _checked(mode: QueueMode) -> QueueMode:
    """Return the mode. Raises BadInput if there is none of that name."""
    if mode not in get_args(QueueMode):
        raise BadInput(f'unknown mode "{mode}"; choose one of {", ".join(get_args(QueueMode))}')
    return mode


def _model_info(model: Model) -> frames.ModelInfo:
    """Return what a program is told of a model."""
    return frames.ModelInfo(model.id, model.provider, model.context_window, model.max_output, model.reasoning)


def _state(answer: commands.AgentState) -> State:
    """Return the state as a program reads it: zot's fields, and those that zot has no words for."""
    data = answers.state(answer)
    return State(
        data.provider,
        data.model,
        data.cwd,
        data.message_count,
        data.busy,
        data.usage,
        session_file=data.session_file,
        sandbox=data.sandbox,
        waiting_for=data.waiting_for,
        thinking=answer.thinking,
        steering_mode=answer.steering_mode,
        follow_up_mode=answer.follow_up_mode,
        auto_compaction=answer.auto_compaction,
        auto_retry=answer.auto_retry,
        streaming=answer.streaming,
        compacting=answer.compacting,
        pending=answer.pending,
        session_id=answer.session_id,
        session_name=answer.session_name,
        session_error=answer.session_error,
    )


def _stats(answer: commands.SessionStats) -> Stats:
    """Count the messages of a conversation by kind, beside what the session has cost."""
    replies = [message for message in answer.messages if isinstance(message, AssistantMessage)]
    used = tokens(answer.spent)
    return Stats(
        user_messages=sum(isinstance(message, UserMessage) for message in answer.messages),
        assistant_messages=len(replies),
        tool_calls=sum(len(reply.calls) for reply in replies),
        tool_results=sum(isinstance(message, ToolResult) for message in answer.messages),
        messages=len(answer.messages),
        usage=used,
        cost=used.cost_usd if used.cost_known else None,
        session_id=answer.session_id,
        session_file=answer.session_file,
    )
