"""pi: the events of a run: messages, updates, thoughts, tools, images."""

import json

from linnet.conform.check import Table, at, brief, expect
from linnet.conform.pi.by_generation import ALL, FIRST, FULL, LATER, NEWEST, TODAY, WORDS, reply, said, updates
from linnet.conform.play import Play
from linnet.conform.props import PNG
from linnet.conform.seen import Frame, Seen, first, kinds, one, only, positions

URL = "https://example.org/a.png"
TABLE = Table("pi RPC", *ALL)
check = TABLE.check
TOOL = "!tool bash {\"command\":\"printf 'one\\\\n'; printf 'two\\\\n'\"}"


@TABLE.scene("pi: a run")
def run(play: Play) -> None:
    play.prompt("p", "Say hello.")
    play.prompt("t", "!think")
    play.barrier()
    play.end()


@check("pi.command.prompt", run, "prompt")
def _(seen: Seen) -> None:
    """`prompt` is answered before its events."""
    seen.done("p")
    starts = positions(seen.frames, lambda frame: frame.get("type") == "agent_start")
    expect(starts and seen.frames.index(seen.response("p")) < starts[0], "`agent_start` came before the response")


@check("pi.event.agent_start", run, "agent_start")
def _(seen: Seen) -> None:
    """`agent_start` opens a run."""
    expect(seen.of("p")[:1] and seen.of("p")[0]["type"] == "agent_start", f"it printed {kinds(seen.of('p'))}")


@check("pi.event.agent_end", run, "agent_end")
def _(seen: Seen) -> None:
    """`agent_end` closes it, once, with all messages of the run."""
    roles = [at(message, "role") for message in at(one(seen.of("p"), "agent_end"), "messages")]
    expect([role for role in roles if role != "system"] == ["user", "assistant"], f"its messages are {roles}")


@check("pi.event.turn_start", run, "turn_start")
def _(seen: Seen) -> None:
    """`turn_start` opens a turn, before its messages."""
    names = [frame["type"] for frame in seen.of("p")]
    expect(names[1:2] == ["turn_start"] and names.count("turn_start") == 1, f"it printed {kinds(seen.of('p'))}")


@check("pi.event.turn_end", run, "turn_end")
def _(seen: Seen) -> None:
    """`turn_end` has the reply and the results of its calls."""
    end = one(seen.of("p"), "turn_end")
    expect(at(end, "toolResults") == [], f"its results are {brief(end.get('toolResults'))}")
    expect(
        at(end, "message", "content") == [{"type": "text", "text": WORDS}], f"its message is {brief(end['message'])}"
    )


