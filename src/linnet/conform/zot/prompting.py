"""zot: tools, images, failures, the order of prompts, models and compactions."""

import json
from base64 import b64decode

from linnet.conform.check import Table, at, brief, expect
from linnet.conform.play import Play
from linnet.conform.props import PNG
from linnet.conform.seen import Frame, Seen, first, kinds, one, only
from linnet.conform.zot.telling import expect_fields

TABLE = Table("zot RPC", "zot")
check = TABLE.check
TOOL = "!tool bash {\"command\":\"printf 'one\\\\n'; printf 'two\\\\n'\"}"


@TABLE.scene("zot: tools")
def tools(play: Play) -> None:
    play.prompt("p", TOOL)
    play.ask("get_messages", "messages")
    (play.folder / "i.png").write_bytes(b64decode(PNG))
    play.prompt("i", '!tool read {"path":"i.png"}')
    play.ask("get_messages", "pictures")
    play.prompt("n", '!tools [["nosuch",{}],["read",{"path":"absent.txt"}]]')
    play.end()


@check(
    "zot.event.tool_use_start",
    tools,
    "the monitor's table of events",
    of=("zot.event.tool_use_start", "zot.event.tool_use_args", "zot.event.tool_use_end", "monitor.event-names"),
)
def _(seen: Seen) -> None:
    """`tool_use_start`, `tool_use_args` and `tool_use_end` tell a call as the model writes it."""
    frames = seen.of("p")
    start = one(frames, "tool_use_start")
    expect(at(start, "name") == "bash", f"it was {brief(start)}")
    words = "".join(str(at(frame, "delta")) for frame in only(frames, "tool_use_args"))
    command = at(json.loads(words or "null"), "command")
    expect(command.startswith("printf"), f"the arguments, joined, are {words!r}")
    expect(at(one(frames, "tool_use_end"), "id") == at(start, "id"), "the ids of start and end differ")


@check("zot.event.tool_call", tools, "events")
def _(seen: Seen) -> None:
    """`tool_call` has the id, the name and the args of a call, as an object."""
    call = one(seen.of("p"), "tool_call")
    expect(at(call, "name") == "bash" and isinstance(at(call, "args"), dict), f"it was {brief(call)}")
    expect(isinstance(at(call, "id"), str), "its id is no text")


@check("zot.event.tool_result", tools, "events")
def _(seen: Seen) -> None:
    """`tool_result` has id, is_error and content, once for each call, in their order."""
    result = one(seen.of("p"), "tool_result")
    expect(at(result, "id") == at(one(seen.of("p"), "tool_call"), "id"), "it has another id than the call")
    expect(at(result, "is_error") is False, f"it was an error: {brief(result)}")
    expect("two" in json.dumps(at(result, "content")), f"what the tool printed is not in it: {brief(result)}")
    calls = [at(frame, "id") for frame in only(seen.of("n"), "tool_call")]
    results = [at(frame, "id") for frame in only(seen.of("n"), "tool_result")]
    expect(len(calls) == 2 and calls == results, f"the calls {calls} had the results {results}")


@check("zot.event.tool_progress", tools, "events", whole=True)
def _(seen: Seen) -> None:
    """`tool_progress`, where it comes, has the id of the call and what the tool printed."""
    for frame in only(seen.of("p"), "tool_progress"):
        expect(at(frame, "id") == at(one(seen.of("p"), "tool_call"), "id"), f"it was {brief(frame)}")
        expect(isinstance(at(frame, "text"), str), f"it was {brief(frame)}")


@check("zot.event.turn_end.tool_use", tools, "events", of=("zot.event.turn_end.tool_use",))
def _(seen: Seen) -> None:
    """`stop` is `tool_use` when calls follow, and the next `turn_start` is step 2."""
    ends = [at(frame, "stop") for frame in only(seen.of("p"), "turn_end")]
    expect(ends[:1] == ["tool_use"] and len(ends) == 2, f"the turns ended with {ends}")
    steps = [at(frame, "step") for frame in only(seen.of("p"), "turn_start")]
    expect(steps == [1, 2], f"the steps were {steps}")


@check("zot.block.tool_call", tools, "content block types")
def _(seen: Seen) -> None:
    """The transcript has the call as a block with id, name and args."""
    blocks = [block for message in at(seen.data("messages"), "messages") for block in at(message, "content")]
    call: Frame = next((block for block in blocks if block.get("type") == "tool_call"), {})
    expect(at(call, "name") == "bash" and isinstance(at(call, "args"), dict), f"it was {brief(call)}")
    at(call, "id")


@check("zot.block.tool_result", tools, "content block types")
def _(seen: Seen) -> None:
    """The transcript has the result as a block with call_id, is_error and content, which may hold images."""
    blocks = [block for message in at(seen.data("pictures"), "messages") for block in at(message, "content")]
    results = [block for block in blocks if block.get("type") == "tool_result"]
    expect(len(results) == 2, f"two calls have {len(results)} results")
    calls = [at(block, "id") for block in blocks if block.get("type") == "tool_call"]
    expect([at(block, "call_id") for block in results] == calls, "the results have other ids than the calls")
    expect(at(results, 0, "is_error") is False, f"it was {brief(results[0])}")
    image = [block for block in at(results, 1, "content") if block.get("type") == "image"]
    expect(image, f"the picture that was read is not in its result: {brief(results[1])}")


