"""Decodes lines of the pi protocol into commands."""

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from msgspec.structs import replace

from linnet.core import commands
from linnet.core.events import QueueMode
from linnet.core.models import Reasoning
from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.fields import Field, saving
from linnet.wire.jsonl import Overlong
from linnet.wire.pi.generations import PI, Generation
from linnet.wire.pi.line import Line, one_line, read

if TYPE_CHECKING:
    from linnet.core.form import Form
    from linnet.wire.pi.prompts import WhenBusy

Stream: TypeAlias = Literal["full", "deltas"]
_Behavior: TypeAlias = Literal["steer", "followUp"]


class Manner:
    """How one client wants to be told: `deltas` leaves the message so far out of the updates, `settled` says when a
    prompt is over. It may change at any time, and holds for the lines that are made from then on.
    """

    __slots__ = ("settled", "stream")

    def __init__(self, stream: Stream = "full", *, settled: bool = False) -> None:
        self.stream = stream
        self.settled = settled


class SetStream(commands.Ping, frozen=True):
    """Choose what updates carry, and whether the end of a prompt is told. None leaves it as it is.

    Only the dialect acts on this; for the runtime it is a ping.
    """

    mode: Stream | None = None
    settled: bool | None = None


def _one_of(values: tuple[str, ...]) -> str:
    return f"one of {', '.join(values)}"


_text = decoder_of(str)
_behavior: Field[_Behavior] = Field("streamingBehavior", decoder_of(_Behavior), _one_of(get_args(_Behavior)))
_parent: Field[str] = Field("parentSession", _text, "a path")
_provider: Field[str] = Field("provider", _text, "the name of a provider")
_model: Field[str] = Field("modelId", _text, "the id of a model")
_level: Field[Reasoning] = Field("level", decoder_of(Reasoning), _one_of(get_args(Reasoning)))
_mode: Field[QueueMode] = Field("mode", decoder_of(QueueMode), _one_of(get_args(QueueMode)))
_stream: Field[Stream] = Field("mode", decoder_of(Stream), _one_of(get_args(Stream)))
_settled: Field[bool] = Field("settled", decoder_of(bool), "true or false")
_instructions: Field[str] = Field("customInstructions", _text, "a string")
_enabled: Field[bool] = Field("enabled", decoder_of(bool), "true or false")
_command: Field[str] = Field("command", _text, "a shell command, as a string that is not empty")
_excluded: Field[bool] = Field("excludeFromContext", decoder_of(bool), "true or false")

_session: Field[str] = Field("sessionPath", _text, "the path of a session file, or the beginning of a session's id")
_output: Field[str] = Field("outputPath", _text, "a path")
_entry: Field[str] = Field("entryId", _text, "the id of an entry")
_since: Field[str] = Field("since", _text, "the id of an entry")
_name: Field[str] = Field("name", _text, "a string")
_all: Field[bool] = Field("all", decoder_of(bool), "true or false")

_BEHAVIORS: "dict[_Behavior | None, WhenBusy]" = {None: "refuse", "steer": "steer", "followUp": "follow_up"}
_BARE: dict[str, commands.Command] = {
    "clear_queue": commands.ClearQueue(),
    "get_state": commands.GetState(),
    "get_messages": commands.GetMessages(),
    "cycle_model": commands.CycleModel(),
    "get_available_models": commands.GetModels(everywhere=True),
    "get_available_thinking_levels": commands.GetThinkingLevels(),
    "cycle_thinking_level": commands.CycleThinking(),
    "abort_retry": commands.AbortRetry(),
    "abort_bash": commands.AbortBash(),
    "get_session_stats": commands.GetStats(),
    "get_last_assistant_text": commands.GetLastText(),
    "get_branch_messages": commands.GetBranchMessages(),
    "get_fork_messages": commands.GetBranchMessages(),
    "get_commands": commands.GetCommands(),
    "reload": commands.Reload(),
    "clone": commands.CloneSession(),
}


def decode(line: bytes | Overlong, generation: Generation = PI) -> Asked | Rejected:
    """Return the command in a line, or why there is none. Never raises."""
    return read(line, lambda name, fields: _understand(name, fields, generation))


