"""Maps pi's frames to the monitor's events, of every generation: the earliest, the documented and today's. Pure."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import DecodeError, Struct

from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.monitor.words import NOTHING, Detail, Tokens, Word, beginning, fields, number, text, tokens
from linnet.wire.jsonl import decode_line

MAPPING: Final[dict[str, Word | None]] = {
    "response": None,
    "agent_start": "agent_start",
    "agent_end": "agent_end",
    "turn_start": "turn_start",
    "turn_end": "turn_end",
    "message_start": "message_start",
    "message_update": "message_update",
    "message_end": "message_end",
    "tool_execution_start": "tool_execution_start",
    "tool_execution_update": "tool_execution_update",
    "tool_execution_end": "tool_execution_end",
    "auto_compaction_start": "compaction_start",
    "auto_compaction_end": "compaction_end",
    "auto_retry_start": "retry_start",
    "auto_retry_end": "retry_end",
    "hook_error": "notice",
}

# What came later, what came before, and linnet's additions.
ADDED: Final[dict[str, Word | None]] = {
    "agent_settled": "agent_end",
    "compaction_start": "compaction_start",
    "compaction_end": "compaction_end",
    "summarization_retry_scheduled": "retry_start",
    "summarization_retry_attempt_start": "compaction_start",
    "summarization_retry_finished": None,
    "compaction": "compaction_end",
    "error": "error",
    "extension_error": "notice",
    "session_error": "notice",
    "project_untrusted": None,
    "extension_ui_request": "question_start",
    "extension_ui_closed": "question_end",
    "tool_request": None,
    "tool_request_closed": None,
    "output": None,
    "bash_execution_update": None,
    "queue_update": None,
    "entry_appended": None,
    "session": None,
    "session_info_changed": None,
    "thinking_level_changed": None,
}

# What a frame must have, in every generation.
FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "response": ("success",),
    "agent_start": (),
    "agent_end": ("messages",),
    "turn_start": (),
    "turn_end": ("message", "toolResults"),
    "message_start": ("message",),
    "message_update": ("assistantMessageEvent",),
    "message_end": ("message",),
    "tool_execution_start": ("toolCallId", "toolName", "args"),
    "tool_execution_update": ("toolCallId", "toolName", "partialResult"),
    "tool_execution_end": ("toolCallId", "toolName", "result", "isError"),
    "auto_retry_start": ("attempt", "maxAttempts", "delayMs", "errorMessage"),
    "auto_retry_end": ("success", "attempt"),
    "auto_compaction_start": ("reason",),
    "hook_error": ("error",),
}

# Lines that begin like this are pieces of a reply: many in a row can be taken as one.
PIECE: Final = "message_update"
PIECE_HEAD: Final = b'{"type":"message_update",'
PIECE_TAIL: Final = b""
CALL_PIECE: Final = "tool_execution_update"
CALL_PIECE_HEAD: Final = b'{"type":"tool_execution_update",'
LONG: Final = 1 << 16  # An update that repeats so much of the message is counted, and not looked into.


class _Said(Struct):
    type: Any = None
    delta: Any = None


class _Update(Struct, rename="camel"):
    """An update, without the whole message that it repeats."""

    assistant_message_event: _Said | None = None


class _Content(Struct):
    content: Any = None


class _Whole(Struct):
    message: _Content | None = None


_update = decoder_of(_Update)
_whole = decoder_of(_Whole)
_ROLES: Final[dict[Any, Any]] = {"user": "user", "assistant": "assistant"}
_KINDS: Final[dict[str, Any]] = {"text": "text", "thinking": "thinking", "toolcall": "call"}


def detail(type: str, line: bytes) -> Detail:
    """Return what a line says besides its type. Fields of another kind than expected count as absent."""
    if type == "message_update":
        return _updated(line)
    if type in ("agent_start", "agent_end", "turn_start"):
        return NOTHING
    said = fields(line)
    match type:
        case "message_start" | "message_end":
            return _message(said.get("message"), ended=type == "message_end")
        case "turn_end":
            return _message(said.get("message"), ended=False)
        case "agent_settled":
            return Detail(aborted=said.get("aborted") is True)
        case "tool_execution_start" | "tool_execution_update" | "tool_execution_end":
            failed = "it failed" if said.get("isError") is True else ""
            return Detail(call=beginning(said.get("toolCallId")), tool=beginning(said.get("toolName")), error=failed)
        case "auto_retry_start" | "summarization_retry_scheduled":
            attempt, attempts = int(number(said.get("attempt"))), int(number(said.get("maxAttempts")))
            delay = number(said.get("delayMs")) / 1000
            reason = beginning(said.get("errorMessage"))
            return Detail(error=reason, attempt=attempt, attempts=attempts, delay=delay)
        case "auto_retry_end":
            failed = "" if said.get("success") is True else beginning(said.get("finalError")) or "all tries failed"
            return Detail(error=failed)
        case "compaction_start" | "auto_compaction_start":
            return Detail(text=beginning(said.get("reason")))
        case "compaction_end" | "auto_compaction_end":
            again, aborted = said.get("willRetry") is True, said.get("aborted") is True
            return Detail(error=beginning(said.get("errorMessage")), aborted=aborted, again=again)
        case "extension_ui_request":  # Of others nobody is told whether they were answered.
            asks = isinstance(said.get("permission"), dict)
            return Detail(text=beginning(said.get("title")) or "something") if asks else NOTHING
        case "error" | "hook_error" | "extension_error" | "session_error":
            reason = beginning(said.get("error")) or beginning(said.get("message"))
            return Detail(error=reason or "it did not say why")
        case _:
            return NOTHING


def pieces(lines: Sequence[bytes]) -> Detail:
    """Return what many updates in a row come to, of which `lines` are the last.

    It is `whole` if the text is the end of all that was said.
    """
    last = _updated(lines[-1])
    if len(lines[-1]) > LONG:
        return last
    try:
        message = decode_line(_whole, lines[-1]).message
    except BadInput:
        message = None
    if message is not None:
        return Detail("assistant", last.kind, text(message.content), whole=True)
    said: list[str] = []
    for line in lines:
        try:
            event = _update.decode(line).assistant_message_event
        except (DecodeError, RecursionError):
            continue
        if event and event.type == "text_delta":
            said.append(text(event.delta))
    return Detail("assistant", last.kind, text("".join(said)))


def _updated(line: bytes) -> Detail:
    if len(line) > LONG:
        return Detail("assistant")
    try:
        event = decode_line(_update, line).assistant_message_event
    except BadInput:
        return Detail("assistant")
    kind, _, what = str(event.type).partition("_") if event else ("", "", "")
    grown = text(event.delta) if event and what == "delta" else ""
    return Detail("assistant", _KINDS.get(kind, ""), grown)


def _message(message: Any, ended: bool) -> Detail:
    """Return what a message says. Its usage counts once, when it has ended."""
    if not isinstance(message, dict):
        return NOTHING
    role = _ROLES.get(message.get("role") if isinstance(message.get("role"), str) else None, "other")
    if role != "assistant":
        return Detail(role)
    stop = message.get("stopReason")
    failed = (beginning(message.get("errorMessage")) or "the reply failed") if stop == "error" else ""
    spent = _usage(message.get("usage")) if ended else None
    return Detail(role, "", text(message.get("content")), error=failed, aborted=stop == "aborted", spent=spent)


def _usage(usage: Any) -> Tokens | None:
    cost = usage.get("cost") if isinstance(usage, dict) else None
    total = cost.get("total") if isinstance(cost, dict) else 0
    return tokens(usage, "cacheRead", "cacheWrite", total, "costKnown")
