"""Writes the steps of a script as Google's event stream, and reads Google's requests as the script wants them. Pure."""

import json
from base64 import b64encode
from typing import Any

from msgspec.json import encode

from linnet.testing.model_script import Call, Failed, Reason, Refusal, Say, Step, Stop, Think

_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    529: "UNAVAILABLE",
}
_PASSING = ("overloaded_error", "api_error", "rate_limit_error", "server_error")


def signs(model: str) -> bool:
    """Return whether a model signs its calls, and wants ids for them."""
    return not model.startswith("gemini-2.")


def understood(body: dict[str, Any]) -> dict[str, Any]:
    """Return a request in the words that the script reads. The body has passed the rules."""
    messages: list[dict[str, Any]] = []
    for content in body["contents"]:
        parts = content["parts"]
        if content["role"] == "model":
            messages.append({"role": "assistant", "content": None})
        elif any("functionResponse" in part for part in parts):
            messages += [{"role": "tool", "content": ""} for _ in parts]
        else:
            kinds = [("text", part["text"]) if "text" in part else ("image_url", "") for part in parts]
            messages.append({"role": "user", "content": [{"type": kind, "text": text} for kind, text in kinds]})
    said = body.get("systemInstruction", {"parts": []})["parts"]
    return {"messages": messages, "system": [part["text"] for part in said], "tools": body.get("tools")}


class GeminiWire:
    """Implements Wire."""

    def __init__(self, model: str, body: dict[str, Any], size: int, *, cached: bool) -> None:
        self._model = model
        self._turn = len(body["contents"])
        self._input = 1210 if cached else size // 4
        self._cached = 1000 if cached else 0
        self._output = 0
        self._thoughts = 0
        self._calls = 0
        self._said = False

    def opening(self) -> list[bytes]:
        return []  # The first piece of the reply opens it.

    def events(self, step: Step) -> list[bytes]:
        match step:
            case Say(text):
                self._output += 1
                self._said = True
                return [self._chunk([{"text": text}])]
            case Think(text):
                self._thoughts += 1
                return [self._chunk([{"text": text, "thought": True}])]
            case Call():
                return self._call(step)
            case Stop(reason):
                return [self._stop(reason)]
            case Failed(kind):
                code = 503 if kind in _PASSING else 400
                fault = {"code": code, "message": "scripted failure", "status": _STATUSES[code]}
                return [_bare({"error": fault})]
            case _:
                return []

    def flood(self, count: int) -> tuple[list[bytes], bytes]:
        self._output += count
        self._said = True
        return [], self._chunk([{"text": "w\x00 "}]).replace(b"%", b"%%").replace(b"\\u0000", b"%d")

    def _call(self, call: Call) -> list[bytes]:
        """Return the call in one piece, as all calls come; none if it is not to be sent whole."""
        try:
            args = json.loads(call.args)
        except ValueError:
            args = None
        if call.shown is not None or not isinstance(args, dict):
            return []
        number, self._calls = self._calls, self._calls + 1
        self._output += 1
        part: dict[str, Any] = {"functionCall": {"name": call.name, "args": args}}
        if signs(self._model):
            part["functionCall"]["id"] = f"fc_{self._turn}_{number}"
            if number == 0:
                part["thoughtSignature"] = self._signature()
        return [self._chunk([part])]

    def _signature(self) -> str:
        return b64encode(f"signed by {self._model} in turn {self._turn}".encode()).decode()

    def _stop(self, reason: Reason) -> bytes:
        reasons = {"end": "STOP", "tool": "STOP", "length": "MAX_TOKENS", "refusal": "PROHIBITED_CONTENT"}
        signed = reason == "end" and self._said and not self._calls and signs(self._model)
        parts = [{"text": "", "thoughtSignature": self._signature()}] if signed else []
        return self._chunk(parts, reasons.get(reason, "SAFETY"))

    def _chunk(self, parts: list[dict[str, Any]], finish: str | None = None) -> bytes:
        candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if finish is not None:
            candidate["finishReason"] = finish
        usage = {"promptTokenCount": self._input, "totalTokenCount": self._input + self._output + self._thoughts}
        if finish is not None or self._output:
            usage["candidatesTokenCount"] = self._output
        if self._cached:
            usage["cachedContentTokenCount"] = self._cached
        if self._thoughts:
            usage["thoughtsTokenCount"] = self._thoughts
        return _bare(
            {
                "candidates": [candidate],
                "usageMetadata": usage,
                "modelVersion": self._model,
                "responseId": "scripted",
            }
        )


def gemini_refusal(refusal: Refusal) -> bytes:
    """Return the body of an answer that is an error."""
    details: list[dict[str, Any]] = []
    if refusal.retry_after is not None:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        details.append({"@type": kind, "retryDelay": f"{refusal.retry_after}s"})
    if refusal.code == "API_KEY_INVALID":
        details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": refusal.code})
    fault = {"code": refusal.status, "message": refusal.message, "status": _STATUSES.get(refusal.status, "UNKNOWN")}
    return encode({"error": {**fault, **({"details": details} if details else {})}})


def _bare(event: dict[str, Any]) -> bytes:
    return b"data: %b\n\n" % encode(event)
