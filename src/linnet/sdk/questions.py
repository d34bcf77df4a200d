"""What can be asked of a runtime: a command, and how its answer is read. The faces differ in how they wait."""

import os
from collections.abc import Callable, Sequence
from typing import Any, Generic, Literal, TypeVar, get_args

from msgspec import UNSET, Struct, UnsetType

from linnet.core import commands
from linnet.core.events import QueueMode
from linnet.core.form import Form
from linnet.core.messages import AssistantMessage, BashRun, ToolResult, UserMessage
from linnet.core.models import Model, Reasoning
from linnet.core.sessions import OutlineEntry, SessionInfo
from linnet.core.slash import SlashCommand
from linnet.errors import BadInput, CalledOff
from linnet.runtime.config import Path
from linnet.runtime.settings import check_reasoning
from linnet.sdk.pictures import Picture, pictures
from linnet.wire.zot import answers, frames
from linnet.wire.zot.transcript import listed, tokens

T = TypeVar("T")
A = TypeVar("A")


class State(frames.StateData, frozen=True, kw_only=True):
    """What holds now. `pending` messages wait to be said to the model."""

    thinking: Reasoning
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    auto_compaction: bool
    auto_retry: bool
    streaming: bool
    compacting: bool
    pending: int
    session_id: str
    session_name: str = ""
    session_error: str = ""
    session_file: str | UnsetType = UNSET


class Stats(Struct, frozen=True, kw_only=True):
    """Of the conversation, as the model is shown it; `usage` and `cost` are of the whole session, in US dollars. `cost`
    is None if a price is not known.
    """

    user_messages: int
    assistant_messages: int
    tool_calls: int
    tool_results: int
    messages: int
    usage: frames.Tokens
    cost: float | None
    session_id: str
    session_file: str | None = None


class Question(Generic[T]):
    """A command, and how what it is answered with is read."""

    def __init__(self, command: commands.Command, kind: type[A], read: Callable[[A], T]) -> None:
        def checked(answer: commands.Answer) -> T:
            assert isinstance(answer, kind)
            return read(answer)

        self.command = command
        self.read = checked


def _told(command: commands.Command) -> Question[None]:
    return Question(command, object, lambda _: None)


def prompt_command(text: str, images: Sequence[Picture], output: Any = None) -> commands.Prompt:
    """`output` is a type or a JSON Schema, which the answer is to fit.

    Raises BadInput for a prompt that says nothing, for what is no image, and for an output that is neither.
    """
    if not text.strip() and not images:
        raise BadInput("a prompt needs a message or an image")
    return commands.Prompt(text, pictures(images), form=None if output is None else _form(output))


def _form(output: Any) -> Form:
    from linnet.core.output import Output  # Most prompts ask for words.

    return Output(output)


def said(text: str, images: Sequence[Picture], when: Literal["steer", "follow_up"]) -> commands.Prompt:
    prompt = prompt_command(text, images)
    return commands.Prompt(prompt.text, prompt.images, when, "refuse", slash="refuse")


def bash(command: str, *, private: bool = False) -> Question[BashRun]:
    if not command.strip():
        raise BadInput("a command cannot be empty")
    return Question(commands.Bash(command, private), commands.BashDone, lambda answer: answer.run)


def set_model(model: str) -> list[Question[frames.ModelInfo]]:
    """What to try, in order: an id of the present provider's, then `provider/id`."""
    provider, slash, id = model.partition("/")
    tries = [commands.SetModel(model), *([commands.SetModel(id, provider)] if slash else [])]
    return [Question(each, commands.ModelChosen, lambda answer: _model_info(answer.model)) for each in tries]


def cycle_model() -> Question[frames.ModelInfo | None]:
    return Question(
        commands.CycleModel(), commands.ModelCycled, lambda answer: _model_info(answer.model) if answer.model else None
    )


def list_models(*, everywhere: bool) -> Question[list[frames.ModelInfo]]:
    return Question(
        commands.GetModels(everywhere), commands.ModelList, lambda answer: [_model_info(each) for each in answer.models]
    )


def set_thinking(level: Reasoning) -> Question[None]:
    check_reasoning(level)
    return _told(commands.SetThinking(level))


