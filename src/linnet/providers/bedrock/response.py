"""Reads the events of Bedrock's ConverseStream as deltas."""

from collections.abc import Sequence

from msgspec import DecodeError, Struct

from linnet.core.context.cost import counted
from linnet.core.deltas import (
    CallDelta,
    CallOpened,
    Delta,
    PartClosed,
    ReplyOpened,
    Stopped,
    TextDelta,
    ThinkingDelta,
    ThinkingSigned,
    UsageReported,
)
from linnet.core.messages import StopReason, Usage
from linnet.decoding import decoder_of
from linnet.errors import ModelRefused, ProviderError, ProviderUnavailable
from linnet.providers.call_ids import unused
from linnet.providers.http.vendor_errors import Fault, cut_short, ended_oddly, from_fault

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_use",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
_REFUSALS = {
    "content_filtered": "the reply was stopped by the content filter",
    "guardrail_intervened": "the reply was stopped by a guardrail",
    "refusal": "the model refused to answer",
}
_MALFORMED = {
    "malformed_model_output": "the model wrote something that is no reply",
    "malformed_tool_use": "the model wrote something that is no call",
}


class ToolPart(Struct, gc=False):
    input: str = ""


class ThoughtPart(Struct, rename="camel", gc=False):
    text: str = ""
    signature: str = ""
    redacted_content: str = ""


class Part(Struct, rename="camel", gc=False):
    text: str | None = None
    tool_use: ToolPart | None = None
    reasoning_content: ThoughtPart | None = None


class ToolStart(Struct, rename="camel"):
    tool_use_id: str
    name: str
    type: str = ""
    """Says that the call is answered at the vendor. linnet offers no such tool."""


class Start(Struct, rename="camel"):
    tool_use: ToolStart | None = None


class BlockStart(Struct, rename="camel"):
    start: Start
    content_block_index: int = 0


class BlockStop(Struct, rename="camel"):
    content_block_index: int = 0


class MessageStart(Struct):
    pass


class MessageStop(Struct, rename="camel"):
    stop_reason: str = ""


class CacheDetail(Struct, rename="camel"):
    ttl: str = ""
    input_tokens: int = 0


class Tokens(Struct, rename="camel"):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    cache_details: list[CacheDetail] | None = None


class Metadata(Struct):
    usage: Tokens | None = None


class Message(Struct):
    message: str | None = None


class Failure(Struct):
    type: str = ""
    body: Message | None = None


class Wire(Struct, rename="camel", gc=False):
    """One event: a delta with its index, or exactly one of the others."""

    delta: Part | None = None
    content_block_index: int = 0
    content_block_start: BlockStart | None = None
    content_block_stop: BlockStop | None = None
    message_start: MessageStart | None = None
    message_stop: MessageStop | None = None
    metadata: Metadata | None = None
    exception: Failure | None = None


_decode = decoder_of(Wire).decode


