"""Writes the steps of a script as the events of the vendors' streams. Pure."""

from collections.abc import Iterable
from typing import Any, Protocol

from msgspec.json import encode

from linnet.testing.model_script import Call, Failed, Reason, Refusal, Say, Step, Stop, Think

_SEGMENT = 256 * 1024


class Wire(Protocol):
    """The stream of one reply. Each method returns whole events, ready to be framed."""

    def opening(self) -> list[bytes]:
        """Return the events that begin the stream."""

    def events(self, step: Step) -> list[bytes]:
        """Return the events of a step; none for what sends none."""

    def flood(self, count: int) -> tuple[Iterable[bytes], bytes]:
        """Return the events before a flood, and the one to repeat, with a %d in it; or all events, and nothing."""


def pieces(text: str, count: int) -> list[str]:
    """Return a text in so many pieces, or fewer if it is short."""
    step = -(-len(text) // max(1, min(count, len(text)))) if text else 1
    return [text[at : at + step] for at in range(0, len(text), step)]


def framed(event: bytes) -> bytes:
    """Return an event as a chunk of HTTP."""
    return b"%x\r\n%b\r\n" % (len(event), event)


def flooded(event: bytes, count: int) -> list[bytes]:
    """Return blocks of chunks, one for each number; `event` holds one %d.

    Numbers of equal length make chunks of equal size, so one format call fills a block.
    """
    blocks: list[bytes] = []
    first, digits = 0, 1
    while first < count:
        last = min(count, 10**digits)
        chunk = b"%x\r\n%b\r\n" % (len(event % 0) - 1 + digits, event)
        at_once = max(1, _SEGMENT // len(chunk))
        for start in range(first, last, at_once):
            numbers = tuple(range(start, min(last, start + at_once)))
            blocks.append(chunk * len(numbers) % numbers)
        first, digits = last, digits + 1
    return blocks


class AnthropicWire:
    def __init__(self, body: dict[str, Any], size: int, *, cached: bool) -> None:
        self._model = body["model"]
        self._turn = len(body["messages"])
        self._input = {
            "input_tokens": 10 if cached else size // 4,
            "cache_creation_input_tokens": 200 if cached else 0,
            "cache_read_input_tokens": 1000 if cached else 0,
        }
        self._index = -1
        self._open: str | None = None
        self._output = 0

    def opening(self) -> list[bytes]:
        message = {
            "id": "msg_scripted",
            "type": "message",
            "role": "assistant",
            "model": self._model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**self._input, "output_tokens": 1},
        }
        return [named({"type": "message_start", "message": message}), named({"type": "ping"})]

    def events(self, step: Step) -> list[bytes]:
        match step:
            case Say(text):
                opened = self._block("text", {"type": "text", "text": ""})
                return [*opened, self._delta({"type": "text_delta", "text": text})]
            case Think(text):
                opened = self._block("thinking", {"type": "thinking", "thinking": "", "signature": ""})
                return [*opened, self._delta({"type": "thinking_delta", "thinking": text})]
            case Call():
                return self._call(step)
            case Stop(reason):
                return self._close() + self._stop(reason)
            case Failed(kind):
                return [named({"type": "error", "error": {"type": kind, "message": "scripted failure"}})]
            case _:
                return []

    def flood(self, count: int) -> tuple[list[bytes], bytes]:
        opened = self._block("text", {"type": "text", "text": ""})
        self._output += count
        template = (
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,'
            b'"delta":{"type":"text_delta","text":"w%%d "}}\n\n' % self._index
        )
        return opened, template

    def _call(self, call: Call) -> list[bytes]:
        start = {"type": "tool_use", "id": f"toolu_{self._turn}_{self._index + 1}", "name": call.name, "input": {}}
        opened = self._block(None, start)
        sent = pieces(call.args, call.pieces)[: call.shown]
        return opened + [self._delta({"type": "input_json_delta", "partial_json": piece}) for piece in sent]

    def _block(self, kind: str | None, start: dict[str, Any]) -> list[bytes]:
        """Return the events that make this block the open one: none, if text follows text."""
        if kind is not None and kind == self._open:
            return []
        closed = self._close()
        self._index += 1
        self._open = kind or "call"
        return [*closed, named({"type": "content_block_start", "index": self._index, "content_block": start})]

    def _close(self) -> list[bytes]:
        if self._open is None:
            return []
        signed = [self._delta({"type": "signature_delta", "signature": "c2ln"})] if self._open == "thinking" else []
        self._open = None
        return [*signed, named({"type": "content_block_stop", "index": self._index})]

    def _delta(self, delta: dict[str, Any]) -> bytes:
        self._output += 1
        return named({"type": "content_block_delta", "index": self._index, "delta": delta})

    def _stop(self, reason: Reason) -> list[bytes]:
        reasons = {"end": "end_turn", "tool": "tool_use", "length": "max_tokens", "filter": "refusal"}
        delta = {"stop_reason": reasons.get(reason, reason), "stop_sequence": None}
        usage = {**self._input, "output_tokens": self._output}
        return [named({"type": "message_delta", "delta": delta, "usage": usage}), named({"type": "message_stop"})]


class OpenAIWire:
    def __init__(self, body: dict[str, Any], size: int, *, cached: bool) -> None:
        self._model = body["model"]
        self._turn = len(body["messages"])
        self._counts = bool((body.get("stream_options") or {}).get("include_usage"))
        self._input = 1210 if cached else size // 4
        self._cached = 1000 if cached else 0
        self._calls = 0
        self._output = 0

    def opening(self) -> list[bytes]:
        return [self._chunk({"role": "assistant", "content": ""})]

    def events(self, step: Step) -> list[bytes]:
        match step:
            case Say(text):
                return [self._counted({"content": text})]
            case Think(text):
                return [self._counted({"reasoning_content": text})]
            case Call():
                return self._call(step)
            case Stop("refusal"):
                return [self._counted({"refusal": "I will not."}), *self._stop("end")]
            case Stop(reason):
                return self._stop(reason)
            case Failed(kind):
                return [_bare({"error": {"type": kind, "code": kind, "message": "scripted failure", "param": None}})]
            case _:
                return []

    def flood(self, count: int) -> tuple[list[bytes], bytes]:
        self._output += count
        return [], self._chunk({"content": "w\x00 "}).replace(b"%", b"%%").replace(b"\\u0000", b"%d")

    def _call(self, call: Call) -> list[bytes]:
        index = self._calls
        self._calls += 1
        function = {"name": call.name, "arguments": ""}
        start = {"index": index, "id": f"call_{self._turn}_{index}", "type": "function", "function": function}
        sent = pieces(call.args, call.pieces)[: call.shown]
        return [
            self._chunk({"role": "assistant", "content": None, "tool_calls": [start]}),
            *(self._counted({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}) for piece in sent),
        ]

    def _stop(self, reason: Reason) -> list[bytes]:
        reasons = {"end": "stop", "tool": "tool_calls", "length": "length", "filter": "content_filter"}
        closing = [self._chunk({}, reasons.get(reason, reason))]
        if self._counts:
            usage = {
                "prompt_tokens": self._input,
                "completion_tokens": self._output,
                "total_tokens": self._input + self._output,
                "prompt_tokens_details": {"cached_tokens": self._cached},
            }
            closing.append(_bare({**self._frame(), "choices": [], "usage": usage}))
        return [*closing, b"data: [DONE]\n\n"]

    def _counted(self, delta: dict[str, Any]) -> bytes:
        self._output += 1
        return self._chunk(delta)

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        return _bare({**self._frame(), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def _frame(self) -> dict[str, Any]:
        return {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1, "model": self._model}


def anthropic_refusal(refusal: Refusal) -> bytes:
    return encode({"type": "error", "error": {"type": refusal.kind, "message": refusal.message}})


def openai_refusal(refusal: Refusal) -> bytes:
    return encode({"error": {"message": refusal.message, "type": refusal.kind, "param": None, "code": refusal.code}})


def named(event: dict[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (event["type"].encode(), encode(event))


def _bare(event: dict[str, Any]) -> bytes:
    return b"data: %b\n\n" % encode(event)
