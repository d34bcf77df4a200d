"""The generations of pi's protocol as data: what each one says, and how it spells it.

A generation is the one before it with some fields replaced, so that a new one is as long as what has changed. Decoder,
encoder and answers ask the generation that they were made for, and know no version by its number.
"""

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

Name: TypeAlias = Literal["pi", "pi-0.73", "pi-0.87", "pi-1"]

_ADDED = frozenset(
    (
        "list_sessions",
        "navigate",
        "reload",
        "set_stream",
        "set_tools",
        "tool_response",
        "tool_response_progress",
        "trust",
    )
)
"""Commands that only linnet has."""
_FIRST = frozenset(
    (
        "prompt",
        "steer",
        "follow_up",
        "abort",
        "new_session",
        "get_state",
        "get_messages",
        "set_model",
        "cycle_model",
        "get_available_models",
        "set_thinking_level",
        "cycle_thinking_level",
        "set_steering_mode",
        "set_follow_up_mode",
        "compact",
        "set_auto_compaction",
        "set_auto_retry",
        "abort_retry",
        "bash",
        "abort_bash",
        "get_session_stats",
        "export_html",
        "switch_session",
        "get_last_assistant_text",
        "extension_ui_response",
    )
)
"""Commands that all generations have."""
_BRANCH = frozenset(("branch", "get_branch_messages"))
_FORK = frozenset(("fork", "get_fork_messages", "clone", "get_commands", "set_session_name"))
_TREE = frozenset(("get_entries", "get_tree", "get_available_thinking_levels"))


class Generation(Struct, frozen=True, kw_only=True):
    """What one generation says."""

    name: Name
    version: str
    """The version of pi that it stands in for."""
    commands: frozenset[str]
    """The names of all commands that it has."""
    attachments: bool = True
    """A message of the user's has `attachments`."""
    no_details: bool = True
    """A tool's result without details has an empty object for them; otherwise nothing."""
    updates: Literal["full", "deltas"] = "full"
    """Whether a `message_update` repeats the message so far. A client may choose with `set_stream`."""
    usage_in_updates: bool = False
    """A `message_update` tells what the reply has used so far."""
    call_starts_named: bool = False
    """`toolcall_start` has the id and the name of the call."""
    argument_errors: bool = False
    """A call whose arguments are no JSON object has `argumentsError`."""
    pending: bool = False
    """A reply that has begun has the stop reason `pending`."""
    settled: Literal["if_asked", "bare", "aborted"] = "if_asked"
    """When `agent_settled` is told, and whether it says that the prompt was aborted."""
    will_retry: bool = False
    """`agent_end` says whether the prompt is tried again by itself."""
    retries_end_inside: bool = False
    """`auto_retry_end` comes before the `turn_end` of the reply that succeeded, instead of after `agent_end`."""
    system_messages: bool = False
    """The system prompt is told, counted and listed as a message."""
    queue_told_first: bool = False
    """What is queued is shown by `queue_update` before its command is answered; otherwise after."""
    disposition: bool = False
    """What was said is answered with what became of it: `started`, `queued` or `handled`."""
    compactions: Literal["auto_compaction", "compaction"] = "auto_compaction"
    """How events of a compaction begin. With `compaction` those that were asked for are told, too."""
    compaction_sizes: bool = False
    """A compaction tells what it cost, and how long the conversation is after it."""
    levels_told: bool = False
    """`thinking_level_changed` is told."""
    cancelled_without_code: bool = False
    """Of a command, an `exitCode` or a `fullOutputPath` that there is not is left out; otherwise it is null."""
    whole_prompts: bool = False
    """`isStreaming` holds from a prompt's start to its end, with all that is tried again; otherwise in its runs."""
    bash_updates: bool = False
    """`bash_execution_update` is told."""
    entries_told: bool = False
    """`entry_appended` is told."""
    summary_retries: bool = False
    """Told when a model that was asked for a summary failed, and is asked again."""
    durations: bool = False
    """How long a tool and a reply took is told."""
    ends_as_they_come: bool = False
    """A tool's end is told at once, and the messages of all results after the last end; otherwise each result
    comes in the order of the calls, right after its tool's end.
    """
    tree: Literal["flat", "nested"] = "flat"
    """The form of `get_tree`."""
    context_usage: bool = False
    """Statistics tell how full the model's context is."""
    errors: Literal["hook_error", "extension_error"] = "hook_error"
    """The event that tells that an extension did something wrong."""
    queue_after_abort: Literal["dropped", "kept"] = "dropped"
    """What becomes of what waits, when a prompt is aborted."""
    abort_waits: bool = False
    """`abort` is answered when what it aborted has settled."""
    input_end: Literal["finish", "stop"] = "finish"
    """What the end of stdin does to what runs."""
    additions: bool = True
    """Events and fields that only linnet has are told unasked."""


PI = Generation(name="pi", version="0.35.0", commands=_FIRST | _BRANCH | _FORK | _TREE | _ADDED)
"""The protocol of the documents that linnet was made for. It has later commands, too, and its form does not change."""
PI_073 = replace(
    PI,
    name="pi-0.73",
    version="0.73.1",
    commands=_FIRST | _FORK | _ADDED,
    compactions="compaction",
    attachments=False,
    no_details=False,
    queue_told_first=True,
    ends_as_they_come=True,
    levels_told=True,
    errors="extension_error",
    additions=False,
)
PI_087 = replace(
    PI_073,
    name="pi-0.87",
    version="0.87.1",
    commands=_FIRST | _FORK | _TREE | {"clear_queue"} | _ADDED,
    updates="deltas",
    usage_in_updates=True,
    call_starts_named=True,
    pending=True,
    settled="bare",
    will_retry=True,
    retries_end_inside=True,
    system_messages=True,
    compaction_sizes=True,
    cancelled_without_code=True,
    whole_prompts=True,
    bash_updates=True,
    entries_told=True,
    summary_retries=True,
    tree="nested",
    context_usage=True,
    queue_after_abort="kept",
    abort_waits=True,
    input_end="stop",
    additions=True,
)
PI_1 = replace(
    PI_087,
    name="pi-1",
    version="1.5.0",
    argument_errors=True,
    settled="aborted",
    disposition=True,
    durations=True,
)

GENERATIONS = (PI, PI_073, PI_087, PI_1)
"""All of them, the oldest first."""
NAMES: tuple[Name, ...] = tuple(each.name for each in GENERATIONS)


def named(name: str) -> Generation:
    """Return the generation of this name, which must be one of NAMES."""
    return next(each for each in GENERATIONS if each.name == name)


def spoken_by(version: str) -> Generation:
    """Return the newest generation that is not newer than this version of pi. One that is older than all of them speaks
    the oldest. Raises ValueError if it is no version.
    """
    asked = _numbers(version)
    return next((each for each in reversed(GENERATIONS) if _numbers(each.version)[:2] <= asked[:2]), PI)


def _numbers(version: str) -> tuple[int, int, int]:
    """Return the numbers of a version; what it leaves out counts as the highest there is: 0.73 is all of 0.73."""
    parts = version.removeprefix("v").split("-")[0].split(".")
    if not 1 <= len(parts) <= 3 or not all(part.isdecimal() for part in parts):
        raise ValueError("a version of pi, such as 0.73 or 1.5.0")
    numbers = [int(part) for part in parts] + [1 << 30] * (3 - len(parts))
    return numbers[0], numbers[1], numbers[2]
