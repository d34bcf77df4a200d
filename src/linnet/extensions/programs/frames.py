"""The frames between linnet and a program as structs, and how lines are decoded and encoded. Pure.

Decoding is forgiving, since others write the programs. Frames are as zot has them; what only linnet has says so.
"""

from typing import Any, TypeAlias, get_args

from msgspec import UNSET, DecodeError, Struct, UnsetType, ValidationError, json

from linnet.decoding import decoder_of

LINNET = "linnet"  # The capability of a program that knows what is linnet's own.


class Hello(Struct, frozen=True, tag="hello"):
    name: str | None = None
    version: str | None = None
    capabilities: list[Any] | None = None


class RegisterTool(Struct, frozen=True, tag="register_tool"):
    name: str | None = None
    description: str | None = None
    schema: Any = None


class RegisterCommand(Struct, frozen=True, tag="register_command"):
    name: str | None = None
    description: str | None = None


class Subscribe(Struct, frozen=True, tag="subscribe"):
    events: list[str] | None = None
    intercept: list[str] | None = None


class Ready(Struct, frozen=True, tag="ready"):
    pass


class Block(Struct, frozen=True):
    type: str | None = None
    text: str | None = None
    mime_type: str | None = None
    data: str | None = None


class ToolResult(Struct, frozen=True, tag="tool_result"):
    id: str
    content: list[Block] | None = None
    is_error: bool | None = None


class InterceptResponse(Struct, frozen=True, tag="event_intercept_response"):
    """The program's verdict. What it leaves out stays as it is; null in `content` does so, too."""

    id: str
    block: bool | None = None
    reason: str | None = None
    modified_args: Any = UNSET
    replace_text: str | None = None
    content: list[Block] | None = None  # linnet's own: instead of a tool's result.
    is_error: bool | None = None


class Notify(Struct, frozen=True, tag="notify"):
    level: str | None = None
    message: str | None = None


class Panel(Struct, frozen=True):
    id: str | None = None
    title: str | None = None
    lines: list[str] | None = None
    footer: str | None = None


class CommandResponse(Struct, frozen=True, tag="command_response"):
    id: str
    action: str | None = None
    prompt: str | None = None
    insert: str | None = None
    display: str | None = None
    open_panel: Panel | None = None
    error: str | None = None


class PanelRender(Struct, frozen=True, tag="panel_render"):
    pass


class PanelClose(Struct, frozen=True, tag="panel_close"):
    pass


class ShutdownAck(Struct, frozen=True, tag="shutdown_ack"):
    pass


class ToolProgress(Struct, frozen=True, tag="tool_progress"):
    """linnet's own: new output of a call that is being carried out."""

    id: str
    text: str


class Ask(Struct, frozen=True, tag="ask"):
    """linnet's own: a question to whoever drives the agent."""

    id: str
    method: str  # confirm, select, input or editor.
    title: str
    message: str | None = None
    options: list[str] | None = None
    placeholder: str | None = None
    prefill: str | None = None


Incoming: TypeAlias = (
    Hello
    | RegisterTool
    | RegisterCommand
    | Subscribe
    | Ready
    | ToolResult
    | InterceptResponse
    | Notify
    | CommandResponse
    | PanelRender
    | PanelClose
    | ShutdownAck
    | ToolProgress
    | Ask
)


class Unusable(Struct, frozen=True):
    """A line that is no frame."""

    type: str  # What it says of itself, if anything.
    id: str  # What it says of itself, if anything.
    why: str


class Offers(Struct, frozen=True):
    """What linnet has beyond zot: frames that a program may send, and what it may subscribe to and intercept."""

    version: str
    frames: tuple[str, ...] = ("tool_progress", "ask")
    events: tuple[str, ...] = ()
    intercept: tuple[str, ...] = ()


class HelloAck(Struct, frozen=True, tag="hello_ack"):
    zot_version: str
    provider: str
    model: str
    cwd: str
    extension_dir: str
    data_dir: str
    linnet: Offers
    protocol_version: int = 1


class ToolCall(Struct, frozen=True, tag="tool_call"):
    id: str
    name: str
    args: Any


class Occasion(Struct, frozen=True, kw_only=True):
    """Something that happens, or is about to: the fields that this kind of event has are set."""

    event: str
    step: int | UnsetType = UNSET
    stop: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    tool_id: str | UnsetType = UNSET
    tool_name: str | UnsetType = UNSET
    tool_args: Any = UNSET
    text: str | UnsetType = UNSET
    content: Any = UNSET
    is_error: bool | UnsetType = UNSET
    provider: str | UnsetType = UNSET
    model: str | UnsetType = UNSET
    session: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class Event(Occasion, frozen=True, tag="event"):
    pass


class EventIntercept(Occasion, frozen=True, kw_only=True, tag="event_intercept"):
    id: str


class CommandInvoked(Struct, frozen=True, tag="command_invoked"):
    id: str
    name: str
    args: str


class Shutdown(Struct, frozen=True, tag="shutdown"):
    pass


class Cancel(Struct, frozen=True, tag="cancel"):
    """linnet's own: nobody waits any more for the answer with this id."""

    id: str


class Answer(Struct, frozen=True, tag="answer"):
    """linnet's own: the answer to an `ask`. One of the three is set."""

    id: str
    value: str | UnsetType = UNSET
    confirmed: bool | UnsetType = UNSET
    cancelled: bool | UnsetType = UNSET  # Nobody answered.


Outgoing: TypeAlias = HelloAck | ToolCall | Event | EventIntercept | CommandInvoked | Shutdown | Cancel | Answer

_decoder = decoder_of(Incoming)
_TYPES = frozenset(kind.__struct_config__.tag for kind in get_args(Incoming))


class _Head(Struct):
    """What can be known of a frame that does not fit."""

    type: Any = ""
    id: Any = ""


_head = decoder_of(_Head)


def decode(line: bytes) -> Incoming | Unusable:
    """Return the frame, or why there is none. Fields that nobody knows are ignored. Never raises."""
    try:
        frame: Incoming = _decoder.decode(line)
    except ValidationError as error:
        return _unusable(line, str(error))
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Unusable("", "", f"malformed json from extension: {error}")
    return frame


def encode(frame: Outgoing) -> bytes:
    """Return the frame as a line, with its end."""
    try:
        return json.encode(frame) + b"\n"
    except UnicodeEncodeError:  # Half of a surrogate pair: it is written as an escape.
        from json import dumps

        from msgspec import to_builtins

        return dumps(to_builtins(frame), separators=(",", ":")).encode() + b"\n"


def _unusable(line: bytes, why: str) -> Unusable:
    """Return what a line says of itself that is JSON but no frame."""
    try:
        head = _head.decode(line)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return Unusable("", "", f"malformed json from extension: {why}")
    type = head.type if isinstance(head.type, str) else ""
    known = type in _TYPES
    return Unusable(
        type,
        head.id if isinstance(head.id, str) else "",
        f"{type}: {why}" if known else f'unknown frame type "{type}"',
    )
