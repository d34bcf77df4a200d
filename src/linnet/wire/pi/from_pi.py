"""Converts messages from pi's shape to the core's; `to_pi` is the reverse. Lenient: many versions of pi wrote them."""

from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from linnet.core import messages
from linnet.core.text.timestamps import END
from linnet.core.toolspec import ToolSpec

ABORTED = "Request was aborted."
_STOP: dict[str, messages.StopReason] = {
    "stop": "end",
    "toolUse": "tool_use",
    "length": "length",
    "error": "error",
    "aborted": "aborted",
}


class ImageSource(Struct, frozen=True, gc=False):
    """Either the bytes of an image or its address. The field for its type has two spellings; either is taken."""

    type: str = "base64"
    data: str = ""
    url: str = ""
    _media_type: str = field(default="", name="mediaType")
    _snake_type: str = field(default="", name="media_type")

    @property
    def mime_type(self) -> str:
        return self._media_type or self._snake_type


class Block(Struct, frozen=True, rename="camel", gc=False):
    type: str = ""
    text: str = ""
    text_signature: str = ""
    thinking: str = ""
    thinking_signature: str = ""
    redacted: bool = False
    bound: str = ""
    data: str = ""
    mime_type: str = ""
    source: ImageSource | None = None
    id: str = ""
    name: str = ""
    arguments: dict[str, Any] | None = None
    thought_signature: str = ""
    unparsed: str = ""


SpelledContent: TypeAlias = str | list[Block]


class SpelledCost(messages.Cost, frozen=True, rename="camel", gc=False):
    cache_read: float = 0.0
    cache_write: float = 0.0


class SpelledUsage(messages.Usage, frozen=True, rename="camel", gc=False):
    cache_read: int = 0
    cache_write: int = 0
    cost: SpelledCost = SpelledCost()
    priced: bool = field(default=True, name="costKnown")  # An addition: false if the price of some is not known.


class SpelledTool(Struct, frozen=True, gc=False):
    name: str = ""
    description: str = ""
    parameters: Any = None


class Spelled(Struct, frozen=True, rename="camel", gc=False):
    """A message of any role. Fields that its role has no use for have their defaults."""

    role: str = ""
    content: SpelledContent = ""
    timestamp: float | None = 0
    api: str = ""
    provider: str = ""
    model: str = ""
    usage: SpelledUsage | None = None
    stop_reason: str = "stop"
    error_message: str = ""
    tool_call_id: str = ""
    tool_name: str = ""
    details: Any = None
    is_error: bool = False
    command: str = ""
    output: str = ""
    raw_output: str | None = None
    exit_code: int | None = None
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None
    exclude_from_context: bool = False
    summary: str = ""
    tokens_before: float = 0
    from_id: str = ""
    custom_type: str = ""
    display: bool = True
    duration_ms: float | None = None
    sections: dict[str, Any] | None = None
    tools_added: list[SpelledTool] | None = None
    tools_removed: list[SpelledTool] | None = None


def message(said: Spelled) -> messages.Message | None:
    """Return the message; None for a role that is not known."""
    time = moment(said.timestamp)
    match said.role:
        case "user":
            return messages.UserMessage(user_parts(said.content), time)
        case "assistant":
            return _assistant(said, time)
        case "toolResult":
            details = said.details if isinstance(said.details, dict) else None
            return messages.ToolResult(
                said.tool_call_id,
                said.tool_name,
                user_parts(said.content),
                time,
                said.is_error,
                details,
                _duration(said),
            )
        case "bashExecution":
            return messages.BashRun(
                said.command,
                said.output if said.raw_output is None else said.raw_output,
                said.exit_code,
                time,
                said.cancelled,
                said.truncated,
                said.full_output_path,
                said.exclude_from_context,
            )
        case "compactionSummary":
            return messages.Summary(said.summary, rounded(said.tokens_before), time)
        case "branchSummary":
            return messages.BranchSummary(said.summary, said.from_id, time)
        case "custom" | "hookMessage":
            return messages.Note(said.custom_type, user_parts(said.content), time, said.display, said.details)
        case "system":
            return _system(said, time)
        case _:
            return None


def with_content(message: messages.Message, content: SpelledContent) -> messages.Message:
    """Return the message with another content. One of a role whose content cannot be replaced stays as it is."""
    match message:
        case messages.UserMessage() | messages.ToolResult() | messages.Note():
            return replace(message, content=user_parts(content))
        case messages.AssistantMessage():
            return replace(message, content=_reply_parts(content))
        case _:
            return message


def _system(said: Spelled, time: int) -> messages.SystemMessage:
    sections = {name: text for name, text in (said.sections or {}).items() if text is None or isinstance(text, str)}
    added = [
        ToolSpec(tool.name, tool.description, tool.parameters if isinstance(tool.parameters, dict) else {})
        for tool in said.tools_added or ()
    ]
    removed = [tool.name for tool in said.tools_removed or ()]
    return messages.SystemMessage(sections, time, tuple(added), tuple(removed))


def _duration(said: Spelled) -> int | None:
    return None if said.duration_ms is None else rounded(said.duration_ms)


def rounded(number: float) -> int:
    """Return the nearest integer; 0 for what is no number."""
    try:
        return round(number)
    except (OverflowError, ValueError):
        return 0


def moment(stamp: float | None) -> int:
    """Return a stamp as milliseconds since 1970; 0 for what no calendar knows."""
    time = rounded(stamp or 0)
    return time if 0 <= time < END else 0


def usage(spelled: SpelledUsage | None) -> messages.Usage:
    """Return the usage. Without a price for some of the tokens, all of them count as unpriced."""
    if spelled is None:
        return messages.Usage()
    cost = spelled.cost
    return messages.Usage(
        spelled.input,
        spelled.output,
        spelled.cache_read,
        spelled.cache_write,
        messages.Cost(cost.input, cost.output, cost.cache_read, cost.cache_write),
        0 if spelled.priced else spelled.total,
    )


def _assistant(said: Spelled, time: int) -> messages.AssistantMessage:
    stop = _STOP.get(said.stop_reason, "end")
    error = "" if stop == "aborted" and said.error_message == ABORTED else said.error_message
    return messages.AssistantMessage(
        _reply_parts(said.content),
        time,
        said.provider,
        said.model,
        usage(said.usage),
        stop,
        error,
        said.api,
        _duration(said),
    )


def _reply_parts(content: SpelledContent) -> tuple[messages.ReplyPart, ...]:
    if isinstance(content, str):
        return (messages.Text(content),)
    return tuple([part for part in map(_reply_part, content) if part is not None])


def _reply_part(block: Block) -> messages.ReplyPart | None:
    match block.type:
        case "text":
            return messages.Text(block.text, block.text_signature)
        case "thinking":
            return messages.Thinking(block.thinking, block.thinking_signature, block.redacted, block.bound)
        case "toolCall":
            arguments = block.arguments or {}
            return messages.ToolCall(block.id, block.name, arguments, block.unparsed, block.thought_signature)
        case _:
            return None


def user_parts(content: SpelledContent) -> tuple[messages.UserPart, ...]:
    """Return the texts and images of a content. Blocks of other types are left out."""
    if isinstance(content, str):
        return (messages.Text(content),) if content else ()
    out: list[messages.UserPart] = []
    for block in content:
        if block.type == "text":
            out.append(messages.Text(block.text))
        elif block.type == "image":
            source = block.source or ImageSource()
            data, kind = block.data or source.data, block.mime_type or source.mime_type
            out.append(messages.Image(kind, data, source.url))
    return tuple(out)
