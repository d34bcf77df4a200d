"""pi: the process, its lines, and the commands that are answered at once."""

import json

from linnet.conform.check import Table, at, brief, expect
from linnet.conform.pi.by_generation import ALL, FIRST, NEWEST, WORDS, messages
from linnet.conform.play import Play
from linnet.conform.seen import Seen, only

TABLE = Table("pi RPC", *ALL)
check = TABLE.check
STATE = (
    *("model", "thinkingLevel", "isStreaming", "isCompacting", "steeringMode", "followUpMode"),
    *("sessionId", "autoCompactionEnabled", "messageCount", "pendingMessageCount"),
)
MODEL = ("id", "name", "api", "provider", "baseUrl", "reasoning", "input", "contextWindow", "maxTokens", "cost")


@TABLE.scene("pi: queries")
def queries(play: Play) -> None:
    play.ask("get_state", "state")
    play.ask("get_last_assistant_text", "nothing")
    play.prompt("p", "Say hello.")
    play.ask("get_state", "after")
    play.ask("get_messages", "messages")
    play.ask("get_session_stats", "stats")
    play.ask("get_last_assistant_text", "text")
    play.ask("get_available_models", "models")
    play.ask("abort", "idle")
    play.send_bytes(b'{"type":"get_state"}\n')
    play.send_bytes(b'{"id":7,"type":"get_state"}\n')
    play.barrier()
    play.end()


@check("pi.process.mode", queries, "start")
def _(seen: Seen) -> None:
    """It reads commands on stdin and prints responses on stdout."""
    expect(seen.frames, f"nothing that could be understood was printed; stderr: {brief(seen.stderr) or 'nothing'}")
    seen.response("state")


@check("pi.wire.lines", queries, "overview", whole=True)
def _(seen: Seen) -> None:
    """Each line on stdout is one JSON object that ends with a line feed."""
    expect(seen.frames or seen.bad_lines, "nothing was printed")
    expect(not seen.bad_lines, f"a line was no JSON object: {seen.bad_lines[:1]}")
    expect(not seen.torn, f"the last line had no line feed: {seen.torn[:80]!r}")
    expect(all(isinstance(frame.get("type"), str) for frame in seen.frames), "a frame had no `type`")


@check("pi.wire.response", queries, "overview")
def _(seen: Seen) -> None:
    """Each command gets exactly one response, with its name and `success`."""
    names = {"state": "get_state", "p": "prompt", "messages": "get_messages", "stats": "get_session_stats"}
    for id, command in names.items():
        response = seen.done(id)
        expect(response.get("command") == command, f"the response of {command} was {brief(response)}")


@check("pi.wire.id", queries, "overview", whole=True)
def _(seen: Seen) -> None:
    """The response has the command's id, whatever its type, and none if there was none."""
    seen.done(7)
    expect(
        [f for f in only(seen.frames, "response") if "id" not in f],
        "the command without an id has no response without one",
    )


@check("pi.wire.no-id-on-events", queries, "events", whole=True)
def _(seen: Seen) -> None:
    """Events have no `id`."""
    expect(not [frame for frame in seen.events() if "id" in frame], "an event had one")


@check("pi.command.get_state", queries, "get_state", of=("pi.command.get_state", "pi.command.get_state.session"))
def _(seen: Seen) -> None:
    """`get_state` tells everything that the document names."""
    data = seen.data("state")
    for name in STATE:
        at(data, name)
    expect(isinstance(data["sessionId"], str), "`sessionId` is no text")
    expect(isinstance(data["isStreaming"], bool), "`isStreaming` is neither true nor false")
    expect(isinstance(at(data, "sessionFile"), str), "`sessionFile` is no text")


@check("pi.type.model", queries, "Model")
def _(seen: Seen) -> None:
    """A model has the fields of the document."""
    model = at(seen.data("state"), "model")
    for name in MODEL:
        at(model, name)
    for name in ("input", "output", "cacheRead", "cacheWrite"):
        at(model, "cost", name)