@check("pi.event.message_start", run, "message_start", of=("pi.event.message_start", "pi.event.message_end"))
def _(seen: Seen) -> None:
    """`message_start` opens every message, and `message_end` closes it."""
    for id in ("p", "t"):
        names = [frame["type"] for frame in only(seen.of(id), "message_start", "message_end")]
        expect(names and names == ["message_start", "message_end"] * (len(names) // 2), f"it printed {names}")
    expect(said(seen.of("p")) == ["Say hello."], f"the user's messages were {said(seen.of('p'))}")
    message = reply(seen.of("p"))
    expect(at(message, "content") == [{"type": "text", "text": WORDS}], f"the reply was {brief(message)}")


@check("pi.event.message_start.empty", run, "message_start", of=("pi.event.message_start",), dialects=FIRST)
def _(seen: Seen) -> None:
    """A reply starts empty."""
    start = one(seen.of("p"), "message_start", lambda frame: at(frame, "message", "role") == "assistant")
    expect(at(start, "message", "content") == [], f"it starts with {brief(start['message']['content'])}")


@check("pi.event.message_update.text", run, "message_update")
def _(seen: Seen) -> None:
    """Text comes as `text_start`, `text_delta`… and `text_end` with its `content`."""
    new = updates(seen.of("p"))
    names = [at(each, "type") for each in new]
    expect(names[:1] == ["text_start"] and names[-1:] == ["text_end"], f"the updates were {names}")
    joined = "".join(str(at(each, "delta")) for each in new if each["type"] == "text_delta")
    expect(joined == WORDS, f"the deltas, joined, are {joined!r}")
    expect(at(new, -1, "content") == WORDS, f"`text_end` was {brief(new[-1])}")
    expect(all(isinstance(at(each, "contentIndex"), int) for each in new), "one has no `contentIndex`")


@check("pi.event.message_update", run, "message_update", dialects=FULL)
def _(seen: Seen) -> None:
    """`message_update` has the message so far and what is new in it."""
    grown = [at(frame, "message", "content") for frame in only(seen.of("p"), "message_update")]
    expect(grown and grown[-1] == [{"type": "text", "text": WORDS}], f"the last one had {brief(grown[-1:])}")
    for frame in only(seen.of("p"), "message_update"):
        at(frame, "assistantMessageEvent", "partial")


@check("pi.today.message_update.deltas", run, "observed", tier="must", dialects=TODAY)
def _(seen: Seen) -> None:
    """`message_update` has what is new and the usage so far, and not the message."""
    frames = only(seen.of("p"), "message_update")
    expect(frames, f"it printed {kinds(seen.of('p'))}")
    for frame in frames:
        at(frame, "usage")
        expect("message" not in frame and "partial" not in frame["assistantMessageEvent"], f"it was {brief(frame)}")


@check("pi.event.message_update.thinking", run, "message_update")
def _(seen: Seen) -> None:
    """Thoughts come as `thinking_start`, `thinking_delta`… and `thinking_end`."""
    names = [at(each, "type") for each in updates(seen.of("t")) if str(each.get("type")).startswith("thinking")]
    expect(names[:1] == ["thinking_start"] and names[-1:] == ["thinking_end"], f"the updates were {names}")
    text = "".join(str(at(each, "delta")) for each in updates(seen.of("t")) if each["type"] == "thinking_delta")
    expect(text == "Let me think.", f"the deltas, joined, are {text!r}")
    block = at(reply(seen.of("t")), "content", 0)
    expect(at(block, "type") == "thinking" and at(block, "thinking") == "Let me think.", f"it was {brief(block)}")


@check("pi.event.message_update.never", run, "observed", of=("pi.event.message_update",), whole=True)
def _(seen: Seen) -> None:
    """`start`, `done` and `error` are no updates, and deltas are of blocks that have begun."""
    begun: set[object] = set()
    for each in updates(seen.of("t")):
        kind = str(at(each, "type"))
        expect(kind not in ("start", "done", "error"), f"there was {brief(each)}")
        begun |= {each["contentIndex"]} if kind.endswith("_start") else set()
        expect(each["contentIndex"] in begun, f"a block had not begun: {brief(each)}")


@check("pi.today.agent_settled", run, "observed", tier="must", dialects=TODAY, whole=True)
def _(seen: Seen) -> None:
    """`agent_settled` comes once for each prompt, after everything else."""
    expect(len(only(seen.frames, "agent_settled")) == 2, f"two prompts had {len(only(seen.frames, 'agent_settled'))}")
    expect(seen.of("p")[-1]["type"] == "agent_settled", f"it printed {kinds(seen.of('p'))}")


@check("pi.today.agent_settled.aborted", run, "observed", tier="must", of=("pi.today.agent_settled",), dialects=NEWEST)
def _(seen: Seen) -> None:
    """`agent_settled` says whether the prompt was aborted."""
    expect(at(one(seen.of("p"), "agent_settled"), "aborted") is False, "it said that it was")


@check("pi.today.agent_end.will-retry", run, "observed", tier="must", of=("pi.today.settled",), dialects=TODAY)
def _(seen: Seen) -> None:
    """`agent_end` has `willRetry`."""
    expect(at(one(seen.of("p"), "agent_end"), "willRetry") is False, "it was not false")


@check("pi.type.system", run, "observed", tier="must", dialects=TODAY)
def _(seen: Seen) -> None:
    """The system prompt and the tools are told as a message, before the first prompt."""
    roles = [at(frame, "message", "role") for frame in only(seen.of("p"), "message_start")]
    expect(roles == ["system", "user", "assistant"], f"the messages are {roles}")
    message = at(first(seen.of("p"), "message_end"), "message")
    expect(at(message, "sections") and at(message, "toolsAdded"), f"it was {brief(message)}")


@TABLE.scene("pi: tools")
def tools(play: Play) -> None:
    play.prompt("p", TOOL)
    play.prompt("two", '!tools [["bash",{"command":"echo a"}],["nosuch",{}]]')
    play.prompt("long", '!tool bash {"command":"seq 1 5000"}')
    play.prompt("length", "!length")
    play.ask("get_session_stats", "stats")
    play.end()


@check("pi.event.message_update.toolcall", tools, "message_update")
def _(seen: Seen) -> None:
    """Calls come as `toolcall_start`, `toolcall_delta`… and `toolcall_end` with the `toolCall`."""
    new = [each for each in updates(seen.of("p")) if str(at(each, "type")).startswith("toolcall")]
    names = [each["type"] for each in new]
    expect(names[:1] == ["toolcall_start"] and names[-1:] == ["toolcall_end"], f"the updates were {names}")
    call = at(new, -1, "toolCall")
    expect(at(call, "name") == "bash" and "command" in at(call, "arguments"), f"it was {brief(call)}")
    joined = "".join(str(at(each, "delta")) for each in new if each["type"] == "toolcall_delta")
    expect(json.loads(joined) == call["arguments"], f"the deltas, joined, are {joined!r}")


@check("pi.today.toolcall_start", tools, "observed", tier="must", of=("pi.today.deltas",), dialects=TODAY)
def _(seen: Seen) -> None:
    """`toolcall_start` has the id and the name of the call."""
    start = next(each for each in updates(seen.of("p")) if each["type"] == "toolcall_start")
    expect(at(start, "id") and at(start, "toolName") == "bash", f"it was {brief(start)}")


@check("pi.event.tool_execution_start", tools, "tool_execution_start")
def _(seen: Seen) -> None:
    """`tool_execution_start` has the call with its arguments."""
    start = one(seen.of("p"), "tool_execution_start")
    expect(at(start, "toolName") == "bash" and "command" in at(start, "args"), f"it was {brief(start)}")
    call = at([block for block in at(one_call(seen), "content") if block["type"] == "toolCall"], 0)
    expect(at(start, "toolCallId") == at(call, "id"), "it has another id than the call")


@check("pi.event.tool_execution_update", tools, "tool_execution_update", whole=True)
def _(seen: Seen) -> None:
    """`tool_execution_update` has the call, and all that was printed so far."""
    shown = ""
    for frame in only(seen.of("p"), "tool_execution_update"):
        expect(
            at(frame, "toolName") == "bash" and at(frame, "toolCallId") and at(frame, "args"), f"it was {brief(frame)}"
        )
        text = "".join(at(block, "text") for block in at(frame, "partialResult", "content"))
        expect(text.startswith(shown), f"after {shown!r} it had {text!r}")
        shown = text


@check("pi.event.tool_execution_end", tools, "tool_execution_end")
def _(seen: Seen) -> None:
    """`tool_execution_end` has the result and whether it is an error."""
    end = one(seen.of("p"), "tool_execution_end")
    expect(at(end, "isError") is False and at(end, "toolName") == "bash", f"it was {brief(end)}")
    expect("two" in json.dumps(at(end, "result", "content")), f"what was printed is not in it: {brief(end)}")
    wrong = one(seen.of("two"), "tool_execution_end", lambda frame: frame.get("toolName") == "nosuch")
    expect(at(wrong, "isError") is True, "an unknown tool was no error")


@check("pi.type.toolResult", tools, "ToolResultMessage")
def _(seen: Seen) -> None:
    """A result has toolCallId, toolName, content, isError and timestamp, and is in `turn_end`."""
    message = at(first(seen.of("p"), "turn_end"), "toolResults", 0)
    for name in ("toolCallId", "toolName", "content", "timestamp"):
        at(message, name)
    expect(at(message, "role") == "toolResult" and at(message, "isError") is False, f"it was {brief(message)}")


@check("pi.type.assistant.stop", tools, "AssistantMessage")
def _(seen: Seen) -> None:
    """`stopReason` is `toolUse` when calls follow, `stop` at the end, `length` without tokens."""
    reasons = [at(frame, "message", "stopReason") for frame in only(seen.of("p"), "turn_end")]
    expect(reasons == ["toolUse", "stop"], f"they were {reasons}")
    last = [at(frame, "message", "stopReason") for frame in only(seen.of("length"), "turn_end")]
    expect("length" in last, f"they were {last}")


@check("pi.event.turns", tools, "turn_start", of=("pi.event.turn_start", "pi.event.turn_end"))
def _(seen: Seen) -> None:
    """Each reply is a turn: `turn_end` comes after the results of its calls, and the next turn follows."""
    names = [frame["type"] for frame in only(seen.of("two"), "turn_start", "turn_end", "tool_execution_end")]
    due = ["turn_start", "tool_execution_end", "tool_execution_end", "turn_end", "turn_start", "turn_end"]
    expect(names == due, f"it printed {names}")


@check("pi.command.get_session_stats.calls", tools, "get_session_stats", of=("pi.command.get_session_stats",))
def _(seen: Seen) -> None:
    """`get_session_stats` counts calls and results."""
    data = seen.data("stats")
    expect((at(data, "toolCalls"), at(data, "toolResults")) == (4, 4), f"they were {brief(data)}")


@check("pi.today.results.order", tools, "observed", of=("pi.today.captures",), dialects=LATER)
def _(seen: Seen) -> None:
    """Ends of tools come as they end, and the messages of all results after them, in the order of the calls."""
    frames = seen.of("two")
    ends = positions(frames, lambda frame: frame.get("type") == "tool_execution_end")
    results = positions(frames, lambda frame: _is_result(frame))
    expect(len(results) == 2 and results[0] > ends[-1], f"it printed {kinds(frames)}")
    names = [at(frames[index], "message", "toolName") for index in results]
    expect(names == ["bash", "nosuch"], f"the results are of {names}")


def _is_result(frame: Frame) -> bool:
    return frame.get("type") == "message_end" and at(frame, "message", "role") == "toolResult"


def one_call(seen: Seen) -> Frame:
    """Return the reply with the call."""
    message: Frame = at(first(seen.of("p"), "turn_end"), "message")
    return message


@TABLE.scene("pi: images")
def images(play: Play) -> None:
    if play.dialect == "pi":
        source = {"type": "base64", "mediaType": "image/png", "data": PNG}
        play.prompt("p", "Look.", images=[{"type": "image", "source": source}])
        play.prompt("u", "Look there.", images=[{"type": "image", "source": {"type": "url", "url": URL}}])
    play.prompt("q", "Look again.", images=[{"type": "image", "data": PNG, "mimeType": "image/png"}])
    play.end()


@check("pi.command.prompt.images", images, "prompt", dialects=FIRST)
def _(seen: Seen) -> None:
    """`images` in the form of the document reach the model."""
    expect(seen.requests and PNG in json.dumps(seen.requests[0]), "the request has no such image")


@check("pi.command.prompt.images.url", images, "prompt", dialects=FIRST)
def _(seen: Seen) -> None:
    """An image may be given by its URL, which reaches the model."""
    seen.done("u")
    expect(any(URL in json.dumps(body) for body in seen.requests), "no request has it")


@check("pi.command.prompt.images.content", images, "prompt", of=("pi.command.prompt.images",))
def _(seen: Seen) -> None:
    """`images` in the form of `ImageContent` reach the model."""
    expect(seen.requests and '"image"' in json.dumps(at(seen.requests, -1, "messages", -1)), "the request has no image")
