"""The scripted model's side of OpenAI's Responses API: its event stream, and what it refuses. Pure.

What the model encrypts says which item it was and which model wrote it, so that a thought which another model gets, or
which comes without its neighbours, is refused as by the vendor.
"""

from base64 import b64decode, b64encode
from binascii import Error
from typing import Any
from zlib import crc32

from msgspec.json import encode

from linnet.testing.model_rules import TOOL_NAME, Refused, demand
from linnet.testing.model_script import Call, Failed, Reason, Say, Step, Stop, Think
from linnet.testing.model_wire import named, pieces

_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_KNOWN = {
    *{"model", "stream", "store", "include", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls"},
    *{"reasoning", "max_output_tokens", "stream_options", "prompt_cache_key", "prompt_cache_retention"},
    *{"prompt_cache_options", "text", "truncation", "metadata", "safety_identifier", "service_tier"},
}
_LONGEST = 64


def encrypted(item: str, model: str) -> str:
    """Return what stands for the thought of an item."""
    return b64encode(f"{item} {model}".encode()).decode()


def as_chat(body: dict[str, Any]) -> dict[str, Any]:
    """Return the words of a request as they would be in one for Chat Completions, for whoever plans the answer."""
    messages: list[dict[str, Any]] = []
    for item in body["input"]:
        if item.get("type") == "function_call_output":
            messages.append({"role": "tool", "content": ""})
        elif item.get("role") in ("user", "system", "developer"):
            content = item["content"]
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            texts = [{"type": "text", "text": part["text"]} for part in parts if "text" in part]
            messages.append({"role": item["role"], "content": texts})
        elif not messages or messages[-1]["role"] != "assistant":
            messages.append({"role": "assistant"})
    return {"system": body.get("instructions"), "messages": messages, "tools": body.get("tools")}


class ResponsesWire:
    """The stream of one reply. Each event but those of a flood has a number of its own."""

    def __init__(self, body: dict[str, Any], size: int, *, cached: bool) -> None:
        self._body = body
        self._turn = f"{crc32(encode(body['input'])):08x}"  # No two replies of a conversation have items alike.
        self._input = 1210 if cached else size // 4
        self._details = {"cached_tokens": 1000 if cached else 0, "cache_write_tokens": 200 if cached else 0}
        self._sequence = 0
        self._output: list[dict[str, Any]] = []
        self._open: dict[str, Any] | None = None  # The item that grows, the last of the output.
        self._text = ""  # Of that item.
        self._counted = 0

    def opening(self) -> list[bytes]:
        response = self._response("in_progress")
        return [
            self._event("response.created", response=response),
            self._event("response.in_progress", response=response),
        ]

    def events(self, step: Step) -> list[bytes]:
        match step:
            case Say(text):
                opened = self._begin("message")
                return [*opened, self._grown("response.output_text.delta", text, content_index=0, logprobs=[])]
            case Think(text):
                opened = self._begin("reasoning")
                return [*opened, self._grown("response.reasoning_summary_text.delta", text, summary_index=0)]
            case Call():
                return self._call(step)
            case Stop(reason):
                return self._stop(reason)
            case Failed(kind, whole):
                if not whole:
                    return [self._event("error", code=kind, message="scripted failure", param=None)]
                failed = {**self._response("failed"), "error": {"code": kind, "message": "scripted failure"}}
                return [self._event("response.failed", response=failed)]
            case _:
                return []

    def flood(self, count: int) -> tuple[list[bytes], bytes]:
        opened = self._begin("message")
        template = self._grown("response.output_text.delta", "w\x00 ", content_index=0, logprobs=[])
        self._text = self._text[:-3] + "".join(f"w{number} " for number in range(count))
        self._counted += count - 1
        return opened, template.replace(b"%", b"%%").replace(b"\\u0000", b"%d")

    def _call(self, call: Call) -> list[bytes]:
        opened = self._begin("function_call", call.name)
        sent = pieces(call.args, call.pieces)[: call.shown]
        return opened + [self._grown("response.function_call_arguments.delta", piece) for piece in sent]

    def _begin(self, kind: str, name: str = "") -> list[bytes]:
        """Return the events that make an item of this kind the open one: none, if text follows text."""
        if self._open is not None and self._open["type"] == kind and kind != "function_call":
            return []
        closed = self._close()
        index = len(self._output)
        bound = "r" if self._output and self._output[-1]["type"] == "reasoning" else ""  # To the thought before it.
        tail = f"{self._turn}_{index}{bound}"
        self._text = ""
        match kind:
            case "reasoning":
                item: dict[str, Any] = {"id": f"rs_{tail}", "type": kind, "summary": []}
            case "message":
                item = {"id": f"msg_{tail}", "type": kind, "status": "in_progress", "role": "assistant", "content": []}
            case _:
                ids = {"id": f"fc_{tail}", "call_id": f"call_{tail}"}
                item = {**ids, "type": kind, "status": "in_progress", "arguments": "", "name": name}
        self._output.append(item)
        self._open = item
        added = [self._event("response.output_item.added", output_index=index, item=item)]
        if kind == "reasoning":
            added.append(self._about("response.reasoning_summary_part.added", summary_index=0, part=_summary("")))
        elif kind == "message":
            added.append(self._about("response.content_part.added", content_index=0, part=_words("")))
        return closed + added

    def _close(self, status: str = "completed") -> list[bytes]:
        """Return the events that end the open item."""
        item, text = self._open, self._text
        if item is None:
            return []
        ended: dict[str, dict[str, Any]]
        match item["type"]:
            case "reasoning":
                ended = {"response.reasoning_summary_text.done": {"summary_index": 0, "text": text}}
                ended |= {"response.reasoning_summary_part.done": {"summary_index": 0, "part": _summary(text)}}
                item |= {"summary": [_summary(text)], "encrypted_content": encrypted(item["id"], self._body["model"])}
            case "message":
                ended = {"response.output_text.done": {"content_index": 0, "text": text, "logprobs": []}}
                ended |= {"response.content_part.done": {"content_index": 0, "part": _words(text)}}
                item |= {"content": [_words(text)], "status": status}
            case _:
                ended = {"response.function_call_arguments.done": {"arguments": text}}
                item |= {"arguments": text, "status": status}
        done = [self._about(type, **fields) for type, fields in ended.items()] if status == "completed" else []
        done.append(self._event("response.output_item.done", output_index=len(self._output) - 1, item=item))
        self._open = None
        return done

    def _stop(self, reason: Reason) -> list[bytes]:
        if reason == "refusal":
            return [
                *self._close(),
                *self._refuse(),
                self._event("response.completed", response=self._last("completed")),
            ]
        if reason in ("length", "filter"):
            why = {"length": "max_output_tokens", "filter": "content_filter"}[reason]
            closed = self._close("incomplete")
            last = {**self._last("incomplete"), "incomplete_details": {"reason": why}}
            return [*closed, self._event("response.incomplete", response=last)]
        return [*self._close(), self._event("response.completed", response=self._last("completed"))]

    def _refuse(self) -> list[bytes]:
        text = "I will not."
        index, id = len(self._output), f"msg_{self._turn}_{len(self._output)}"
        part = {"type": "refusal", "refusal": text}
        item = {"id": id, "type": "message", "status": "completed", "role": "assistant", "content": [part]}
        self._output.append(item)
        at = {"output_index": index, "item_id": id, "content_index": 0}
        return [
            self._event("response.output_item.added", output_index=index, item={**item, "content": []}),
            self._event("response.content_part.added", **at, part={**part, "refusal": ""}),
            self._event("response.refusal.delta", **at, delta=text),
            self._event("response.refusal.done", **at, refusal=text),
            self._event("response.content_part.done", **at, part=part),
            self._event("response.output_item.done", output_index=index, item=item),
        ]

    def _last(self, status: str) -> dict[str, Any]:
        usage = {
            "input_tokens": self._input,
            "input_tokens_details": self._details,
            "output_tokens": self._counted,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self._input + self._counted,
        }
        return {**self._response(status), "output": self._output, "usage": usage}

    def _response(self, status: str) -> dict[str, Any]:
        body = self._body
        return {
            "id": f"resp_{self._turn}",
            "object": "response",
            "created_at": 1,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": body.get("instructions"),
            "model": body["model"],
            "output": [],
            "parallel_tool_calls": body.get("parallel_tool_calls", True),
            "tool_choice": body.get("tool_choice", "auto"),
            "tools": body.get("tools", []),
            "metadata": {},
            "temperature": 1.0,
            "top_p": 1.0,
        }

    def _grown(self, type: str, text: str, **fields: Any) -> bytes:
        self._text += text
        self._counted += 1
        return self._about(type, delta=text, **fields)

    def _about(self, type: str, **fields: Any) -> bytes:
        """Return an event about the open item."""
        item = self._output[-1]
        return self._event(type, item_id=item["id"], output_index=len(self._output) - 1, **fields)

    def _event(self, type: str, **fields: Any) -> bytes:
        self._sequence += 1
        return named({"type": type, "sequence_number": self._sequence - 1, **fields})


def _summary(text: str) -> dict[str, Any]:
    return {"type": "summary_text", "text": text}


def _words(text: str) -> dict[str, Any]:
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def check_responses(body: dict[str, Any]) -> str | None:
    """Return why the Responses API would refuse a request; None if it would not."""
    try:
        _limits(body)
        _items(body)
    except Refused as refused:
        return str(refused)
    except (KeyError, TypeError, AttributeError) as broken:
        return f"malformed request: {broken!r}"
    return None


def _limits(body: dict[str, Any]) -> None:
    demand(isinstance(body.get("model"), str) and body["model"], "Missing required parameter: 'model'.")
    demand(isinstance(body.get("input"), list) and body["input"], "Missing required parameter: 'input'.")
    demand(body.get("stream") is True, "stream: the scripted model only streams")
    demand(body.get("store") is False, "store: the scripted model keeps nothing")
    for key in body:
        demand(key in _KNOWN, f"Unknown parameter: '{key}'.")
    demand(body.get("max_output_tokens", 16) >= 16, "Invalid 'max_output_tokens': expected a value >= 16.")
    demand(len(body.get("prompt_cache_key", "")) <= _LONGEST, "Invalid 'prompt_cache_key': string too long.")
    effort = (body.get("reasoning") or {}).get("effort", "low")
    demand(effort in _EFFORTS, f"Invalid value: '{effort}' for 'reasoning.effort'.")
    for tool in body.get("tools", ()):
        demand(tool["type"] == "function", "tools: only functions are known")
        demand(TOOL_NAME.fullmatch(tool["name"]), "Invalid 'tools[0].name': string does not match pattern.")
        demand("strict" in tool and tool["parameters"]["type"] == "object", "Invalid schema for function.")


def _items(body: dict[str, Any]) -> None:
    calls: list[str] = []  # Without an output so far.
    called: set[str] = set()
    seen: set[str] = set()
    before: dict[str, Any] = {}
    for at, item in enumerate(body["input"]):
        kind = item.get("type", "message")
        _paired(before, item)
        if id := item.get("id"):
            demand(id not in seen, f"Duplicate item found with id {id}. Remove duplicate items from your input.")
            demand(len(id) <= _LONGEST, f"Invalid 'input[{at}].id': string too long.")
            seen.add(id)
        match kind:
            case "message":
                _message(item, at)
            case "reasoning":
                _reasoning(item, body["model"])
            case "function_call":
                demand(
                    item.get("id", "fc").startswith("fc"),
                    f"Invalid 'input[{at}].id': expected an ID that begins with 'fc'.",
                )
                demand(isinstance(item["arguments"], str) and item["name"], f"Invalid 'input[{at}]'.")
                demand(len(item["call_id"]) <= _LONGEST, f"Invalid 'input[{at}].call_id': string too long.")
                demand(item["call_id"] not in calls, f"Duplicate call_id {item['call_id']}.")
                calls.append(item["call_id"])
                called.add(item["call_id"])
            case "function_call_output":
                id = item["call_id"]
                demand(id in called, f"No tool call found for function call output with call_id {id}.")
                demand(id in calls, f"Duplicate output for function call {id}.")
                _output(item["output"], at)
                calls.remove(id)
            case _:
                raise Refused(f"Invalid value: '{kind}' for 'input[{at}].type'.")
        before = item
    demand(not calls, f"No tool output found for function call {', '.join(calls)}.")
    _paired(before, {"role": "user"})


def _paired(before: dict[str, Any], item: dict[str, Any]) -> None:
    """Check that a thought is followed by what followed it, and that what followed a thought follows it again."""
    id, thought = item.get("id") or "", before.get("id") if before.get("type") == "reasoning" else None
    follows = item.get("type") in ("reasoning", "function_call") or item.get("role") == "assistant"
    if thought:
        demand(follows, f"Item '{thought}' of type 'reasoning' was provided without its required following item.")
        turn, _, index = thought.removeprefix("rs_").rstrip("r").partition("_")
        right = not id or not index or id.partition("_")[2] == f"{turn}_{int(index) + 1}r"
        demand(right, f"Item '{thought}' of type 'reasoning' was provided without its required following item.")
    elif id.endswith("r"):
        raise Refused(f"Item '{id}' was provided without its required 'reasoning' item.")


def _reasoning(item: dict[str, Any], model: str) -> None:
    id = item["id"]
    demand(isinstance(item["summary"], list), "reasoning: a summary is required")
    if not item.get("encrypted_content"):
        raise Refused(f"Item with id '{id}' not found. Items are not persisted when `store` is set to false.")
    try:
        said = b64decode(item["encrypted_content"], validate=True).decode("utf-8", "replace")
    except Error:
        said = ""
    demand(said == f"{id} {model}", f"The encrypted content for item {id} could not be verified.")


def _message(item: dict[str, Any], at: int) -> None:
    role, content = item["role"], item["content"]
    demand(role in ("user", "assistant", "system", "developer"), f"Invalid value: '{role}' for 'input[{at}].role'.")
    demand(item.get("id", "msg").startswith("msg"), f"Invalid 'input[{at}].id': expected an ID that begins with 'msg'.")
    demand(role == "assistant" or content, f"Invalid 'input[{at}].content': it must not be empty.")
    known = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image")
    for part in content if isinstance(content, list) else ():
        _part(part, known, at)


def _output(output: Any, at: int) -> None:
    demand(isinstance(output, str | list), f"Invalid 'input[{at}].output'.")
    for part in output if isinstance(output, list) else ():
        _part(part, ("input_text", "input_image"), at)


def _part(part: dict[str, Any], known: tuple[str, ...], at: int) -> None:
    demand(part["type"] in known, f"Invalid value: '{part['type']}'. Supported values are: {', '.join(known)}.")
    if part["type"] == "input_image":
        demand(part["image_url"].startswith(("data:image/", "https://")), f"Invalid 'input[{at}].content.image_url'.")
    else:
        demand(isinstance(part.get("text", part.get("refusal")), str), f"Missing text in 'input[{at}]'.")