@check(
    "pi.command.get_last_assistant_text.none",
    queries,
    "get_last_assistant_text",
    of=("pi.command.get_last_assistant_text",),
    dialects=FIRST,
)
def _(seen: Seen) -> None:
    """Without a reply, `get_last_assistant_text` says null."""
    expect(at(seen.data("nothing"), "text") is None, f"it was {brief(seen.data('nothing'))}")


@check("pi.command.get_last_assistant_text", queries, "get_last_assistant_text")
def _(seen: Seen) -> None:
    """`get_last_assistant_text` has the text of the last reply."""
    expect(at(seen.data("text"), "text") == WORDS, f"it was {brief(seen.data('text'))}")


@check("pi.command.get_messages", queries, "get_messages")
def _(seen: Seen) -> None:
    """`get_messages` lists the messages of the conversation."""
    roles = [at(message, "role") for message in messages(seen)]
    expect(roles == ["user", "assistant"], f"the roles were {roles}")


@check("pi.type.user", queries, "UserMessage")
def _(seen: Seen) -> None:
    """A user message has content and timestamp."""
    message = at(messages(seen), 0)
    expect("Say hello." in json.dumps(at(message, "content")), f"it was {brief(message)}")
    expect(isinstance(at(message, "timestamp"), int), f"`timestamp` was {message['timestamp']!r}")


@check("pi.type.user.attachments", queries, "UserMessage", of=("pi.type.user",), dialects=FIRST)
def _(seen: Seen) -> None:
    """A user message has `attachments`."""
    expect(at(messages(seen), 0, "attachments") == [], f"it was {brief(messages(seen)[0])}")


@check("pi.type.assistant", queries, "AssistantMessage")
def _(seen: Seen) -> None:
    """A reply has content, api, provider, model, usage, stopReason and timestamp."""
    message = at(messages(seen), 1)
    for name in ("api", "provider", "model", "stopReason", "timestamp"):
        at(message, name)
    expect(at(message, "content") == [{"type": "text", "text": WORDS}], f"its content was {brief(message['content'])}")
    for name in ("input", "output", "cacheRead", "cacheWrite"):
        expect(isinstance(at(message, "usage", name), int), f"`usage.{name}` is no number")
        at(message, "usage", "cost", name)
    at(message, "usage", "cost", "total")


@check("pi.command.get_session_stats", queries, "get_session_stats")
def _(seen: Seen) -> None:
    """`get_session_stats` counts messages, calls, tokens and cost, and names the session."""
    data = seen.data("stats")
    for name, number in {"userMessages": 1, "assistantMessages": 1, "toolCalls": 0, "toolResults": 0}.items():
        expect(at(data, name) == number, f"`{name}` was {data[name]}, and {number} was due")
    for name in ("input", "output", "cacheRead", "cacheWrite", "total"):
        expect(isinstance(at(data, "tokens", name), int), f"`tokens.{name}` is no number")
    for name in ("sessionFile", "sessionId", "totalMessages", "cost"):
        at(data, name)


@check("pi.command.get_available_models", queries, "get_available_models")
def _(seen: Seen) -> None:
    """`get_available_models` lists whole models."""
    listed = at(seen.data("models"), "models")
    expect(listed, "it lists none")
    for model in listed:
        for name in ("id", "provider", "contextWindow"):
            at(model, name)


@check("pi.command.abort.idle", queries, "observed")
def _(seen: Seen) -> None:
    """With nothing to abort, `abort` succeeds."""
    seen.done("idle")


@check("pi.process.exit", queries, "observed", of=("pi.process.eof",), whole=True)
def _(seen: Seen) -> None:
    """The end of stdin ends it, with code 0."""
    expect(seen.exit_code == 0, "it did not exit" if seen.exit_code is None else f"it exited with {seen.exit_code}")


@TABLE.scene("pi: errors")
def errors(play: Play) -> None:
    play.send_bytes(b"{not json\n")
    play.send({"id": "unknown", "type": "nosuch"})  # Some answer without the id.
    play.ask("set_model", "model", provider="anthropic", modelId="no-such-model")
    play.send({"id": "typed", "type": "prompt", "message": 5})
    play.ask("get_state", "extra", colour="blue")
    play.prompt("odd", "!utf8")
    play.ask("get_state", "after")
    play.send_bytes(b'{"id":"crlf","type":"get_state"}\r\n{"id":"torn","type":"get_state"}')
    play.end()


