"""Puts the message that an agent is saying together from what each update adds, as pi sends it since 0.87. Pure."""

from collections.abc import Callable
from typing import Any

from msgspec import DecodeError
from msgspec.structs import replace

from linnet.decoding import decoder_of
from linnet.wire.pi.partial_json import PartialJson
from linnet.wire.pi.reading import incoming as pi

_arguments = decoder_of(dict[str, Any])


class PiDraft:
    """The message that is being said, or the last one that was.

    Invariant: what was put together equals what `message_end` says, but for what only that has: signatures of thoughts,
    the stop reason, the final usage, and how long it took.
    """

    def __init__(self) -> None:
        self._head: pi.Message | None = None  # All but its content.
        self._blocks: dict[int, _Text | _Call] = {}
        self._whole = True

    @property
    def is_whole(self) -> bool:
        """Whether `message` is what `message_end` said, or nothing was said yet."""
        return self._whole

    @property
    def message(self) -> pi.Message | None:
        """The message so far; None before the first. Put together when it is asked for."""
        if self._head is None or self._whole:
            return self._head
        return replace(self._head, content=[block.made() for _, block in sorted(self._blocks.items())])

    def add(self, event: object) -> None:
        """Take in the next event, of whatever kind."""
        match event:
            case pi.MessageUpdate():
                self._grow(event)
            case pi.MessageStart(message) if message.role == "assistant":
                self._begin(message)
            case pi.MessageEnd(message) if message.role == "assistant":
                self._head, self._whole = message, True
                self._blocks.clear()
            case _:
                pass

    def _begin(self, message: pi.Message) -> None:
        """Begin another message. What it has already is told again by updates, so it is dropped."""
        self._head, self._whole = replace(message, content=[]), False
        self._blocks.clear()

    def _grow(self, event: pi.MessageUpdate) -> None:
        if self._head is None or self._whole:  # Its beginning was missed.
            self._begin(pi.Message(role="assistant", stop_reason="pending"))
        if event.usage is not None and self._head is not None:
            self._head = replace(self._head, usage=event.usage)
        match event.update:
            case pi.TextDelta(delta, index):
                self._text(index, _said).parts.append(delta)
            case pi.ThinkingDelta(delta, index):
                self._text(index, _thought).parts.append(delta)
            case pi.TextStart(index):
                self._blocks[index] = _Text(_said)
            case pi.ThinkingStart(index):
                self._blocks[index] = _Text(_thought)
            case pi.TextEnd(content, index):
                self._text(index, _said).parts = [content]
            case pi.ThinkingEnd(content, index):
                self._text(index, _thought).parts = [content]
            case pi.ToolCallStart(index, id, name):
                self._blocks[index] = _Call(*((id, name) if id or name else _named(event.message, index)))
            case pi.ToolCallDelta(delta, index):
                self._call(index).feed(delta)
            case pi.ToolCallEnd(call, index):
                self._call(index).end(call)
            case _:
                pass

    def _text(self, index: int, kind: "Callable[[str], pi.Block]") -> "_Text":
        block = self._blocks.get(index)
        if not isinstance(block, _Text) or block.kind is not kind:
            block = self._blocks[index] = _Text(kind)
        return block

    def _call(self, index: int) -> "_Call":
        block = self._blocks.get(index)
        if not isinstance(block, _Call):
            block = self._blocks[index] = _Call()
        return block


class _Text:
    """Words or thoughts so far."""

    def __init__(self, kind: Callable[[str], pi.Block]) -> None:
        self.kind = kind
        self.parts: list[str] = []

    def made(self) -> pi.Block:
        if len(self.parts) > 1:
            self.parts = ["".join(self.parts)]
        return self.kind(self.parts[0] if self.parts else "")


class _Call:
    """A call so far: of its arguments, what can be told of an object that is still being written."""

    def __init__(self, id: str = "", name: str = "") -> None:
        self._block = pi.Block(type="toolCall", id=id, name=name)
        self._arguments: PartialJson | None = PartialJson()

    def feed(self, delta: str) -> None:
        if self._arguments is not None:
            self._arguments.feed(delta)

    def end(self, call: dict[str, Any]) -> None:
        """Take in the whole call."""
        self._arguments = None
        error = call.get("argumentsError")
        self._block = pi.Block(
            type="toolCall",
            id=str(call.get("id", self._block.id)),
            name=str(call.get("name", self._block.name)),
            arguments=call.get("arguments"),
            arguments_error=error if isinstance(error, str) else None,
        )

    def made(self) -> pi.Block:
        if self._arguments is None:
            return self._block
        try:
            arguments = _arguments.decode(bytes(self._arguments.shown) + self._arguments.closers)
        except (DecodeError, RecursionError):
            arguments = {}
        return replace(self._block, arguments=arguments)


def _said(text: str) -> pi.Block:
    return pi.Block(type="text", text=text)


def _thought(text: str) -> pi.Block:
    return pi.Block(type="thinking", thinking=text)


def _named(message: pi.Message | None, index: int) -> tuple[str, str]:
    """Return the id and the name of a call in the message so far, which earlier versions of pi repeat instead."""
    content = message.content if message else ""
    block = content[index] if isinstance(content, list) and index < len(content) else pi.Block()
    return block.id, block.name