def _understand(name: str, fields: Line, generation: Generation) -> commands.Command:
    if name not in generation.commands:
        raise unknown(name)
    bare = _BARE.get(name)
    if bare is not None:
        return bare
    match name:
        case "abort":
            return commands.Abort(keep=generation.queue_after_abort == "kept", wait=generation.abort_waits)
        case "prompt":
            behavior = _BEHAVIORS[_behavior.optional(fields.streaming_behavior)]
            return replace(_prompt(fields, behavior, "at_once"), shown_first=generation.queue_told_first)
        case "steer" | "follow_up":
            return replace(_prompt(fields, name, "refuse"), shown_first=generation.queue_told_first)
        case "new_session":
            return commands.NewSession(_parent.optional(fields.parent_session))
        case "set_model":
            provider = _provider.required(fields.provider)
            return commands.SetModel(_model.required(fields.model_id), provider, saving(fields.save))
        case "set_thinking_level":
            return commands.SetThinking(_level.required(fields.level), saving(fields.save))
        case "set_steering_mode":
            return commands.SetSteeringMode(_mode.required(fields.mode), saving(fields.save))
        case "set_follow_up_mode":
            return commands.SetFollowUpMode(_mode.required(fields.mode), saving(fields.save))
        case "compact":
            return compact(fields)
        case "set_auto_compaction":
            return commands.SetAutoCompaction(_enabled.required(fields.enabled), saving(fields.save))
        case "set_auto_retry":
            return commands.SetAutoRetry(_enabled.required(fields.enabled), saving(fields.save))
        case "bash":
            excluded = _excluded.optional(fields.exclude_from_context) or False
            request = bytes(one_line(fields.id)) if generation.bash_updates else None
            return commands.Bash(_command.required(fields.command), excluded, request)
        case "switch_session":
            return commands.SwitchSession(_session.required(fields.session_path))
        case "branch" | "fork":
            return commands.Branch(_entry.required(fields.entry_id))
        case "navigate":
            return _navigate(fields)
        case "get_tree":
            return commands.GetTree(whole=generation.tree == "nested")
        case "get_entries":
            return commands.GetEntries(_since.optional(fields.since))
        case "set_session_name":
            return _named(fields)
        case "list_sessions":
            return commands.ListSessions(_all.optional(fields.all) or False)
        case "export_html":
            return commands.ExportHtml(_output.optional(fields.output_path) or None)
        case "set_stream":
            return _set_stream(fields)
        case "extension_ui_response" | "tool_response" | "tool_response_progress" | "set_tools" | "trust":
            from linnet.wire.pi.questions import REPLIES  # Most clients are asked nothing.

            return REPLIES[name](fields)
        case _:
            raise unknown(name)


def _set_stream(fields: Line) -> SetStream:
    """Return what a client chooses. It may leave out the mode if it says `settled`. Raises BadInput."""
    settled = _settled.optional(fields.settled)
    return SetStream(_stream.required(fields.mode) if settled is None else _stream.optional(fields.mode), settled)


def compact(fields: Line) -> commands.Compact:
    """Return pi's compaction, which aborts what runs. Raises BadInput."""
    return commands.Compact(_instructions.optional(fields.custom_instructions) or "", at_once=True)


def unknown(name: str) -> BadInput:
    return BadInput(f"Unknown command: {name}")


def _navigate(fields: Line) -> commands.Navigate:
    """Return the move to an entry; an id of null means the place before the first. Raises BadInput."""
    to_the_beginning = bytes(fields.entry_id) == b"null"
    return commands.Navigate(None if to_the_beginning else _entry.required(fields.entry_id))


def _named(fields: Line) -> commands.SetSessionName:
    name = (_name.optional(fields.name) or "").strip()
    if not name:
        raise BadInput("Session name cannot be empty")
    return commands.SetSessionName(name)


def _prompt(fields: Line, when_busy: "WhenBusy", slash: Literal["at_once", "refuse"]) -> commands.Prompt:
    from linnet.wire.pi.prompts import prompt  # The first answer needs none of it.

    said = prompt(fields, when_busy, slash)
    form = _form(fields)
    if form is not None and when_busy != "refuse":
        raise BadInput("`outputSchema` is for a prompt that begins a run, not for one that is said to a run")
    return said if form is None else replace(said, form=form)


def _form(fields: Line) -> "Form | None":
    schema = fields.output_schema or fields.output_schema_snake
    if not bytes(schema):
        return None
    from linnet.wire.output_schema import form  # Most prompts ask for words.

    return form(schema, "outputSchema")