@check("pi.wire.parse", errors, "error handling")
def _(seen: Seen) -> None:
    """What is no JSON is answered with the command `parse` and `Failed to parse command: `."""
    found = [frame for frame in only(seen.frames, "response") if frame.get("command") == "parse"]
    expect(found, "no response has the command `parse`")
    expect(str(at(found, 0, "error")).startswith("Failed to parse command: "), f"it was {brief(found[0])}")
    expect(at(found, 0, "success") is False, f"it was {brief(found[0])}")


@check("pi.wire.error", errors, "error handling")
def _(seen: Seen) -> None:
    """A command that fails is answered with `success:false` and the reason in `error`."""
    seen.refused("model")


@check("pi.command.set_model.unknown", errors, "error handling")
def _(seen: Seen) -> None:
    """An unknown model is refused: `Model not found: provider/id`."""
    expect(seen.refused("model") == "Model not found: anthropic/no-such-model", f"it was {seen.refused('model')!r}")


@check("pi.wire.unknown", errors, "observed", originals={"pi-0.73": "defect 5: the response drops the id"})
def _(seen: Seen) -> None:
    """An unknown command is answered with its name, its id and `Unknown command: `."""
    expect(seen.refused("unknown").startswith("Unknown command: nosuch"), f"it was {seen.refused('unknown')!r}")


@check("pi.defect.04.id", errors, "observed", originals={"pi-1": "defect 14: a JavaScript text, which is a refusal"})
def _(seen: Seen) -> None:
    """A prompt that makes no sense is refused once, with its id."""
    seen.refused("typed")
    seen.done("after")


@check(
    "pi.wire.last-line",
    errors,
    "observed",
    originals={"pi-0.73": "stdin has ended when it answers, and it exits first"},
)
def _(seen: Seen) -> None:
    """CRLF, and a last line without a line feed, are taken."""
    seen.done("crlf")
    seen.done("torn")


@check(
    "pi.wire.line-separators",
    errors,
    "ours",
    tier="defect",
    whole=True,
    originals=dict.fromkeys(ALL, "defect 18: both are printed as they are"),
)
def _(seen: Seen) -> None:
    """U+2028 and U+2029 are escaped, so that readers that split lines there see whole ones."""
    expect(not any(b"\xe2\x80\xa8" in line or b"\xe2\x80\xa9" in line for line in seen.raw), "a line has one")


@TABLE.scene("pi: a null line")
def null_line(play: Play) -> None:
    play.send_bytes(b"null\n")
    play.ask("get_state", "first")
    play.ask("get_state", "after")
    play.end()


@check(
    "pi.defect.05.null",
    null_line,
    "observed",
    tier="defect",
    originals=dict.fromkeys(ALL, "defect 7 of today's, 5 of 0.73's: it dies"),
)
def _(seen: Seen) -> None:
    """A line that says `null` does not end the process."""
    seen.done("after")
    expect(seen.exit_code == 0, f"it exited with {seen.exit_code}")


@TABLE.scene("pi: models")
def models(play: Play) -> None:
    listed = at(play.ask("get_available_models", "models"), "data", "models")
    now = at(play.ask("get_state", "before"), "data", "model", "id")
    other = next((model for model in listed if model.get("id") != now), at(listed, 0))
    thinking = next((model for model in listed if model.get("reasoning")), other)
    play.ask("set_model", "set", provider=other.get("provider"), modelId=other.get("id"))
    play.ask("cycle_model", "cycle")
    play.ask("get_state", "cycled")
    play.ask("set_model", "back", provider=other.get("provider"), modelId=other.get("id"))
    play.prompt("p", "Say hello.")
    play.ask("set_model", "thinks", provider=thinking.get("provider"), modelId=thinking.get("id"))
    for level in ("off", "low", "high"):
        play.ask("set_thinking_level", level, level=level)
    play.ask("get_state", "level")
    play.ask("cycle_thinking_level", "next")
    for kind in ("steering", "follow_up"):
        for mode in ("all", "one-at-a-time"):
            play.ask(f"set_{kind}_mode", f"{kind} {mode}", mode=mode)
            play.ask("get_state", f"after {kind} {mode}")
    for name in ("set_auto_compaction", "set_auto_retry"):
        play.ask(name, name, enabled=False)
    play.ask("get_state", "switched")
    play.ask("abort_retry", "abort_retry")
    play.ask("abort_bash", "abort_bash")
    play.note(other=other.get("id"), several=len(listed) > 1)
    play.end()


