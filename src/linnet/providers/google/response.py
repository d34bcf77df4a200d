"""Reads the event stream of Google's generateContent API as deltas."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import DecodeError, Raw, Struct

from linnet.core.context.cost import counted
from linnet.core.deltas import (
    CallDelta,
    CallOpened,
    CallSigned,
    Delta,
    PartClosed,
    ReplyOpened,
    Stopped,
    TextDelta,
    TextSigned,
    ThinkingDelta,
    ThinkingSigned,
    UsageReported,
)
from linnet.core.messages import StopReason, Usage
from linnet.core.models import NOTHING
from linnet.decoding import decoder_of
from linnet.errors import ModelRefused, ProviderError, ProviderUnavailable
from linnet.providers.http.vendor_errors import Fault, cut_short, ended_oddly, from_fault

_STOPS: dict[str, StopReason] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "FUNCTION_CALL": "end",  # Said by servers that only speak like Google's.
}
_REFUSALS = frozenset(
    (
        *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "OTHER"),
        *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "IMAGE_OTHER", "NO_IMAGE"),
    )
)
# The model wrote what nobody can read, or called what is not there: another try mostly ends otherwise.
_SLIPS = frozenset(("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"))
_GOES_ON = "CONTINUATION"
_COUNTED = 32  # Each piece comes with a count of all tokens so far; one of so many is read, and the last.
_NO_COUNT = Raw(b"null")
_Kind: TypeAlias = Literal["", "text", "thinking"]


class FunctionCall(Struct, gc=False):
    name: str = ""
    args: Raw = Raw(b"{}")
    id: str | None = None


class Part(Struct, gc=False, rename="camel"):
    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None


class Content(Struct, gc=False):
    parts: list[Part] | None = None


class Candidate(Struct, gc=False, rename="camel"):
    content: Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    continuation_token: str | None = None
    index: int | None = None


class Tokens(Struct, gc=False, rename="camel"):
    prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None


class Feedback(Struct, gc=False, rename="camel"):
    block_reason: str | None = None
    block_reason_message: str | None = None


class Chunk(Struct, gc=False, rename="camel"):
    candidates: list[Candidate] | None = None
    usage_metadata: Raw = _NO_COUNT
    prompt_feedback: Feedback | None = None
    error: Fault | str | None = None


_decode = decoder_of(Chunk).decode
_decode_tokens = decoder_of(Tokens | None).decode


class Reader:
    """Reads one reply, which may come in several answers.

    Invariant: `feed` returns what came before a failure, so that no word is lost; then `failure` says why the reply
    ends, or `finished` that this answer is whole. If it has a `token` then, another answer has the rest.
    """

    def __init__(self, provider: str = "google", turn: int = 0, names: Mapping[str, str] = NOTHING) -> None:
        """`turn` makes the ids of calls unique where the model gives none. `names` are those of tools that had to be
        spelled otherwise.
        """
        self.finished = False
        self.failure: ProviderError | None = None
        self.token = ""
        self._provider = provider
        self._turn = turn
        self._names = names
        self._opened = False
        self._kind: _Kind = ""  # That of the block which a text may continue.
        self._signature = ""  # That of the open block. One of a thought is told when the thought is complete.
        self._ids: set[str] = set()
        self._stop: StopReason | None = None
        self._brought = False  # This answer had a part.
        self._counts = 0
        self._uncounted: Raw | None = None  # The last count, if it was not read.
        self._answer = Usage()  # That of this answer.
        self._before = Usage()  # That of earlier answers.

    def feed(self, payloads: Sequence[bytes]) -> list[Delta]:
        deltas: list[Delta] = []
        add = deltas.append
        in_text = self._kind == "text"
        if self.failure:
            return deltas
        for payload in payloads:
            try:
                chunk = _decode(payload)
            except (DecodeError, UnicodeDecodeError, RecursionError):
                continue
            if chunk.usage_metadata is not _NO_COUNT:
                self._uncounted = chunk.usage_metadata
            if in_text and chunk.candidates:  # Nearly always one more piece of the open text, and nothing else.
                candidate = chunk.candidates[0]
                content = candidate.content
                if content and content.parts and not (candidate.finish_reason or candidate.index):
                    part = content.parts[0]
                    special = part.thought or part.thought_signature or part.function_call
                    if part.text and not special and len(content.parts) == 1:
                        self._brought = True
                        add(TextDelta(part.text))
                        continue
            self._take(chunk, deltas)
            if self.failure:
                break
            in_text = self._kind == "text"
        if self._uncounted is not None and self._brought:
            if self._counts % _COUNTED == 0 or self._stop is not None or self.failure is not None:
                self._count(deltas)
            self._counts += 1
        return self._begun(deltas)

    def end(self, cut: ProviderError | None = None) -> list[Delta]:
        """Take the end of the body. An answer that has a reason to stop is complete."""
        deltas: list[Delta] = []
        if self.finished or self.failure is not None:
            return deltas
        if self._uncounted is not None and self._brought:
            self._count(deltas)
        if self._stop is None and not self.token:
            self._complete(deltas)
            self.failure = cut or cut_short(self._provider)
        elif self.token and not self._brought:
            self.failure = ProviderUnavailable(self._provider, "the model does not go on with its reply")
        elif self._stop == "end" and not self._opened:
            self.failure = ProviderUnavailable(self._provider, "the model answered with nothing")
        else:
            self.finished = True
            if not self.token:
                self._complete(deltas)
                deltas.append(Stopped("tool_use" if self._ids and self._stop == "end" else self._stop or "end"))
        return self._begun(deltas)

    def go_on(self) -> str:
        """Return the token that asks for the rest of the reply, and expect its answer; empty if the reply is whole."""
        token, self.token = self.token, ""
        if token:
            self.finished = False
            self._brought = False
            self._before = _sum(self._before, self._answer)
            self._answer = Usage()
        return token

    def _begun(self, deltas: list[Delta]) -> list[Delta]:
        if deltas and not self._opened:
            self._opened = True
            deltas.insert(0, ReplyOpened())
        return deltas

    def _take(self, chunk: Chunk, deltas: list[Delta]) -> None:
        if chunk.candidates:
            candidate = chunk.candidates[0]
            if candidate.index:
                return
            if candidate.content is not None:
                for at, part in enumerate(candidate.content.parts or ()):
                    self._add(part, deltas, apart=at > 0)
            if candidate.finish_reason:
                self._close(candidate.finish_reason, candidate, deltas)
        elif chunk.error is not None:
            self._complete(deltas)
            self.failure = from_fault(self._provider, chunk.error)
        elif chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            self.failure = self._blocked(chunk.prompt_feedback)

    def _add(self, part: Part, deltas: list[Delta], *, apart: bool) -> None:
        """Take one part. `apart`: it came with another one before it, and is no continuation of that."""
        signature = part.thought_signature or ""
        if part.function_call is not None:
            self._complete(deltas)
            self._call(part.function_call, signature, deltas)
            return
        if not part.text and not (signature and part.text is not None):
            return
        kind: _Kind = "thinking" if part.thought else "text"
        if self._kind and (kind != self._kind or (apart and (signature or self._signature))):
            self._complete(deltas)
            deltas.append(PartClosed())
        self._kind = kind
        self._brought = True
        self._signature = signature or self._signature
        if part.text:
            deltas.append(ThinkingDelta(part.text) if kind == "thinking" else TextDelta(part.text))
        if signature and kind == "text":
            deltas.append(TextSigned(signature))

    def _call(self, call: FunctionCall, signature: str, deltas: list[Delta]) -> None:
        self._brought = True
        number = len(self._ids)
        id = call.id or f"call_{self._turn}_{number}"
        while id in self._ids:
            id = f"call_{self._turn}_{number}"
            number += 1
        self._ids.add(id)
        deltas.append(CallOpened(id, self._names.get(call.name, call.name)))
        args = bytes(call.args)
        deltas.append(CallDelta(id, args.decode("utf-8", "replace") if args != b"null" else "{}"))
        if signature:
            deltas.append(CallSigned(id, signature))
        deltas.append(PartClosed())

    def _complete(self, deltas: list[Delta]) -> None:
        """Take the open block to be complete."""
        if self._kind == "thinking" and self._signature:
            deltas.append(ThinkingSigned(self._signature))
        self._kind = ""
        self._signature = ""

    def _close(self, reason: str, candidate: Candidate, deltas: list[Delta]) -> None:
        """Take a reason to stop. Some models give one with every piece: the last one counts."""
        said = f": {candidate.finish_message}" if candidate.finish_message else ""
        self.token = ""
        if reason in _STOPS:
            self._stop = _STOPS[reason]
            return
        if reason == _GOES_ON:
            self.token = candidate.continuation_token or ""
            self._stop = "length"  # Without a token, this is all there is.
            return
        self._complete(deltas)
        if reason in _REFUSALS:
            self.failure = ModelRefused(self._provider, f"the model refused to answer ({reason}{said})")
        elif reason in _SLIPS:
            self.failure = ProviderUnavailable(self._provider, f"the model's reply cannot be used ({reason}{said})")
        else:
            self.failure = ended_oddly(self._provider, reason, said)

    def _blocked(self, feedback: Feedback) -> ProviderError:
        said = f": {feedback.block_reason_message}" if feedback.block_reason_message else ""
        return ModelRefused(self._provider, f"the prompt was blocked ({feedback.block_reason}{said})")

    def _count(self, deltas: list[Delta]) -> None:
        """Report the usage so far. Each count is that of the whole answer; the last one is right."""
        given, self._uncounted = self._uncounted, None
        try:
            tokens = _decode_tokens(given or b"null")
        except (DecodeError, RecursionError):
            return
        if tokens is not None:
            self._answer = _usage(tokens)
            deltas.append(UsageReported(_sum(self._before, self._answer)))


def _usage(tokens: Tokens) -> Usage:
    read = counted(tokens.cached_content_token_count)
    prompt = counted(tokens.prompt_token_count) + counted(tokens.tool_use_prompt_token_count)
    output = counted(tokens.candidates_token_count) + counted(tokens.thoughts_token_count)
    return Usage(max(prompt - read, 0), output, read)


def _sum(before: Usage, answer: Usage) -> Usage:
    return Usage(before.input + answer.input, before.output + answer.output, before.cache_read + answer.cache_read)
