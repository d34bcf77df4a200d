"""Plans what the scripted model does, by the words of the prompt, which `model_server` explains. Pure."""

import json
import re
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Api: TypeAlias = Literal["anthropic", "openai", "responses", "google"]
Reason: TypeAlias = str
"""`end`, `tool`, `length`, `refusal`, `filter`, or what a vendor says itself."""


class Say(Struct, frozen=True):
    """Send a piece of text."""

    text: str


class Flood(Struct, frozen=True):
    """Send as many deltas `w0 w1 …`, prepared in advance."""

    count: int


class Think(Struct, frozen=True):
    """Send a piece of a thought."""

    text: str


class Call(Struct, frozen=True):
    """Call a tool."""

    name: str
    args: str  # The text of the arguments.
    pieces: int = 2  # How many pieces they come in.
    shown: int | None = None  # How many of these are sent; None is all.


class Pause(Struct, frozen=True):
    """Wait so long."""

    seconds: float


class Gate(Struct, frozen=True):
    """Wait until the test opens the gate."""

    name: str


class Raw(Struct, frozen=True):
    """Send these bytes as they are."""

    data: bytes


class Failed(Struct, frozen=True):
    """Send an error inside a stream that began well."""

    kind: str
    whole: bool = False  # Whether the reply itself says that it has failed, where an API can say so.


class Stop(Struct, frozen=True):
    """End the reply."""

    reason: Reason = "end"


class Cut(Struct, frozen=True):
    """Close the connection in the middle of the reply."""

    reset: bool = False


class Hang(Struct, frozen=True):
    """Send nothing more, and keep the connection."""


Step: TypeAlias = Say | Flood | Think | Call | Pause | Gate | Raw | Failed | Stop | Cut | Hang


class Refusal(Struct, frozen=True):
    """An answer with an error instead of a stream."""

    status: int
    kind: str
    message: str
    code: str | None = None
    retry_after: str | None = None


class Plan(Struct, frozen=True):
    """How one request is answered."""

    steps: tuple[Step, ...]
    refusal: Refusal | None = None  # Instead of the steps.
    head_after: float = 0.0  # Seconds.
    headless: bool = False  # Whether the steps are done without a head of HTTP before them.
    split: bool = False  # Whether everything comes in chunks of three bytes.
    crlf: bool = False  # Whether lines of the stream end in CRLF.
    cached: bool = False  # Whether the usage says that the prompt was cached.


class Prompt(Struct, frozen=True):
    """The newest user text, and how many replies have followed it."""

    text: str
    replies: int


HELLO = (Say("Hello "), Say("from the scripted model."), Stop())
ODD_TEXT = "héllo 🌍 \u2028\u2029 漢字 \x7f e\u0301 done"
_OVERFLOW = {
    "anthropic": Refusal(400, "invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum"),
    "openai": Refusal(
        400,
        "invalid_request_error",
        "This model's maximum context length is 128000 tokens, but the messages came to 213462.",
        "context_length_exceeded",
    ),
    "responses": Refusal(
        400, "invalid_request_error", "Your input exceeds the context window of this model.", "context_length_exceeded"
    ),
    "google": Refusal(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1213462) exceeds the maximum number of tokens allowed (1048576).",
    ),
}
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def newest_prompt(body: dict[str, Any]) -> Prompt:
    """Return the newest user text of a request, whichever API it is for."""
    text, replies, after_result = "", 0, False
    for message in body["messages"]:
        role, content = message["role"], message.get("content")
        if role == "assistant":
            replies += 1
        elif role == "user":
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if after_result and any(part["type"] == "image_url" for part in parts):
                continue  # A tool's image, which this API cannot carry in the result itself.
            words = [part["text"].strip() for part in parts if part["type"] == "text" and part["text"].strip()]
            if words:
                text, replies = words[-1], 0
        after_result = role == "tool"
    return Prompt(text, replies)


def plan(api: Api, body: dict[str, Any], seen: Callable[[str], int], summary: Callable[[], str] = str) -> Plan:
    """Return how a request is answered. `seen` counts the earlier requests that had this prompt; `summary` returns the
    directive for a request that asks for one, or nothing.
    """
    prompt = newest_prompt(body)
    if _summarising(body, prompt):
        if directive := summary():
            return _directed(api, directive, seen)
        held = re.search(r"HOLD SUMMARY (\w+)", prompt.text)
        failing = re.search(r"FAIL SUMMARY (\d+)", prompt.text)
        if failing and seen(failing[0]) < int(failing[1]):
            return Plan((), refusal=Refusal(529, _KINDS[529], "scripted failure", _KINDS[529]))
        return Plan((*([Gate(held[1])] if held else []), Say("SUMMARY: scripted"), Stop()))
    if not prompt.text.startswith("!"):
        return Plan(HELLO)
    return _directed(api, prompt.text.splitlines()[0], seen, prompt.replies)


def _directed(api: Api, line: str, seen: Callable[[str], int], replies: int = 0) -> Plan:
    """Return the plan of a directive."""
    word, *args = line[1:].split(" ")
    special = _special(api, word, args, lambda: seen(line))
    return special or Plan(_steps(word, args, replies))


def _summarising(body: dict[str, Any], prompt: Prompt) -> bool:
    """Return whether a request asks for the summary of a conversation."""
    if body.get("tools") and body.get("tool_choice") != {"type": "none"}:
        return False
    first = body["messages"][0]
    system = json.dumps(body.get("system") or (first["content"] if first["role"] in ("system", "developer") else ""))
    return "summar" in system.lower() or "summar" in prompt.text.lower()