@check("pi.command.set_model", models, "set_model")
def _(seen: Seen) -> None:
    """`set_model` switches, and answers with the whole model."""
    for name in MODEL:
        at(seen.data("set"), name)
    expect(seen.data("set")["id"] == seen.fact("other"), f"it was {brief(seen.data('set'))}")
    expect(
        seen.requests and at(seen.requests[0], "model") == seen.fact("other"), "the model was asked for by another name"
    )


@check("pi.command.cycle_model", models, "cycle_model", of=("pi.command.cycle_model", "pi.command.cycle_model.one"))
def _(seen: Seen) -> None:
    """`cycle_model` goes to another model, and tells it with `thinkingLevel` and `isScoped`; null if there is one."""
    data = seen.done("cycle").get("data")
    expect(data is not None or not seen.fact("several"), "it was null, and there are several models")
    if data is not None:
        at(data, "thinkingLevel")
        at(data, "isScoped")
        expect(at(data, "model", "id") == at(seen.data("cycled"), "model", "id"), "`get_state` says another")
        expect(data["model"]["id"] != seen.fact("other"), "it is the same model")


@check("pi.command.set_thinking_level", models, "set_thinking_level")
def _(seen: Seen) -> None:
    """`set_thinking_level` takes the levels."""
    for level in ("off", "low", "high"):
        seen.done(level)
    expect(at(seen.data("level"), "thinkingLevel") == "high", f"it is {at(seen.data('level'), 'thinkingLevel')}")


@check("pi.command.cycle_thinking_level", models, "cycle_thinking_level")
def _(seen: Seen) -> None:
    """`cycle_thinking_level` tells the next level; null if the model does not think."""
    data = seen.done("next").get("data")
    expect(data is None or isinstance(at(data, "level"), str), f"it was {brief(data)}")


for _kind, _name in (("steering", "steeringMode"), ("follow_up", "followUpMode")):

    @check(
        f"pi.command.set_{_kind}_mode",
        models,
        f"set_{_kind}_mode",
        says=f"`set_{_kind}_mode` takes `all` and `one-at-a-time`.",
    )
    def _(seen: Seen, kind: str = _kind, name: str = _name) -> None:
        for mode in ("all", "one-at-a-time"):
            seen.done(f"{kind} {mode}")
            now = at(seen.data(f"after {kind} {mode}"), name)
            expect(now == mode, f"`{name}` was {now!r} after {mode!r} had been set")


@check("pi.command.set_auto_compaction", models, "set_auto_compaction")
def _(seen: Seen) -> None:
    """`set_auto_compaction` turns automatic compaction off."""
    seen.done("set_auto_compaction")
    expect(at(seen.data("switched"), "autoCompactionEnabled") is False, "`autoCompactionEnabled` is still true")


@check(
    "pi.commands.succeed",
    models,
    "retry; bash",
    of=("pi.command.set_auto_retry", "pi.command.abort_retry", "pi.command.abort_bash"),
)
def _(seen: Seen) -> None:
    """`set_auto_retry`, `abort_retry` and `abort_bash` succeed when there is nothing to do."""
    for id in ("set_auto_retry", "abort_retry", "abort_bash"):
        seen.done(id)


@check("pi.today.disposition", queries, "observed", tier="must", of=("pi.command.prompt",), dialects=NEWEST)
def _(seen: Seen) -> None:
    """A prompt is answered with `disposition`: `started`."""
    expect(at(seen.data("p"), "disposition") == "started", f"it was {brief(seen.response('p'))}")
