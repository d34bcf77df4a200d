"""Decodes lines of the pi protocol into commands."""

from typing import Any, Literal, TypeAlias, get_args

from msgspec import Raw
from msgspec.structs import replace

from linnet.core import commands
from linnet.core.events import QueueMode
from linnet.core.models import Reasoning
from linnet.errors import BadInput
from linnet.wire.command_rows import SAVE, Row, may, must, or_null, row, table
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.fields import ABSENT, Field
from linnet.wire.jsonl import Overlong
from linnet.wire.pi.generations import PI, Generation
from linnet.wire.pi.line import ATTRIBUTES, Line, one_line, read

Stream: TypeAlias = Literal["full", "deltas"]


class Manner:
    """How one client wants to be told: `deltas` leaves the message so far out of the updates, `settled` says when a
    prompt is over. It may change at any time, and holds for the lines that are made from then on. With `shared`, there
    are other clients of the same agent.
    """

    __slots__ = ("settled", "shared", "stream")

    def __init__(self, stream: Stream = "full", *, settled: bool = False, shared: bool = False) -> None:
        self.stream = stream
        self.settled = settled
        self.shared = shared


class SetStream(commands.Ping, frozen=True):
    """Choose what updates carry, and whether the end of a prompt is told. None leaves it as it is.

    Only the dialect acts on this; for the runtime it is a ping.
    """

    mode: Stream | None = None
    settled: bool | None = None


def _set_stream(mode: Stream | None, settled: bool | None) -> SetStream:
    """Return what a client chooses. It may leave out the mode if it says `settled`. Raises BadInput."""
    return SetStream(_stream.required(ABSENT) if mode is None and settled is None else mode, settled)


def compact(instructions: str | None) -> commands.Compact:
    """Return pi's compaction, which aborts what runs."""
    return commands.Compact(instructions or "", at_once=True)


def unknown(name: str) -> BadInput:
    return BadInput(f"Unknown command: {name}")


def _named(name: str | None) -> commands.SetSessionName:
    named = (name or "").strip()
    if not named:
        raise BadInput("Session name cannot be empty")
    return commands.SetSessionName(named)


def _one_of(kind: Any) -> str:
    return f"one of {', '.join(get_args(kind))}"


_parent: Field[str] = Field("parentSession", str, "a path")
_provider: Field[str] = Field("provider", str, "the name of a provider")
_model: Field[str] = Field("modelId", str, "the id of a model")
_level: Field[Reasoning] = Field("level", Reasoning, _one_of(Reasoning))
_mode: Field[QueueMode] = Field("mode", QueueMode, _one_of(QueueMode))
_stream: Field[Stream] = Field("mode", Stream, _one_of(Stream))
_settled: Field[bool] = Field("settled", bool, "true or false")
_instructions: Field[str] = Field("customInstructions", str, "a string")
_enabled: Field[bool] = Field("enabled", bool, "true or false")
_command: Field[str] = Field("command", str, "a shell command, as a string that is not empty")
_excluded: Field[bool] = Field("excludeFromContext", bool, "true or false")
_session: Field[str] = Field("sessionPath", str, "the path of a session file, or the beginning of a session's id")
_output: Field[str] = Field("outputPath", str, "a path")
_entry: Field[str] = Field("entryId", str, "the id of an entry")
_since: Field[str] = Field("since", str, "the id of an entry")
_name: Field[str] = Field("name", str, "a string")
_all: Field[bool] = Field("all", bool, "true or false")

