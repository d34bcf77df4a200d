"""Maps zot's frames to the monitor's events. Pure."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import DecodeError, Struct

from linnet.decoding import decoder_of
from linnet.monitor.words import NOTHING, Detail, Word, beginning, fields, text, tokens

# As it is in the document that this monitor was written for, entry by entry.
MAPPING: Final[dict[str, Word | None]] = {
    "response": None,
    "user_message": "message_update",
    "turn_start": "turn_start",
    "turn_end": "turn_end",
    "error": "error",
    "done": "agent_end",
    "assistant_start": "message_start",
    "text_delta": "message_update",
    "assistant_message": "message_end",
    "tool_call": "tool_execution_start",
    "tool_use_start": "tool_execution_start",
    "tool_use_args": "tool_execution_update",
    "tool_progress": "tool_execution_update",
    "tool_use_end": "tool_execution_update",
    "tool_result": "tool_execution_end",
    "usage": None,
}

# What the protocol has besides: of the protocol's own words, and of linnet's additions to it.
ADDED: Final[dict[str, Word | None]] = {
    "compact_done": "agent_end",
    "thinking_delta": "message_update",
    "session_error": "notice",
    "project_untrusted": None,
    "question": "question_start",
    "question_closed": "question_end",
    "tool_request": None,
    "tool_request_closed": None,
    "ext_notify": None,
    "ext_display": None,
    "ext_status": None,
    "ext_widget": None,
    "ext_title": None,
    "ext_editor_text": None,
    "ext_error": "notice",
    "output": None,
}

# What a frame must have, by the protocol's own table.
FIELDS: Final[dict[str, tuple[str, ...]]] = {
    "response": ("command", "success"),
    "user_message": ("content", "time"),
    "turn_start": ("step",),
    "turn_end": ("stop",),
    "error": ("message",),
    "done": (),
    "assistant_start": (),
    "text_delta": ("delta",),
    "assistant_message": ("content", "time"),
    "tool_call": ("id", "name", "args"),
    "tool_use_start": ("id", "name"),
    "tool_use_args": ("id", "delta"),
    "tool_progress": ("id", "text"),
    "tool_use_end": ("id",),
    "tool_result": ("id", "is_error", "content"),
    "usage": ("input", "output", "cache_read", "cache_write", "cost_usd", "cumulative"),
    "compact_done": ("summary",),
}

# Lines that begin, or end, like this are pieces of a reply: many in a row can be taken as one. Of pieces of a call only
# the last is looked at.
PIECE: Final = "text_delta"
PIECE_HEAD: Final = b'{"type":"text_delta",'
PIECE_TAIL: Final = b'"type":"text_delta"}'
CALL_PIECE: Final = "tool_use_args"
CALL_PIECE_HEAD: Final = b'{"type":"tool_use_args",'


class _Piece(Struct):
    delta: Any = None


_piece = decoder_of(_Piece)

_SIMPLE = frozenset(("turn_start", "assistant_start", "done", "tool_use_end"))


def detail(type: str, line: bytes) -> Detail:
    """Return what a line says besides its type. Fields of another kind than expected count as absent."""
    if type in _SIMPLE:
        return Detail(role="assistant") if type == "assistant_start" else _call(line) if type[0] == "t" else NOTHING
    said = fields(line)
    match type:
        case "text_delta" | "thinking_delta":
            kind: Any = "text" if type == "text_delta" else "thinking"
            return Detail("assistant", kind, text(said.get("delta")))
        case "user_message":
            return Detail("user")
        case "assistant_message":
            return Detail("assistant", text=text(said.get("content")))
        case "tool_call" | "tool_use_start" | "tool_use_args" | "tool_progress" | "tool_result":
            failed = "it failed" if said.get("is_error") is True else ""
            return Detail(call=beginning(said.get("id")), tool=beginning(said.get("name")), error=failed)
        case "usage":
            own = tokens(said, "cache_read", "cache_write", said.get("cost_usd"), "cost_known")
            whole = said.get("cumulative")
            paid = whole.get("cost_usd") if isinstance(whole, dict) else 0
            return Detail(spent=own, total=tokens(whole, "cache_read", "cache_write", paid, "cost_known"))
        case "turn_end":
            stop, reason = said.get("stop"), beginning(said.get("error"))
            failed = (reason or "the turn failed") if stop == "error" else ""
            return Detail(error=failed, aborted=stop == "aborted")
        case "question":
            return Detail(text=beginning(said.get("title")) or "something")
        case "ext_error":
            return Detail(error=beginning(said.get("error")) or "it did not say why")
        case "error" | "session_error":
            return Detail(error=beginning(said.get("message")) or "it did not say why")
        case _:
            return NOTHING


def pieces(lines: Sequence[bytes]) -> Detail:
    """Return what many pieces in a row come to, of which `lines` are the last."""
    said: list[str] = []
    for line in lines:
        try:
            said.append(text(_piece.decode(line).delta))
        except (DecodeError, RecursionError):
            said.append(detail(PIECE, line).text)
    return Detail("assistant", "text", text("".join(said)))


def _call(line: bytes) -> Detail:
    return Detail(call=beginning(fields(line).get("id"))) if b'"id"' in line[:4096] else NOTHING
