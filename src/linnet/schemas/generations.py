"""What each generation of pi's protocol has of what linnet prints, asked of its row: events, and fields of objects."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from linnet.schemas.shapes import Presence
from linnet.wire.pi import frames, later_frames, responses, update_frames
from linnet.wire.pi.generations import Generation

Rule: TypeAlias = Callable[[Generation], Presence]


def _if(flag: str, then: Presence, otherwise: Presence = "never") -> Rule:
    return lambda generation: then if getattr(generation, flag) else otherwise


EVENTS: tuple[tuple[type[Struct], Callable[[Generation], bool]], ...] = (
    (frames.AgentStart, lambda g: True),
    (frames.AgentEnd, lambda g: True),
    (frames.AgentSettled, lambda g: True),
    (frames.TurnStart, lambda g: True),
    (frames.TurnEnd, lambda g: True),
    (frames.MessageStart, lambda g: True),
    (update_frames.MessageUpdate, lambda g: True),
    (frames.MessageEnd, lambda g: True),
    (frames.ToolExecutionStart, lambda g: True),
    (frames.ToolExecutionUpdate, lambda g: True),
    (frames.ToolExecutionEnd, lambda g: True),
    (frames.QueueUpdate, lambda g: True),
    (frames.AutoRetryStart, lambda g: True),
    (frames.AutoRetryEnd, lambda g: True),
    (frames.AutoCompactionStart, lambda g: g.compactions == "auto_compaction"),
    (frames.AutoCompactionEnd, lambda g: g.compactions == "auto_compaction"),
    (later_frames.CompactionStart, lambda g: g.compactions == "compaction"),
    (later_frames.CompactionEnd, lambda g: g.compactions == "compaction"),
    (later_frames.SummaryRetryScheduled, lambda g: g.summary_retries),
    (later_frames.SummaryRetryStart, lambda g: g.summary_retries),
    (later_frames.SummaryRetryFinished, lambda g: g.summary_retries),
    (later_frames.BashExecutionUpdate, lambda g: g.bash_updates),
    (later_frames.EntryAppended, lambda g: g.entries_told),
    (later_frames.ThinkingLevelChanged, lambda g: g.levels_told),
    (frames.SessionInfoChanged, lambda g: True),
    (frames.UiRequest, lambda g: True),
    (frames.HookError, lambda g: g.errors == "hook_error"),
    (later_frames.ExtensionError, lambda g: g.errors == "extension_error"),
    (frames.UiClosed, lambda g: True),  # Where there is none unasked, other clients of a server cause some.
    (frames.ToolRequest, lambda g: True),
    (frames.ToolRequestClosed, lambda g: True),
    (frames.Output, lambda g: True),
    (frames.SessionError, lambda g: g.additions),
    (frames.ProjectUntrusted, lambda g: g.additions),
    (update_frames.SessionHeader, lambda g: True),
)
"""Every event, and whether a generation tells it."""

_FIELDS: dict[tuple[type[Struct], str], Rule] = {
    (frames.AgentEnd, "will_retry"): _if("will_retry", "always"),
    (frames.AgentSettled, "aborted"): lambda g: "never" if g.settled == "bare" else "always",
    (frames.UserMessage, "attachments"): _if("attachments", "always"),
    (frames.AssistantMessage, "duration_ms"): _if("durations", "maybe"),
    (frames.ToolResultMessage, "duration_ms"): _if("durations", "maybe"),
    (frames.ToolExecutionEnd, "duration_ms"): _if("durations", "maybe"),
    (frames.ToolCall, "arguments_error"): _if("argument_errors", "maybe"),
    (frames.ToolCall, "unparsed"): lambda g: "never",  # On disk only, as the next.
    (frames.BashExecutionMessage, "raw_output"): lambda g: "never",
    (frames.BashExecutionMessage, "exit_code"): _if("cancelled_without_code", "maybe", "always"),
    (frames.BashExecutionMessage, "full_output_path"): _if("cancelled_without_code", "maybe", "always"),
    (frames.CustomMessage, "details"): lambda g: "maybe",
    (frames.ToolOutcome, "details"): _if("no_details", "always", "maybe"),
    (frames.Usage, "total_tokens"): lambda g: "always",
    (frames.QueueUpdate, "dropped"): _if("additions", "maybe"),
    (frames.CompactionResult, "estimated_tokens_after"): _if("compaction_sizes", "always"),
    (frames.CompactionResult, "usage"): _if("compaction_sizes", "always"),
    (update_frames.MessageUpdate, "usage"): _if("usage_in_updates", "always"),
    (update_frames.ToolcallStart, "id"): _if("call_starts_named", "always"),
    (update_frames.ToolcallStart, "tool_name"): _if("call_starts_named", "always"),
    (responses.BashData, "exit_code"): _if("cancelled_without_code", "maybe", "always"),
    (responses.StatsData, "context_usage"): _if("context_usage", "maybe"),
}
_LEGACY: dict[tuple[type[Struct], str], Presence] = {
    (frames.UserMessage, "attachments"): "maybe",
    (frames.Usage, "total_tokens"): "never",
}
_KINDS: dict[tuple[type[Struct], str], Any] = {
    (frames.UserMessage, "attachments"): list[dict[str, Any]],
    (frames.UserMessage, "content"): list[frames.UserBlock],
    (frames.ToolExecutionStart, "args"): dict[str, Any],
    (frames.ToolExecutionUpdate, "args"): dict[str, Any],
    (frames.ToolExecutionEnd, "result"): frames.ToolOutcome,
    (later_frames.EntryAppended, "entry"): dict[str, Any],
    (responses.EntriesData, "entries"): list[dict[str, Any]],
    (frames.CustomMessage, "content"): list[frames.UserBlock],
}


def presence(generation: Generation, *, legacy: bool = False) -> Callable[[type[Struct], str], Presence | None]:
    """Return what says whether an object of the generation has a field; None where its type says so."""

    def asked(kind: type[Struct], field: str) -> Presence | None:
        if legacy and (kind, field) in _LEGACY:
            return _LEGACY[kind, field]
        rule = _FIELDS.get((kind, field))
        return None if rule is None else rule(generation)

    return asked


def kinds(generation: Generation, *, legacy: bool = False) -> dict[tuple[type[Struct], str], Any]:
    """Return what fields are whose types say less, or more than the generation means."""
    found = dict(_KINDS)
    if legacy:
        for name in ((frames.UserMessage, "content"), (frames.ToolExecutionEnd, "result")):
            del found[name]
    if not generation.pending:
        found[frames.AssistantMessage, "stop_reason"] = Literal["stop", "length", "toolUse", "error", "aborted"]
    if generation.cancelled_without_code:
        found[frames.BashExecutionMessage, "exit_code"] = int
        found[frames.BashExecutionMessage, "full_output_path"] = str
        found[responses.BashData, "exit_code"] = int
    else:
        found[frames.BashExecutionMessage, "exit_code"] = int | None
        found[frames.BashExecutionMessage, "full_output_path"] = str | None
        found[responses.BashData, "exit_code"] = int | None
    if generation.no_details:
        found[frames.ToolOutcome, "details"] = dict[str, Any]
    return found