@check("zot.events.tool-order", tools, "observed")
def _(seen: Seen) -> None:
    """A tool turn prints the call as it streams, usage, message, calls, turn_end, then results, then the next turn."""
    names = [frame["type"] for frame in seen.of("p") if frame["type"] != "tool_progress"]
    marks = ["tool_use_end", "usage", "assistant_message", "tool_call", "turn_end", "tool_result", "turn_start"]
    places = [names.index(mark, names.index("tool_use_end")) if mark in names else -1 for mark in marks]
    expect(places == sorted(places) and -1 not in places, f"it printed {kinds(seen.of('p'))}")


@check("zot.tool.unknown", tools, "observed")
def _(seen: Seen) -> None:
    """An unknown tool, and one that fails, are for the model to read: the turn goes on."""
    flags = [at(frame, "is_error") for frame in only(seen.of("n"), "tool_result")]
    expect(flags == [True, True], f"`is_error` was {flags}")
    expect(at(only(seen.of("n"), "turn_start")[-1], "step") == 2, "the model was not asked again")


@check("zot.message.roles", tools, "observed")
def _(seen: Seen) -> None:
    """Results of one reply are one message of role `tool`."""
    roles = [at(message, "role") for message in at(seen.data("messages"), "messages")]
    expect(roles == ["user", "assistant", "tool", "assistant"], f"the roles were {roles}")


@check("zot.events.fields-of-tools", tools, "events", of=("zot.events.fields",), whole=True)
def _(seen: Seen) -> None:
    """The events of tools have the fields of the document and no others."""
    expect_fields(seen)


@TABLE.scene("zot: images")
def images(play: Play) -> None:
    play.prompt("p", "Look at this.", images=[{"mime_type": "image/png", "data": PNG}])
    play.ask("get_messages", "messages")
    play.end()


@check("zot.command.prompt.images", images, "prompt")
def _(seen: Seen) -> None:
    """Images of a prompt reach the model."""
    expect(seen.requests, "the model was not asked")
    expect(PNG in json.dumps(seen.requests[0]), "the request has no such image")


@check("zot.block.image", images, "content block types")
def _(seen: Seen) -> None:
    """An image block has its mime type and its size in bytes, never the data."""
    shown = at(one(seen.of("p"), "user_message"), "content")
    image: Frame = next((block for block in shown if block.get("type") == "image"), {})
    due = {"type": "image", "mime_type": "image/png", "bytes": len(b64decode(PNG))}
    expect(image == due, f"it was {brief(image)}")
    expect(PNG not in json.dumps(seen.frames), "the data is on the wire")


@TABLE.scene("zot: failures")
def failures(play: Play) -> None:
    play.prompt("f", "!err 401 no")
    play.prompt("l", "!length")
    play.prompt("n", "Go on.")
    play.prompt("c", "!drop 3")
    play.prompt("t", "!toolnone")
    play.prompt("h", "!lengthtool")
    play.prompt("a", "And after that?")
    play.end()


@check(
    "zot.event.turn_end.error",
    failures,
    "events; the captured transcript",
    of=("zot.event.turn_end.error", "zot.event.assistant_start", "monitor.failed-login"),
)
def _(seen: Seen) -> None:
    """`stop` is `error`, with the reason in `error`, when the call failed; there is no `assistant_start`."""
    end = one(seen.of("f"), "turn_end")
    expect(at(end, "stop") == "error" and isinstance(at(end, "error"), str), f"it was {brief(end)}")
    due = "user_message, turn_start, turn_end, error, done"
    expect(kinds(seen.of("f")) == due, f"it printed {kinds(seen.of('f'))}")
    expect(at(one(seen.of("f"), "error"), "message") == end["error"], "`error` says something else")


@check("zot.event.error", failures, "events")
def _(seen: Seen) -> None:
    """`error` has a message and is not fatal: the next prompt runs."""
    expect(isinstance(at(one(seen.of("f"), "error"), "message"), str), "its message is no text")
    expect(seen.of("n") and seen.of("n")[-1]["type"] == "done", "the prompt after it did not end with `done`")
    first(seen.of("n"), "text_delta")


@check("zot.event.turn_end.length", failures, "events")
def _(seen: Seen) -> None:
    """`stop` is `length` when the model ran out of tokens."""
    expect(at(one(seen.of("l"), "turn_end"), "stop") == "length", f"it was {brief(one(seen.of('l'), 'turn_end'))}")


@check("zot.defect.04", failures, "observed", tier="defect", originals={"zot": "defect 4: it counts as success"})
def _(seen: Seen) -> None:
    """A stream that the network cut is an error, and not a success."""
    ends = [at(frame, "stop") for frame in only(seen.of("c"), "turn_end")]
    expect(ends[-1:] == ["error"], f"the turns ended with {ends}")


@check("zot.defect.09", failures, "observed", tier="defect", originals={"zot": "defect 9: it loops for ever"})
def _(seen: Seen) -> None:
    """A stop for tools without a call ends the turn."""
    expect(
        len(only(seen.of("t"), "turn_start")) == 1, f"the model was asked {len(only(seen.of('t'), 'turn_start'))} times"
    )


@check(
    "zot.defect.05",
    failures,
    "observed",
    tier="defect",
    originals={"zot": "defect 5: the call has no result, and the API refuses every request until `clear`"},
)
def _(seen: Seen) -> None:
    """A reply that was cut inside a call does not spoil the next request."""
    expect(seen.of("a"), seen.stuck or "the next prompt printed nothing")
    end = only(seen.of("a"), "turn_end")[-1:]
    expect(end and at(end, 0, "stop") != "error", f"the next prompt ended with {brief(end)}")
