"""Reads the event stream of Anthropic's Messages API as deltas."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import DecodeError, Raw, Struct

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
from linnet.errors import ModelRefused, ProviderError
from linnet.providers.call_ids import unused
from linnet.providers.http.vendor_errors import Fault, cut_short, ended_oddly, from_fault

_STOPS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "pause_turn": "end",  # For tools that run at the vendor, of which linnet offers none.
    "tool_use": "tool_use",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


_REFUSALS = frozenset(("refusal", "sensitive", "content_filter"))


class CacheWrites(Struct):
    ephemeral_1h_input_tokens: int | None = None


class Tokens(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation: CacheWrites | None = None


class Opening(Struct):
    usage: Tokens | None = None


class MessageStart(Struct, tag="message_start"):
    message: Opening


class TextBlock(Struct, tag="text"):
    text: str = ""


class ThinkingBlock(Struct, tag="thinking"):
    thinking: str = ""
    signature: str | None = None


class RedactedBlock(Struct, tag="redacted_thinking"):
    data: str


class CallBlock(Struct, tag="tool_use"):
    id: str
    name: str
    input: Raw = Raw(b"{}")


class BlockStart(Struct, tag="content_block_start"):
    index: int
    content_block: TextBlock | ThinkingBlock | RedactedBlock | CallBlock


class UnknownBlockStart(Struct):
    """The start of a block of a kind that is not known here."""

    type: Literal["content_block_start"]
    index: int


class TextPart(Struct, tag="text_delta", gc=False):
    text: str


class ThinkingPart(Struct, tag="thinking_delta", gc=False):
    thinking: str


class JsonPart(Struct, tag="input_json_delta", gc=False):
    partial_json: str


class SignaturePart(Struct, tag="signature_delta", gc=False):
    signature: str


class BlockDelta(Struct, tag="content_block_delta", gc=False):
    index: int
    delta: TextPart | JsonPart | ThinkingPart | SignaturePart


class BlockStop(Struct, tag="content_block_stop"):
    index: int


class StopDetails(Struct):
    category: str | None = None
    explanation: str | None = None


class Closing(Struct):
    stop_reason: str | None = None
    stop_details: StopDetails | None = None


class MessageDelta(Struct, tag="message_delta"):
    delta: Closing
    usage: Tokens | None = None


class MessageStop(Struct, tag="message_stop"):
    pass


class Ping(Struct, tag="ping"):
    pass


class Failure(Struct, tag="error"):
    error: Fault


Wire: TypeAlias = BlockDelta | BlockStart | BlockStop | MessageStart | MessageDelta | MessageStop | Ping | Failure
_decode = decoder_of(Wire).decode
_decode_unknown = decoder_of(UnknownBlockStart).decode


class Reader:
    """Reads one reply.

    Invariant: `feed` returns what came before a failure, so that no word is lost; then `failure` says why the reply
    ends, or `finished` that it is whole.
    """

    def __init__(self, provider: str = "anthropic", bound: str = "") -> None:
        """`bound` is a digest of what was sent, if the model's thoughts may only be sent back after just that."""
        self._bound = bound
        self.finished = False
        self.failure: ProviderError | None = None
        self._provider = provider
        self._opened = False
        self._calls: dict[int, str] = {}
        self._ids: set[str] = set()  # Of all calls.
        self._inputs: dict[int, bytes] = {}  # Arguments that came whole, with the start of their block.
        self._skipped: set[int] = set()  # Blocks of kinds that are not known here.
        self._stop: StopReason | None = None
        self._fault: ProviderError | None = None  # Why the reply is none, though its end came.
        self._usage = Usage()

    def feed(self, payloads: Sequence[bytes]) -> list[Delta]:
        deltas: list[Delta] = []
        add = deltas.append
        for payload in payloads:
            if self.finished or self.failure:
                break
            try:
                event = _decode(payload)
            except (DecodeError, UnicodeDecodeError, RecursionError):
                self._skip(payload)  # The API gets new kinds of blocks before linnet knows them.
                continue
            if isinstance(event, BlockDelta):
                part = event.delta
                if self._skipped and event.index in self._skipped:
                    continue
                if isinstance(part, TextPart):
                    add(TextDelta(part.text))
                elif isinstance(part, JsonPart):
                    self._grow_call(event.index, part.partial_json, deltas)
                elif isinstance(part, ThinkingPart):
                    add(ThinkingDelta(part.thinking))
                else:
                    add(ThinkingSigned(part.signature, bound=self._bound))
            else:
                self._take(event, deltas)
        if deltas and not self._opened:
            self._opened = True
            deltas.insert(0, ReplyOpened())
        return deltas

    def end(self, cut: ProviderError | None = None) -> list[Delta]:
        """Take the end of the body. A reply without `message_stop` has failed."""
        if not self.finished and self.failure is None:
            self.failure = cut or cut_short(self._provider)
        return []

    def _take(self, event: Wire, deltas: list[Delta]) -> None:
        match event:
            case MessageStart(message):
                self._count(message.usage or Tokens(), deltas)
            case BlockStart(index, block):
                self._open(index, block, deltas)
            case BlockStop(index):
                if index in self._skipped:
                    return
                if whole := self._inputs.pop(index, None):
                    deltas.append(CallDelta(self._calls[index], whole.decode("utf-8", "replace")))
                deltas.append(PartClosed())
            case MessageDelta(closing, usage):
                self._count(usage, deltas)
                if reason := closing.stop_reason:
                    self._stop = _STOPS.get(reason)
                    self._fault = None if self._stop else self._not_answered(reason, closing.stop_details)
            case MessageStop():
                if self._fault is not None:
                    self.failure = self._fault
                    return
                self.finished = True
                deltas.append(Stopped(self._stop or ("tool_use" if self._calls else "end")))
            case Failure(error):
                self.failure = from_fault(self._provider, error)
            case Ping() | BlockDelta():
                pass

    def _open(
        self, index: int, block: TextBlock | ThinkingBlock | RedactedBlock | CallBlock, deltas: list[Delta]
    ) -> None:
        match block:
            case TextBlock(text):
                if text:
                    deltas.append(TextDelta(text))
            case ThinkingBlock(thinking, signature):
                if thinking:
                    deltas.append(ThinkingDelta(thinking))
                if signature:
                    deltas.append(ThinkingSigned(signature, bound=self._bound))
            case RedactedBlock(data):
                deltas.append(ThinkingSigned(data, redacted=True, bound=self._bound))
            case CallBlock(id, name, input):
                id = self._calls[index] = unused(id, self._ids)
                deltas.append(CallOpened(id, name))
                whole = bytes(input)
                if whole not in (b"{}", b"null", b'""'):
                    self._inputs[index] = whole

    def _not_answered(self, reason: str, details: StopDetails | None) -> ProviderError:
        """Return the error for a reply that ended for a reason that is no good end."""
        if reason not in _REFUSALS:
            return ended_oddly(self._provider, reason)
        said = details or StopDetails()
        why = ": ".join(word for word in (said.category, said.explanation) if word)
        return ModelRefused(self._provider, f"the model refused to answer{f' ({why})' if why else ''}")

    def _grow_call(self, index: int, text: str, deltas: list[Delta]) -> None:
        call_id = self._calls.get(index)
        if call_id is not None and text:
            self._inputs.pop(index, None)
            deltas.append(CallDelta(call_id, text))

    def _skip(self, payload: bytes) -> None:
        """Remember a block of an unknown kind, so that its deltas are not taken for text."""
        try:
            self._skipped.add(_decode_unknown(payload).index)
        except (DecodeError, UnicodeDecodeError, RecursionError):
            return

    def _count(self, tokens: Tokens | None, deltas: list[Delta]) -> None:
        """Report the usage so far. Counts are cumulative, and a later one may leave out what has not changed."""
        if tokens is None:
            return
        known = self._usage
        self._usage = Usage(
            counted(tokens.input_tokens, known.input),
            counted(tokens.output_tokens, known.output),
            counted(tokens.cache_read_input_tokens, known.cache_read),
            counted(tokens.cache_creation_input_tokens, known.cache_write),
            cache_write_long=counted(
                tokens.cache_creation.ephemeral_1h_input_tokens if tokens.cache_creation else None,
                known.cache_write_long,
            ),
        )
        deltas.append(UsageReported(self._usage))