def _special(api: Api, word: str, args: list[str], seen: Callable[[], int]) -> Plan | None:
    """Return the plan of a word that is more than a list of things to say; None for any other."""
    recovered = (Say("recovered"), Stop())
    match word, args:
        case "fail", [code, times, *wait]:
            status = int(code)
            kind = _KINDS.get(status, "api_error")
            refusal = Refusal(status, kind, "scripted failure", kind, wait[0] if wait else None)
            return Plan(recovered, refusal=refusal if seen() < int(times) else None)
        case "overflow", [times]:
            return Plan(recovered, refusal=_OVERFLOW[api] if seen() < int(times) else None)
        case "err", [code, *words]:
            wait = [word.removeprefix("retry-after=") for word in words if word.startswith("retry-after=")]
            said = " ".join(word for word in words if not word.startswith("retry-after="))
            return Plan((), refusal=Refusal(int(code), "some_error", said, None, wait[0] if wait else None))
        case "flaky", [times]:
            return Plan((Cut(),), headless=True) if seen() < int(times) else Plan(recovered)
        case "hanghead", _:
            return Plan((Hang(),), headless=True)
        case "slowhead", [ms]:
            return Plan(HELLO, head_after=float(ms) / 1000)
        case "reset", []:
            return Plan((Cut(reset=True),), headless=True)
        case "split", _:
            return Plan((Say(ODD_TEXT), Call("read", json.dumps({"path": ODD_TEXT}), 3), Stop("tool")), split=True)
        case "crlf", _:
            return Plan(HELLO, crlf=True)
        case "cache", _:
            return Plan(HELLO, cached=True)
        case _:
            return None


def _steps(word: str, args: list[str], replies: int) -> tuple[Step, ...]:
    """Return what a word has the model say, after so many replies to the same prompt."""
    match word, args:
        case "seq", _:
            return (Say("seq done"), Stop()) if replies else tuple(map(_told, json.loads(" ".join(args))))
        case "text", [count]:
            return (Flood(int(count)), Stop())
        case "text", [count, ms]:
            pause = Pause(float(ms) / 1000)
            paced: list[Step] = []
            for number in range(int(count)):
                paced += [Say(f"w{number} "), pause]
            return (*paced, Stop())
        case "think", _:
            return (Think("Let me "), Think("think."), Say("Thought."), Stop())
        case "tool", [name, *rest]:
            running = (Say("Running."), Call(name, " ".join(rest) or "{}", 3), Stop("tool"))
            return (Say("tool done"), Stop()) if replies else running
        case "tools", _:
            wanted = json.loads(" ".join(args))
            calls = tuple(Call(name, json.dumps(given)) for name, given in wanted)
            return (Say("tools done"), Stop()) if replies else (*calls, Stop("tool"))
        case "loop", [count, name, *rest]:
            call = (Call(name, " ".join(rest) or "{}"), Stop("tool"))
            return (Say("loop done"), Stop()) if replies >= int(count) else call
        case "thinkloop", [count, name, *rest]:
            if replies >= int(count):
                return (Think("Enough."), Say("loop done"), Stop())
            return (Think("Step by "), Think("step."), Call(name, " ".join(rest) or "{}"), Stop("tool"))
        case "toolargs", [count]:
            long = json.dumps({"path": "big.txt", "content": "x" * (int(count) * 4)})
            return (Say("written"), Stop()) if replies else (Call("write", long, int(count)), Stop("tool"))
        case "toolnone", _:
            return (Say("No call."), Stop("tool"))
        case "droptool", _:
            return (Call("write", json.dumps({"path": "a.txt", "content": "half"}), 4, shown=2), Cut())
        case "thinkcut", [count]:
            half = '{"path":"big.txt","content":"' + "x" * (int(count) * 4)
            return (Think("Let me "), Think("write."), Call("write", half, int(count)), Cut())
        case "thinklength", _:
            half = json.dumps({"path": "a.txt", "content": "half"})
            return (Think("Let me write."), Call("write", half, 4, shown=2), Stop("length"))
        case "lengthtool", _:
            return (Call("write", json.dumps({"path": "a.txt", "content": "half"}), 4, shown=2), Stop("length"))
        case "length", _:
            return (Say("cut sho"), Stop("length"))
        case "refusal", _:
            return (Say("I can"), Stop("refusal"))
        case "filter", _:
            return (Say("I can"), Stop("filter"))
        case "drop", [count]:
            return (Flood(int(count)), Cut())
        case "reset", [count]:
            return (Flood(int(count)), Cut(reset=True))
        case "hang", _:
            return (Hang(),)
        case "gate", [name]:
            return (Say("before "), Gate(name), Say("after"), Stop())
        case "sseerror", [kind]:
            return (Say("before "), Failed(kind))
        case "failed", [kind]:
            return (Say("before "), Failed(kind, whole=True))
        case "garbage", _:
            return (Say("before "), Raw(b"data: {not json\n\n"), Say("after"), Stop())
        case "utf8", _:
            return (*map(Say, ODD_TEXT), Stop())
        case _:
            return HELLO


def _told(step: list[Any]) -> Step:
    """Return a step of `!seq`."""
    match step:
        case ["text", str(text)]:
            return Say(text)
        case ["think", str(text)]:
            return Think(text)
        case ["sleep", ms]:
            return Pause(float(ms) / 1000)
        case ["tool", str(name), str(args), *pieces]:
            return Call(name, args, *pieces)
        case ["sse", str(name), event]:
            return Raw(b"event: %b\ndata: %b\n\n" % (name.encode(), json.dumps(event).encode()))
        case ["stop", str(reason)]:
            return Stop(reason)
        case _:
            raise ValueError(f"!seq has no step like {step}")
