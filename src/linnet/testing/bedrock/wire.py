"""The scripted model as Bedrock's ConverseStream: what it answers, in frames of AWS's event stream. Pure."""

from collections.abc import Iterator
from itertools import chain
from struct import pack
from typing import Any
from urllib.parse import unquote
from zlib import crc32

from msgspec.json import encode
from msgspec.structs import replace

from linnet.testing.bedrock.rules import check_bedrock, stranger
from linnet.testing.model_script import Call, Failed, Plan, Raw, Reason, Refusal, Say, Step, Stop, Think, plan
from linnet.testing.model_wire import pieces

STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.amazon.eventstream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
_KINDS = {
    400: "ValidationException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
}


def is_converse(path: str) -> bool:
    return path.startswith("/model/") and path.endswith("/converse-stream")


def planned(path: str, headers: dict[str, str], raw: bytes, body: Any, seen: Any, now: float) -> Plan | bytes:
    """Return how a request is answered; the whole answer, if it is refused."""
    refusal = stranger(path, headers, raw, now)
    if refusal is None and not isinstance(body, dict):
        refusal = Refusal(400, "SerializationException", "the body is not a JSON object")
    if refusal is None and (wrong := check_bedrock(body, claude="claude" in unquote(path))):
        refusal = Refusal(400, "ValidationException", wrong)
    if refusal is not None:
        return _refused(refusal)
    found = plan("anthropic", _as_anthropic(body), seen)
    if found.refusal is not None:
        message = found.refusal.message
        if message.startswith("prompt is too long"):
            message = "Input is too long for requested model."
        kind = _KINDS.get(found.refusal.status, "ServiceUnavailableException")
        return _refused(replace(found.refusal, kind=kind, message=message))
    torn = frame({":message-type": "event", ":event-type": "contentBlockDelta"}, b"{not json")
    steps = tuple(Raw(torn) if isinstance(step, Raw) else step for step in found.steps)
    return replace(found, steps=steps, crlf=False)


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """Return one frame. All its headers are texts."""
    named = b"".join(
        pack("!B", len(name)) + name.encode() + pack("!BH", 7, len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = pack("!II", 16 + len(named) + len(payload), len(named))
    checked = prelude + pack("!I", crc32(prelude)) + named + payload
    return checked + pack("!I", crc32(checked))


class BedrockWire:
    def __init__(self, body: dict[str, Any], size: int, *, cached: bool) -> None:
        self._turn = len(body["messages"])
        self._usage: dict[str, Any] = {"inputTokens": 10 if cached else size // 4}
        if cached:
            details = [{"ttl": "1h", "inputTokens": 50}, {"ttl": "5m", "inputTokens": 150}]
            self._usage |= {"cacheReadInputTokens": 1000, "cacheWriteInputTokens": 200, "cacheDetails": details}
        self._index = -1
        self._open: str | None = None
        self._output = 0

    def opening(self) -> list[bytes]:
        return [_event("messageStart", {"role": "assistant"})]

    def events(self, step: Step) -> list[bytes]:
        match step:
            case Say(text):
                return [*self._block("text"), self._delta({"text": text})]
            case Think(text):
                return [*self._block("thought"), self._delta({"reasoningContent": {"text": text}})]
            case Call():
                return self._call(step)
            case Stop(reason):
                return [*self._close(), *self._stop(reason)]
            case Failed(kind):
                headers = {":message-type": "exception", ":exception-type": kind, ":content-type": "application/json"}
                return [frame(headers, b'{"message":"scripted failure"}')]
            case _:
                return []

    def flood(self, count: int) -> tuple[Iterator[bytes], bytes]:
        """Return all events of a flood. Each has checksums of its own, so that there is nothing to repeat."""
        self._output += count
        return chain(self._block("text"), _flooded(count, self._index)), b""

    def _call(self, call: Call) -> list[bytes]:
        opened = self._block(None)
        start = {"toolUse": {"toolUseId": f"tooluse_{self._turn}_{self._index}", "name": call.name}}
        sent = pieces(call.args, call.pieces)[: call.shown]
        return [
            *opened,
            _event("contentBlockStart", {"start": start, "contentBlockIndex": self._index}),
            *(self._delta({"toolUse": {"input": piece}}) for piece in sent),
        ]

    def _block(self, kind: str | None) -> list[bytes]:
        """Return the events that make a block of this kind the open one: only the end of another, if any."""
        if kind is not None and kind == self._open:
            return []
        closed = self._close()
        self._index += 1
        self._open = kind or "call"
        return closed

    def _close(self) -> list[bytes]:
        if self._open is None:
            return []
        signed = [self._delta({"reasoningContent": {"signature": "c2ln"}})] if self._open == "thought" else []
        self._open = None
        return [*signed, _event("contentBlockStop", {"contentBlockIndex": self._index})]

    def _delta(self, delta: dict[str, Any]) -> bytes:
        self._output += 1
        return _event("contentBlockDelta", {"delta": delta, "contentBlockIndex": self._index, "p": "abcdefgh"})

    def _stop(self, reason: Reason) -> list[bytes]:
        reasons = {
            "end": "end_turn",
            "tool": "tool_use",
            "length": "max_tokens",
            "filter": "content_filtered",
            "refusal": "guardrail_intervened",
        }
        usage = {**self._usage, "outputTokens": self._output, "totalTokens": self._output}
        return [
            _event("messageStop", {"stopReason": reasons[reason]}),
            _event("metadata", {"usage": usage, "metrics": {"latencyMs": 1}}),
        ]


def _event(kind: str, payload: dict[str, Any]) -> bytes:
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, encode(payload))


def _flooded(count: int, index: int) -> Iterator[bytes]:
    """Yield the deltas `w0 w1 …`. All of one length begin alike."""
    begun, known, start = b"", 0, 0
    for number in range(count):
        text = b"w%d " % number
        if len(text) != known:
            known = len(text)
            whole = _event("contentBlockDelta", {"contentBlockIndex": index, "delta": {"text": text.decode()}})
            begun = whole[: -4 - 3 - known]
            start = crc32(begun)
        rest = text + b'"}}'
        yield begun + rest + pack("!I", crc32(rest, start))


def _refused(refusal: Refusal) -> bytes:
    body = encode({"message": refusal.message})
    wait = f"Retry-After: {refusal.retry_after}\r\n" if refusal.retry_after else ""
    return (
        f"HTTP/1.1 {refusal.status} Scripted\r\nContent-Type: application/json\r\n"
        f"x-amzn-ErrorType: {refusal.kind}:http://internal.amazon.com/coral/\r\n"
        f"{wait}Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def _as_anthropic(body: dict[str, Any]) -> dict[str, Any]:
    """Return as much of a request as the script reads, in the form that it knows."""
    messages = [
        {
            "role": message["role"],
            "content": [{"type": "text", "text": part["text"]} for part in message["content"] if "text" in part],
        }
        for message in body["messages"]
    ]
    tools = [tool for tool in body.get("toolConfig", {}).get("tools", ()) if "toolSpec" in tool]
    offered = any(tool["toolSpec"].get("description") != "No longer available." for tool in tools)
    return {"messages": messages, "system": body.get("system", []), "tools": tools if offered else []}
