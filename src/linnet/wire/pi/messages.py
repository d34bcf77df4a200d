"""Messages in pi's words as core's: the way back from `words`. Forgiving, since many versions of pi wrote them."""

from typing import Any

from msgspec import Raw, Struct
from msgspec.json import Decoder

from linnet.core import messages
from linnet.wire.pi.words import ABORTED

_STOP: dict[str, messages.StopReason] = {
    "stop": "end",
    "toolUse": "tool_use",
    "length": "length",
    "error": "error",
    "aborted": "aborted",
}


_END_OF_TIME = 253_402_300_800_000  # The year 10000, in milliseconds.


class _Source(Struct, frozen=True, rename="camel", gc=False):
    type: str = ""
    url: str = ""
    data: str = ""
    media_type: str = ""


class _Block(Struct, frozen=True, rename="camel", gc=False):
    type: str = ""
    text: str = ""
    thinking: str = ""
    thinking_signature: str = ""
    redacted: bool = False
    data: str = ""
    mime_type: str = ""
    source: _Source | None = None
    id: str = ""
    name: str = ""
    arguments: dict[str, Any] | None = None
    unparsed: str = ""


class Cost(Struct, frozen=True, rename="camel", gc=False):
    """JavaScript writes null for what is no number."""

    input: float | None = 0.0
    output: float | None = 0.0
    cache_read: float | None = 0.0
    cache_write: float | None = 0.0


class Usage(Struct, frozen=True, rename="camel", gc=False):
    input: int | None = 0
    output: int | None = 0
    cache_read: int | None = 0
    cache_write: int | None = 0
    cost: Cost | None = None


class Spelled(Struct, frozen=True, rename="camel", gc=False):
    """A message of any role."""

    role: str = ""
    content: str | list[_Block] = ""
    timestamp: float | None = 0
    api: str = ""
    provider: str = ""
    model: str = ""
    usage: Usage | None = None
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


_parts = Decoder(str | list[_Block])


def message(said: Spelled) -> messages.Message | None:
    """Nothing for a role that is not known."""
    time = moment(said.timestamp)
    match said.role:
        case "user":
            return messages.UserMessage(_user_parts(said.content), time)
        case "assistant":
            return _assistant(said, time)
        case "toolResult":
            details = said.details if isinstance(said.details, dict) else None
            content = _user_parts(said.content)
            return messages.ToolResult(said.tool_call_id, said.tool_name, content, time, said.is_error, details)
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
            return messages.Summary(said.summary, whole(said.tokens_before), time)
        case "branchSummary":
            return messages.BranchSummary(said.summary, said.from_id, time)
        case "custom" | "hookMessage":
            return messages.Note(said.custom_type, _user_parts(said.content), time, said.display, said.details)
        case _:
            return None


def whole(number: float) -> int:
    """Zero for what is no number."""
    try:
        return round(number)
    except (OverflowError, ValueError):
        return 0


def moment(stamp: float | None) -> int:
    """Milliseconds since 1970; zero for what no calendar knows."""
    time = whole(stamp or 0)
    return time if 0 <= time < _END_OF_TIME else 0


def parts(raw: Raw | bytes) -> tuple[messages.UserPart, ...]:
    """What was said, as a string or as blocks."""
    return _user_parts(_parts.decode(raw))


def usage(counted: Usage | None) -> messages.Usage:
    if counted is None:
        return messages.Usage()
    cost = counted.cost or Cost()
    return messages.Usage(
        counted.input or 0,
        counted.output or 0,
        counted.cache_read or 0,
        counted.cache_write or 0,
        messages.Cost(cost.input or 0.0, cost.output or 0.0, cost.cache_read or 0.0, cost.cache_write or 0.0),
    )


def _assistant(said: Spelled, time: int) -> messages.AssistantMessage:
    stop = _STOP.get(said.stop_reason, "end")
    content = [messages.Text(said.content)] if isinstance(said.content, str) else map(_reply_part, said.content)
    error = "" if stop == "aborted" and said.error_message == ABORTED else said.error_message
    return messages.AssistantMessage(
        tuple(part for part in content if part is not None),
        time,
        said.provider,
        said.model,
        usage(said.usage),
        stop,
        error,
        said.api,
    )


def _reply_part(block: _Block) -> messages.ReplyPart | None:
    match block.type:
        case "text":
            return messages.Text(block.text)
        case "thinking":
            return messages.Thinking(block.thinking, block.thinking_signature, block.redacted)
        case "toolCall":
            return messages.ToolCall(block.id, block.name, block.arguments or {}, block.unparsed)
        case _:
            return None


def _user_parts(content: str | list[_Block]) -> tuple[messages.UserPart, ...]:
    if isinstance(content, str):
        return (messages.Text(content),) if content else ()
    out: list[messages.UserPart] = []
    for block in content:
        if block.type == "text":
            out.append(messages.Text(block.text))
        elif block.type == "image":
            source = block.source or _Source()
            data, kind = block.data or source.data, block.mime_type or source.media_type
            out.append(messages.Image(kind, data, source.url))
    return tuple(out)
