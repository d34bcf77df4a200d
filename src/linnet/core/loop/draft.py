"""Builds one assistant message from the deltas that a provider streams, and the events that tell of its growth."""

from collections.abc import Sequence
from typing import Any, assert_never

import msgspec

from linnet.core import deltas
from linnet.core.events import CallGrew, Event, PartEnded, PartKind, PartStarted, TextGrew, ThinkingGrew
from linnet.core.messages import AssistantMessage, ReplyPart, StopReason, Text, Thinking, ToolCall, Usage
from linnet.core.models import Model


class _Part:
    """A part of the message so far.

    Its pieces are kept apart until the end: joining them as they come would cost the square of their number.
    """

    __slots__ = ("bound", "call_id", "ended", "index", "kind", "name", "pieces", "redacted", "signature")

    def __init__(self, index: int, kind: PartKind, call_id: str = "", name: str = "") -> None:
        self.index = index
        self.kind = kind
        self.call_id = call_id
        self.name = name
        self.pieces: list[str] = []
        self.signature = ""
        self.redacted = False
        self.bound = ""
        self.ended: ReplyPart | None = None  # As it was told when it ended.

    def whole(self) -> ReplyPart:
        text = "".join(self.pieces)
        if self.kind == "text":
            return Text(text, self.signature)
        if self.kind == "thinking":
            return Thinking(text, self.signature, self.redacted, self.bound)
        args, unparsed = _arguments(text)
        return ToolCall(self.call_id, self.name, args, unparsed, self.signature)


class Draft:
    """A message so far. Invariant: its parts are in the order the model began them, and an ended part never grows; a
    thought that has ended may yet be signed.
    """

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._open: _Part | None = None  # The text or thinking block that a delta continues.
        self._calls: dict[str, _Part] = {}
        self._usage = Usage()
        self._stop: StopReason = "end"

    def add(self, batch: Sequence[deltas.Delta]) -> list[Event]:
        """Add what the deltas bring, and return the events that tell of it."""
        events: list[Event] = []
        for delta in batch:
            match delta:
                case deltas.TextDelta():
                    if delta.text:  # What is empty begins nothing.
                        part = self._block("text", events)
                        part.pieces.append(delta.text)
                        events.append(TextGrew(part.index, delta.text))
                case deltas.CallDelta():
                    call = self._calls.get(delta.id)
                    if call is not None and call.ended is None and delta.text:
                        call.pieces.append(delta.text)
                        events.append(CallGrew(call.index, delta.id, delta.text))
                case deltas.ThinkingDelta():
                    part = self._block("thinking", events)  # Also by one that is empty: it may be signed later.
                    part.pieces.append(delta.text)
                    events.append(ThinkingGrew(part.index, delta.text))
                case deltas.ThinkingSigned(nth=int(nth)):
                    self._sign_late(nth, delta)
                case deltas.ThinkingSigned():
                    part = self._block("thinking", events)
                    part.signature += delta.signature
                    part.redacted = delta.redacted
                    part.bound = delta.bound
                case deltas.TextSigned():
                    self._block("text", events).signature = delta.signature
                case deltas.CallSigned():
                    call = self._calls.get(delta.id)
                    if call is not None and call.ended is None:
                        call.signature = delta.signature
                case deltas.CallOpened():
                    self._close_block(events)
                    self._calls[delta.id] = self._begin("tool_call", events, delta.id, delta.name)
                case deltas.PartClosed():
                    if self._parts and self._parts[-1].ended is None:
                        self._close(self._parts[-1], events)
                case deltas.UsageReported():
                    self._usage = delta.usage
                case deltas.Stopped():
                    self._stop = delta.reason
                    for part in self._parts:
                        if part.ended is None:
                            self._close(part, events)
                case deltas.ReplyOpened():
                    pass
                case _:
                    assert_never(delta)
        return events

    @property
    def has_calls(self) -> bool:
        """Return whether the model has begun to write a call."""
        return bool(self._calls)

    @property
    def usage(self) -> Usage:
        return self._usage

    def message(
        self,
        time: int,
        model: Model,
        usage: Usage,
        stop: StopReason | None = None,
        error: str = "",
    ) -> AssistantMessage:
        """Return the reply as it stands. One that was cut short loses its calls: none of them will run."""
        parts = [part.ended or part.whole() for part in self._parts]
        stop = stop or self._stop
        if stop in ("error", "aborted", "length"):
            parts = [part for part in parts if not isinstance(part, ToolCall)]
        else:
            # Vendors disagree with themselves: a stop for tools without one, and tools with another stop.
            stop = "tool_use" if self._calls else "end"
        content = tuple([part for part in parts if isinstance(part, ToolCall) or part.text or part.signature])
        return AssistantMessage(content, time, model.provider, model.id, usage, stop, error, model.api)

    def _sign_late(self, nth: int, signed: deltas.ThinkingSigned) -> None:
        """Sign a thought that may have ended. Nobody is told: who shows a reply does not show signatures."""
        thoughts = [part for part in self._parts if part.kind == "thinking"]
        if nth < len(thoughts):
            part = thoughts[nth]
            part.signature, part.redacted, part.bound = signed.signature, signed.redacted, signed.bound
            if part.ended is not None:
                part.ended = part.whole()

    def _block(self, kind: PartKind, events: list[Event]) -> _Part:
        part = self._open
        if part is None or part.kind != kind:
            self._close_block(events)
            part = self._open = self._begin(kind, events)
        return part

    def _begin(self, kind: PartKind, events: list[Event], call_id: str = "", name: str = "") -> _Part:
        part = _Part(len(self._parts), kind, call_id, name)
        self._parts.append(part)
        events.append(PartStarted(part.index, kind, call_id, name))
        return part

    def _close_block(self, events: list[Event]) -> None:
        if self._open is not None:
            self._close(self._open, events)

    def _close(self, part: _Part, events: list[Event]) -> None:
        part.ended = part.whole()
        if part is self._open:
            self._open = None
        events.append(PartEnded(part.index, part.ended))


def _arguments(text: str) -> tuple[dict[str, Any], str]:
    """Return the arguments and, if they are no JSON object, the text itself. An empty text is an empty object."""
    if not text.strip():
        return {}, ""
    try:
        args = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}, text
    return (args, "") if isinstance(args, dict) else ({}, text)
