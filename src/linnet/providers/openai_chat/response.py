"""Reads the event stream of a Chat Completions API as deltas."""

from collections.abc import Sequence
from typing import Any

from msgspec import DecodeError, Struct

from linnet.core.context.cost import counted
from linnet.core.deltas import (
    CallDelta,
    CallOpened,
    Delta,
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
from linnet.providers.body import encode
from linnet.providers.call_ids import unused
from linnet.providers.http.vendor_errors import Fault, cut_short, ended_oddly, from_fault

_STOPS: dict[str, StopReason] = {
    "stop": "end",
    "end": "end",
    "end_turn": "end",
    "eos": "end",
    "stop_sequence": "end",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
}


class Function(Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class CallPart(Struct, gc=False):
    index: int | None = None
    id: str | None = None
    function: Function | None = None


class Part(Struct, gc=False):
    content: str | None = None
    tool_calls: list[CallPart] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    reasoning_text: str | None = None
    reasoning_details: list[dict[str, Any]] | None = None
    refusal: str | None = None


class PromptDetails(Struct, gc=False):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class Tokens(Struct, gc=False):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    prompt_cache_hit_tokens: int | None = None
    cached_tokens: int | None = None


class Choice(Struct, gc=False):
    delta: Part | None = None
    finish_reason: str | None = None
    index: int = 0
    usage: Tokens | None = None  # Some servers count here.


class Chunk(Struct, gc=False):
    choices: list[Choice] | None = None
    usage: Tokens | None = None
    error: Fault | str | None = None


class _Call(Struct):
    id: str
    said: str | None  # What the server calls it.
    opened: bool = False


_decode = decoder_of(Chunk).decode


class Reader:
    """Reads one reply.

    Invariant: `feed` returns what came before a failure, so that no word is lost; then `failure` says why the reply
    ends, or `finished` that it is whole.
    """

    def __init__(self, provider: str = "openai", turn: int = 0, *, says_why: bool = True) -> None:
        """`turn` makes the ids of calls unique where a server sends none. `says_why`: a reply without a reason to stop
        was cut.
        """
        self.finished = False
        self.failure: ProviderError | None = None
        self._provider = provider
        self._turn = turn
        self._opened = False
        self._calls: list[_Call] = []
        self._ids: set[str] = set()  # Of all calls.
        self._by_index: dict[int, _Call] = {}
        self._stop: StopReason | None = None
        self._says_why = says_why
        self._thinking = False  # The last thing that came was a thought.
        self._details: list[dict[str, Any]] = []  # What came of thoughts that are to go back whole, and was not told.

    def feed(self, payloads: Sequence[bytes]) -> list[Delta]:
        deltas: list[Delta] = []
        add = deltas.append
        for payload in payloads:
            if self.finished or self.failure:
                break
            try:
                chunk = _decode(payload)
            except (DecodeError, UnicodeDecodeError, RecursionError):
                if payload.strip() == b"[DONE]" and (self._stop is not None or self._ends_unsaid()):
                    self._finish(deltas)
                continue
            choices = chunk.choices
            if choices:
                if not self._opened:
                    self._opened = True
                    deltas.insert(0, ReplyOpened())
                choice = choices[0]
                part = choice.delta
                if part is not None and choice.index == 0:
                    if part.content and not (
                        self._thinking
                        or part.tool_calls
                        or part.reasoning_content
                        or part.reasoning
                        or part.reasoning_details
                    ):
                        add(TextDelta(part.content))
                    else:
                        self._take(part, deltas)
                if choice.finish_reason:
                    self._close(choice.finish_reason)
                if choice.usage is not None and chunk.usage is None:
                    add(UsageReported(_usage(choice.usage)))
            if chunk.usage is not None:
                add(UsageReported(_usage(chunk.usage)))
                if not choices and self._stop is not None:
                    self._finish(deltas)  # The last chunk of all, by the protocol.
            elif chunk.error is not None:
                self.failure = from_fault(self._provider, chunk.error)
        return deltas

    def end(self, cut: ProviderError | None = None) -> list[Delta]:
        """Take the end of the body. A reply that has a reason to stop is complete, with or without [DONE]."""
        deltas: list[Delta] = []
        if self.finished or self.failure is not None:
            return deltas
        if self._stop is None and (cut is not None or not self._ends_unsaid()):
            self.failure = cut or cut_short(self._provider)
        else:
            self._finish(deltas)
        return deltas

    def _take(self, part: Part, deltas: list[Delta]) -> None:
        # Some servers send the same words under two names.
        if thought := part.reasoning_content or part.reasoning or part.reasoning_text:
            deltas.append(ThinkingDelta(thought))
            if not self._thinking and not part.reasoning_details:
                deltas.append(ThinkingSigned(_thought_field(part)))
            self._thinking = True
        if part.reasoning_details:
            self._thinking = True
            grow(self._details, part.reasoning_details)
        if words := part.content or part.refusal:
            self._end_thought(deltas)
            deltas.append(TextDelta(words))
        for piece in part.tool_calls or ():
            self._end_thought(deltas)
            self._grow(piece, deltas)

    def _end_thought(self, deltas: list[Delta]) -> None:
        """Tell what has to go back with the thought, if something else follows it."""
        self._thinking = False
        if self._details:
            deltas.append(ThinkingSigned(encode(self._details).decode()))
            self._details = []

    def _ends_unsaid(self) -> bool:
        return not self._says_why and self._opened

    def _grow(self, piece: CallPart, deltas: list[Delta]) -> None:
        name = piece.function.name if piece.function else None
        call = self._find(piece, name)
        if not call.opened and name:
            call.opened = True
            deltas.append(CallOpened(call.id, name))
        if call.opened and piece.function and piece.function.arguments:
            deltas.append(CallDelta(call.id, piece.function.arguments))

    def _find(self, piece: CallPart, name: str | None) -> _Call:
        """Return the call of a piece. Servers repeat ids, leave them out, or give all calls the same index."""
        index = piece.index
        if index is None:
            known = self._calls[-1] if self._calls else None
            another = piece.id is None or known is None or piece.id != known.said
        else:
            known = self._by_index.get(index)
            another = bool(piece.id) and known is not None and piece.id != known.said
        if known is not None and not (another and name and known.opened):
            return known
        call = _Call(unused(piece.id or f"call_{self._turn}_{len(self._calls)}", self._ids), piece.id)
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def _close(self, reason: str) -> None:
        if reason == "content_filter":
            self.failure = ModelRefused(self._provider, "the reply was stopped by the content filter")
        elif reason == "insufficient_system_resource":
            self.failure = ProviderUnavailable(self._provider, "the server ran out of resources")
        elif reason == "network_error":
            self.failure = ProviderUnavailable(self._provider, "the server lost its connection to the model")
        elif (stop := _STOPS.get(reason)) is None:
            self.failure = ended_oddly(self._provider, reason)
        else:
            # Some servers say `stop` even when they ask for a tool.
            self._stop = "tool_use" if stop == "end" and self._calls else stop

    def _finish(self, deltas: list[Delta]) -> None:
        self.finished = True
        self._end_thought(deltas)
        deltas.append(Stopped(self._stop or ("tool_use" if self._calls else "end")))


_GROWING = frozenset(("text", "summary", "data"))


def grow(details: list[dict[str, Any]], pieces: Sequence[dict[str, Any]]) -> None:
    """Add what a chunk brought of details: pieces of one detail have the same type and the same index."""
    for piece in pieces:
        last = details[-1] if details else None
        if last is None or any(last.get(key) != piece.get(key) for key in ("type", "index")):
            details.append(dict(piece))
            continue
        for key, value in piece.items():
            if key in _GROWING and isinstance(value, str) and isinstance(last.get(key), str):
                last[key] += value
            elif value is not None:
                last[key] = value


def _thought_field(part: Part) -> str:
    """Return the name of the field that a thought came in: its server wants it back under the same."""
    if part.reasoning_content:
        return "reasoning_content"
    return "reasoning" if part.reasoning else "reasoning_text"


def _usage(tokens: Tokens) -> Usage:
    prompt = counted(tokens.prompt_tokens)
    details = tokens.prompt_tokens_details
    read = (
        counted(details.cached_tokens if details else None)
        or counted(tokens.prompt_cache_hit_tokens)
        or counted(tokens.cached_tokens)
    )
    written = counted(details.cache_write_tokens if details else None)
    return Usage(max(prompt - read - written, 0), counted(tokens.completion_tokens), read, written)