class Reader:
    """Reads one reply. What it took comes after its reason to stop, and ends it.

    Invariant: `feed` returns what came before a failure, so that no word is lost; then `failure` says why the reply
    ends, or `finished` that it is whole.
    """

    def __init__(self, provider: str = "bedrock", bound: str = "") -> None:
        """`bound` is a digest of what was sent, if the model's thoughts may only be sent back after just that."""
        self.finished = False
        self.failure: ProviderError | None = None
        self._provider = provider
        self._bound = bound
        self._opened = False
        self._calls: dict[int, str] = {}
        self._ids: set[str] = set()  # Of all calls.
        self._redacted: list[str] = []  # Of the open block: base64 that comes in pieces is joined as bytes.
        self._stop: StopReason | None = None
        self._fault: ProviderError | None = None  # Why the reply is none, though its end came.

    def feed(self, payloads: Sequence[bytes]) -> list[Delta]:
        deltas: list[Delta] = []
        add = deltas.append
        for payload in payloads:
            if self.finished or self.failure:
                break
            try:
                event = _decode(payload)
            except (DecodeError, UnicodeDecodeError, RecursionError):
                continue  # The API gets new kinds of blocks before linnet knows them.
            part = event.delta
            if part is None:
                self._take(event, deltas)
            elif part.text is not None:
                if part.text:
                    add(TextDelta(part.text))
            elif part.tool_use is not None:
                call = self._calls.get(event.content_block_index)
                if call is not None and part.tool_use.input:
                    add(CallDelta(call, part.tool_use.input))
            elif part.reasoning_content is not None:
                self._think(part.reasoning_content, deltas)
        if deltas and not self._opened:
            self._opened = True
            deltas.insert(0, ReplyOpened())
        return deltas

    def end(self, cut: ProviderError | None = None) -> list[Delta]:
        """Take the end of the body. A reply that has a reason to stop is complete, though nobody says what it took."""
        deltas: list[Delta] = []
        if self.finished or self.failure is not None:
            return deltas
        if self._stop is None and self._fault is None:
            self.failure = cut or cut_short(self._provider)
        else:
            self._finish(deltas)
        return deltas

    def _take(self, event: Wire, deltas: list[Delta]) -> None:
        if event.message_start is not None:
            if not self._opened:
                self._opened = True
                deltas.insert(0, ReplyOpened())
        elif event.content_block_start is not None:
            call = event.content_block_start.start.tool_use
            if call is not None and not call.type:
                id = unused(call.tool_use_id, self._ids)
                self._calls[event.content_block_start.content_block_index] = id
                deltas.append(CallOpened(id, call.name))
        elif event.content_block_stop is not None:
            if self._redacted:
                deltas.append(ThinkingSigned(_joined(self._redacted), redacted=True, bound=self._bound))
                self._redacted = []
            deltas.append(PartClosed())
        elif event.message_stop is not None:
            reason = event.message_stop.stop_reason
            self._stop = _STOPS.get(reason)
            self._fault = None if self._stop else self._not_answered(reason)
        elif event.metadata is not None:
            if event.metadata.usage is not None:
                deltas.append(UsageReported(_usage(event.metadata.usage)))
            if self._stop is not None or self._fault is not None:
                self._finish(deltas)
        elif event.exception is not None:
            said = event.exception
            message = said.body.message if said.body else None
            self.failure = from_fault(self._provider, Fault(type=said.type or None, message=message))

    def _think(self, thought: ThoughtPart, deltas: list[Delta]) -> None:
        if thought.text:
            deltas.append(ThinkingDelta(thought.text))
        if thought.signature:
            deltas.append(ThinkingSigned(thought.signature, bound=self._bound))
        if thought.redacted_content:
            self._redacted.append(thought.redacted_content)

    def _not_answered(self, reason: str) -> ProviderError:
        """Return the error for a reply that ended for a reason that is no good end."""
        if reason in _REFUSALS:
            return ModelRefused(self._provider, _REFUSALS[reason])
        if reason in _MALFORMED:  # It may do better the next time.
            return ProviderUnavailable(self._provider, f"{_MALFORMED[reason]} ({reason})")
        return ended_oddly(self._provider, reason)

    def _finish(self, deltas: list[Delta]) -> None:
        if self._fault is not None:
            self.failure = self._fault
            return
        self.finished = True
        # Some models say that they have come to an end even when they ask for a tool.
        deltas.append(Stopped("tool_use" if self._stop == "end" and self._calls else self._stop or "end"))


def _joined(pieces: list[str]) -> str:
    """Return pieces of base64 as one."""
    if len(pieces) == 1:
        return pieces[0]
    from base64 import b64decode, b64encode
    from binascii import Error

    try:
        return b64encode(b"".join(map(b64decode, pieces))).decode()
    except (Error, ValueError):
        return "".join(pieces)


def _usage(tokens: Tokens) -> Usage:
    long = sum(counted(each.input_tokens) for each in tokens.cache_details or () if each.ttl == "1h")
    return Usage(
        counted(tokens.input_tokens),
        counted(tokens.output_tokens),
        counted(tokens.cache_read_input_tokens),
        counted(tokens.cache_write_input_tokens),
        cache_write_long=long,
    )