def cycle_thinking() -> Question[Reasoning | None]:
    return Question(commands.CycleThinking(), commands.ThinkingCycled, lambda answer: answer.level)


def set_steering_mode(mode: QueueMode) -> Question[None]:
    return _told(commands.SetSteeringMode(_checked(mode)))


def set_follow_up_mode(mode: QueueMode) -> Question[None]:
    return _told(commands.SetFollowUpMode(_checked(mode)))


def set_auto_compaction(*, enabled: bool) -> Question[None]:
    return _told(commands.SetAutoCompaction(enabled))


def set_auto_retry(*, enabled: bool) -> Question[None]:
    return _told(commands.SetAutoRetry(enabled))


def abort() -> Question[None]:
    return _told(commands.Abort())


def abort_bash() -> Question[None]:
    return _told(commands.AbortBash())


def abort_retry() -> Question[None]:
    return _told(commands.AbortRetry())


def clear() -> Question[None]:
    return _told(commands.Clear())


def state() -> Question[State]:
    return Question(commands.GetState(), commands.State, _state)


def messages() -> Question[list[frames.Message]]:
    return Question(commands.GetMessages(), commands.Transcript, lambda answer: listed(answer.messages))


def cost() -> Question[frames.Tokens]:
    return Question(commands.GetState(), commands.State, lambda answer: tokens(answer.spent))


def stats() -> Question[Stats]:
    return Question(commands.GetStats(), commands.Stats, _stats)


def set_name(name: str) -> Question[None]:
    if not name.strip():
        raise BadInput("Session name cannot be empty")
    return _told(commands.SetSessionName(name))


def reload() -> Question[None]:
    return _told(commands.Reload())


def slash_commands() -> Question[Sequence[SlashCommand]]:
    return Question(commands.GetCommands(), commands.CommandList, lambda answer: answer.commands)


def _moved(command: commands.Move) -> Question[None]:
    return Question(command, object, _carried_out)


def _carried_out(answer: object) -> None:
    """Raises CalledOff."""
    if isinstance(answer, commands.SessionOpened | commands.Branched | commands.Navigated) and answer.cancelled:
        raise CalledOff


def _branched(answer: commands.Branched) -> str:
    _carried_out(answer)
    return answer.text


def new(parent: Path | None) -> Question[None]:
    return _moved(commands.NewSession(None if parent is None else os.fspath(parent)))


def switch(session: Path) -> Question[None]:
    return _moved(commands.SwitchSession(os.fspath(session)))


def branch(entry: str) -> Question[str]:
    return Question(commands.Branch(entry), commands.Branched, _branched)


def clone() -> Question[None]:
    return _moved(commands.CloneSession())


def navigate(entry: str | None) -> Question[None]:
    return _moved(commands.Navigate(entry))


def prompts() -> Question[Sequence[tuple[str, str]]]:
    return Question(commands.GetBranchMessages(), commands.BranchMessages, lambda answer: answer.messages)


def outline() -> Question[Sequence[OutlineEntry]]:
    return Question(commands.GetTree(), commands.Outline, lambda answer: answer.entries)


def entries(since: str | None) -> Question[Sequence[bytes]]:
    return Question(commands.GetEntries(since), commands.EntryList, lambda answer: answer.lines)


def listed_sessions(*, everywhere: bool) -> Question[Sequence[SessionInfo]]:
    return Question(commands.ListSessions(everywhere), commands.SessionList, lambda answer: answer.sessions)


def export_html(path: Path | None) -> Question[str]:
    command = commands.ExportHtml(None if path is None else os.fspath(path))
    return Question(command, commands.Exported, lambda answer: answer.path)


def _checked(mode: QueueMode) -> QueueMode:
    if mode not in get_args(QueueMode):
        raise BadInput(f'unknown mode "{mode}"; choose one of {", ".join(get_args(QueueMode))}')
    return mode


def _model_info(model: Model) -> frames.ModelInfo:
    return frames.ModelInfo(model.id, model.provider, model.context_window, model.max_output, model.reasoning)


def _state(answer: commands.State) -> State:
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


def _stats(answer: commands.Stats) -> Stats:
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
