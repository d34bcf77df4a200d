"""Keeps the JSON of a reply that is still being written. What has been said is escaped once and only ever added to.

Each update repeats the whole message so far: encoding it anew each time would cost the square of its length.
"""

from collections import deque
from typing import TYPE_CHECKING

from linnet.core.events import PartStarted
from linnet.core.messages import ReplyPart, Text, Thinking, ToolCall
from linnet.wire.jsonl import encode_lines
from linnet.wire.pi import to_pi
from linnet.wire.pi.generations import PI, Generation

if TYPE_CHECKING:
    from linnet.wire.pi.partial_json import PartialJson

_NAMES = {"text": "text", "thinking": "thinking", "tool_call": "toolcall"}


class _Part:
    """A part of the reply. Invariant: `body` + `closing` is the part as it stands, with the comma before it."""

    __slots__ = ("arguments", "body", "closing", "ended", "grew")

    def __init__(self, started: PartStarted) -> None:
        kind = started.kind
        self.body = bytearray(b"," if started.index else b"")
        self.closing = b'"}'
        self.ended = False
        self.grew = _event(started.index, f"{_NAMES[kind]}_delta") + b',"delta":"'
        self.arguments: PartialJson | None = None
        if kind == "tool_call":
            empty = encode_lines([to_pi.part(ToolCall(started.call_id, started.name, {}))])
            self.body += empty.removesuffix(b"{}}\n")
            self.arguments = _arguments(self.body)
            self.closing = self.arguments.closers + b"}"
        else:
            self.body += b'{"type":"%b","%b":"' % (kind.encode(), kind.encode())

    def grow(self, text: str) -> bytes:
        """Add `text` to the part, and return it as it is inside a JSON string."""
        escaped = encode_lines([text])[1:-2]
        if self.arguments is None:
            self.body += escaped
        else:
            self.arguments.feed(text)
            self.closing = self.arguments.closers + b"}"
        return escaped

    def end(self, part: ReplyPart) -> None:
        """Replace what was shown by the final part, which may have a signature, or arguments that are no JSON."""
        self.ended = True
        self.body[self.body.startswith(b",") :] = encode_lines([to_pi.part(part)])[:-1]
        self.closing = b""


class Reply:
    """The reply so far. `start`, `grow` and `end` return what happened: an `assistantMessageEvent` without its end.

    Invariant: `now` is the whole message at this moment. It costs no more than its number of unfinished parts, however
    long they are, since its buffers are those that the parts grow in.
    """

    def __init__(self, empty: bytes, generation: Generation = PI) -> None:
        """`empty` is the message before its first word."""
        self._names_calls = generation.call_starts_named
        self._errors = generation.argument_errors
        at = empty.index(b"[]") + 1
        self._head = bytearray(empty[:at])
        self._tail = empty[at:]
        self._unfinished: deque[_Part] = deque()  # All parts from the first that can still grow on.
        self._open: dict[int, _Part] = {}

    def now(self) -> list[bytes | bytearray]:
        buffers: list[bytes | bytearray] = [self._head]
        for part in self._unfinished:
            buffers += (part.body, part.closing)
        buffers.append(self._tail)
        return buffers

    def start(self, started: PartStarted) -> bytes:
        part = self._open[started.index] = _Part(started)
        self._unfinished.append(part)
        event = _event(started.index, f"{_NAMES[started.kind]}_start")
        if self._names_calls and started.kind == "tool_call":
            named = encode_lines([{"id": started.call_id, "toolName": started.name}])
            event += b"," + named.removeprefix(b"{").removesuffix(b"}\n")
        return event

    def grow(self, index: int, text: str) -> bytes:
        part = self._open[index]
        return part.grew + part.grow(text) + b'"'

    def end(self, index: int, ended: ReplyPart) -> bytes:
        self._open.pop(index).end(ended)
        while self._unfinished and self._unfinished[0].ended:
            self._head += self._unfinished.popleft().body
        match ended:
            case Text(text):
                return _event(index, "text_end") + b',"content":' + encode_lines([text])[:-1]
            case Thinking(text):
                return _event(index, "thinking_end") + b',"content":' + encode_lines([text])[:-1]
            case ToolCall():
                told = to_pi.part(ended, errors=self._errors)
                return _event(index, "toolcall_end") + b',"toolCall":' + encode_lines([told])[:-1]


def _arguments(shown: bytearray) -> "PartialJson":
    from linnet.wire.pi.partial_json import PartialJson  # 1.3 ms that only a call should pay for.

    return PartialJson(shown)


def _event(index: int, type: str) -> bytes:
    return b',"assistantMessageEvent":{"type":"%b","contentIndex":%d' % (type.encode(), index)