COMPACT = row(
    "compact",
    "Replace old messages by a summary; answered when it is there. A run that goes on is aborted.",
    compact,
    may(_instructions, "What the summary is to keep."),
    answer="CompactionResult",
)
_FORKED = must(_entry, "The entry of a message of the user's.")
ROWS = table(
    row("abort", "Cancel what runs.", commands.Abort),
    row("clear_queue", "Drop what waits to be said, and return it.", commands.ClearQueue, answer="QueueData"),
    row(
        "new_session",
        "Begin an empty session. What runs is aborted.",
        commands.NewSession,
        may(_parent, "The path of the session that it comes from."),
        answer="CancelledData",
    ),
    row("get_state", "Return the model, the modes, what runs and what waits.", commands.GetState, answer="StateData"),
    row("get_messages", "Return the conversation.", commands.GetMessages, answer="MessagesData"),
    row(
        "set_model",
        "Use another model.",
        lambda provider, model, save: commands.SetModel(model, provider, save or False),
        must(_provider, "The provider that has it."),
        must(_model, "The id of the model."),
        SAVE,
        answer="Model",
    ),
    row("cycle_model", "Go to the next model.", commands.CycleModel, answer="CycleModelData | None"),
    row(
        "get_available_models",
        "Return the models that can be used.",
        lambda: commands.GetModels(everywhere=True),
        answer="ModelsData",
    ),
    row(
        "set_thinking_level",
        "Say how much the model is to think.",
        lambda level, save: commands.SetThinking(level, save or False),
        must(_level, "One that the model has not becomes the nearest that it has."),
        SAVE,
    ),
    row("cycle_thinking_level", "Go to the next level of thinking.", commands.CycleThinking, answer="LevelData | None"),
    row(
        "get_available_thinking_levels",
        "Return the levels of thinking that the model has.",
        commands.GetThinkingLevels,
        answer="LevelsData",
    ),
    row(
        "set_steering_mode",
        "Say whether several steering messages are heard one by one or all at once.",
        lambda mode, save: commands.SetSteeringMode(mode, save or False),
        must(_mode, "How many are heard at once."),
        SAVE,
    ),
    row(
        "set_follow_up_mode",
        "Say whether several follow-ups are heard one by one or all at once.",
        lambda mode, save: commands.SetFollowUpMode(mode, save or False),
        must(_mode, "How many are heard at once."),
        SAVE,
    ),
    COMPACT,
    row(
        "set_auto_compaction",
        "Say whether a conversation that grows too long is compacted by itself.",
        lambda enabled, save: commands.SetAutoCompaction(enabled, save or False),
        must(_enabled, "Whether it is."),
        SAVE,
    ),
    row(
        "set_auto_retry",
        "Say whether a run that failed for a passing reason is tried again by itself.",
        lambda enabled, save: commands.SetAutoRetry(enabled, save or False),
        must(_enabled, "Whether it is."),
        SAVE,
    ),
    row("abort_retry", "Give up waiting for a retry.", commands.AbortRetry),
    row(
        "bash",
        "Run a shell command; answered when it has ended. The model reads of it with the next prompt.",
        lambda command, excluded: commands.Bash(command, excluded or False),
        must(_command, "The command."),
        may(_excluded, "The model is never told of it."),
        answer="BashData",
    ),
    row("abort_bash", "Kill the commands of `bash`, each of which is then answered.", commands.AbortBash),
    row(
        "get_session_stats",
        "Return counts of messages and tokens, and what the session has cost.",
        commands.GetStats,
        answer="StatsData",
    ),
    row(
        "export_html",
        "Write the session as a page.",
        lambda path: commands.ExportHtml(path or None),
        may(_output, "The file to write; otherwise it is named after the session."),
        answer="PathData",
    ),
    row(
        "switch_session",
        "Go on in another session. What runs is aborted.",
        commands.SwitchSession,
        must(_session, "The path of its file, or the beginning of its id."),
        answer="CancelledData",
    ),
    row(
        "branch",
        "Go on from before a message of the user's, in a session of its own. What runs is aborted.",
        commands.Branch,
        _FORKED,
        answer="BranchData",
    ),
    row(
        "fork",
        "Go on from before a message of the user's, in a session of its own. What runs is aborted.",
        commands.Branch,
        _FORKED,
        answer="BranchData",
    ),
    row(
        "clone",
        "Go on with the same conversation, in a session of its own. What runs is aborted.",
        commands.CloneSession,
        answer="CancelledData",
    ),
    row(
        "navigate",
        "Go on from another entry of this session. What runs is aborted.",
        commands.Navigate,
        or_null(_entry, "The entry; null is the beginning."),
        answer="NavigateData",
        added=True,
    ),
    row(
        "get_branch_messages",
        "Return the messages of the user's that `branch` takes.",
        commands.GetBranchMessages,
        answer="BranchMessagesData",
    ),
    row(
        "get_fork_messages",
        "Return the messages of the user's that `fork` takes.",
        commands.GetBranchMessages,
        answer="BranchMessagesData",
    ),
    row(
        "get_entries",
        "Return the entries of the session as they stand in its file, without its header.",
        commands.GetEntries,
        may(_since, "Those after this entry; otherwise all."),
        answer="EntriesData",
    ),
    row("get_tree", "Return the entries of the session as a tree.", commands.GetTree, answer="TreeData"),
    row(
        "get_last_assistant_text",
        "Return what the agent said last; null if it said nothing.",
        commands.GetLastText,
        answer="TextData",
    ),
    row("set_session_name", "Name the session.", _named, may(_name, "The name; not empty.", needed=True)),
    row(
        "get_commands",
        "Return what a user may type as `/name`: commands of extensions, templates, skills.",
        commands.GetCommands,
        answer="CommandsData",
    ),
    row(
        "list_sessions",
        "Return this folder's sessions, the newest first.",
        lambda everywhere: commands.ListSessions(everywhere or False),
        may(_all, "Those of all folders."),
        answer="SessionsData",
        added=True,
    ),
    row("reload", "Read the extensions again, between runs.", commands.Reload, added=True),
    row(
        "set_stream",
        "Choose what updates of a message carry, and whether the end of a prompt is told.",
        _set_stream,
        may(_stream, "`full` repeats the message so far; `deltas` has only what is new. Needed without `settled`."),
        may(_settled, "Whether `agent_settled` is told."),
        added=True,
    ),
)
_PROMPTS = ("prompt", "steer", "follow_up")
_REPLIES = ("extension_ui_response", "tool_response", "tool_response_progress", "set_tools", "trust")


def decode(line: bytes | Overlong, generation: Generation = PI) -> Asked | Rejected:
    """Return the command in a line, or why there is none. Never raises."""
    return read(line, lambda name, fields: _understand(name, fields, generation))


def _understand(name: str, fields: Line, generation: Generation) -> commands.Command:
    if name not in generation.commands:
        raise unknown(name)
    return _meant(_row(name).command(fields, ATTRIBUTES), fields.id, generation)


def _row(name: str) -> Row:
    """Return the row of this command. What the first answer does not need is imported for it."""
    if name in _PROMPTS:
        from linnet.wire.pi.prompts import PROMPTS

        return PROMPTS[name]
    if name in _REPLIES:
        from linnet.wire.pi.questions import REPLIES

        return REPLIES[name]
    return ROWS[name]


def rows(generation: Generation = PI) -> list[Row]:
    """Return all commands that this generation has."""
    names = (*_PROMPTS, *ROWS, *_REPLIES)
    return [_row(name) for name in names if name in generation.commands]


def _meant(command: commands.Command, id: Raw, generation: Generation) -> commands.Command:
    """Return the command with what the generation means by it and does not say."""
    match command:
        case commands.Prompt():
            return replace(command, shown_first=generation.queue_told_first)
        case commands.Abort():
            return commands.Abort(keep=generation.queue_after_abort == "kept", wait=generation.abort_waits)
        case commands.Bash() if generation.bash_updates:
            return replace(command, request=bytes(one_line(id)))
        case commands.GetTree():
            return commands.GetTree(whole=generation.tree == "nested")
        case _:
            return command
