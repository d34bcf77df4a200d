"""zot: prompts that wait, models and compactions."""

import json

from linnet.conform.check import Table, at, brief, expect
from linnet.conform.play import Play
from linnet.conform.seen import Seen, kinds, only, positions

TABLE = Table("zot RPC", "zot")
check = TABLE.check


@TABLE.scene("zot: a queue")
def queue(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": "!gate g"}, {"id": "q", "type": "prompt", "message": "Second."})
    play.until("text_delta")
    play.ask("ping", "ping")
    play.ask("get_state", "busy")
    play.ask("get_messages", "messages")
    play.server.release("g")
    play.over("p")
    play.over("q")
    names = [f"o{number}" for number in range(5)]
    play.send(*({"id": name, "type": "prompt", "message": f"Number {name}."} for name in names))
    for name in names:
        play.over(name)
    play.end()


@check(
    "zot.process.one-run-at-a-time",
    queue,
    "process model",
    originals={"zot": "defect 1: prompts that are sent together may run in another order"},
)
def _(seen: Seen) -> None:
    """At most one prompt runs; a second one waits until the first is over."""
    kept = [frame for frame in seen.events() if frame["type"] in ("user_message", "done")]
    names = [frame["type"] for frame in kept[:4]]
    expect(names == ["user_message", "done", "user_message", "done"], f"the order was {names}")
    expect("gate" in json.dumps(kept[0]) and "Second." in json.dumps(kept[2]), "the second ran first")


@check("zot.commands.meanwhile", queue, "process model", of=("zot.commands.meanwhile", "zot.command.get_state.busy"))
def _(seen: Seen) -> None:
    """Every command but prompt and compact is answered at once, whatever runs."""
    done = positions(seen.frames, lambda frame: frame.get("type") == "done")
    for id in ("ping", "busy", "messages"):
        expect(not done or seen.frames.index(seen.done(id)) < done[0], f"{id} was answered after the run")
    expect(at(seen.data("busy"), "busy") is True, "`busy` was false while the model spoke")


@check("zot.command.prompt.queued", queue, "observed", originals={"zot": "defect 1: the second one may run first"})
def _(seen: Seen) -> None:
    """A queued prompt is answered when it starts, after the `done` of the one before it."""
    done = positions(seen.frames, lambda frame: frame.get("type") == "done")
    expect(done and seen.frames.index(seen.done("q")) > done[0], "it was answered while the first one ran")


@check(
    "zot.defect.01",
    queue,
    "observed",
    tier="defect",
    whole=True,
    originals={"zot": "defect 1: five prompts are always shuffled"},
)
def _(seen: Seen) -> None:
    """Prompts that are sent back to back run in the order they were sent."""
    texts = [at(frame, "content", 0, "text") for frame in only(seen.frames, "user_message")][2:]
    expect(texts == [f"Number o{number}." for number in range(5)], f"they ran as {texts}")


@TABLE.scene("zot: models")
def models(play: Play) -> None:
    listed = at(play.ask("get_models", "models"), "data", "models")
    now = at(play.ask("hello", "hello"), "data", "model")
    other = next((at(model, "id") for model in listed if at(model, "id") != now), now)
    play.note(now=now, other=other)
    play.prompt("p", "First.")
    play.send({"id": "g", "type": "prompt", "message": "!gate g"})
    play.until("text_delta")
    play.ask("set_model", "set", model=other)
    play.server.release("g")
    play.over("g")
    play.prompt("q", "Second.")
    play.ask("set_model", "unknown", model="no-such-model")
    play.ask("set_model", "foreign", model="gpt-5")
    play.ask("get_state", "after")
    play.end()


@check("zot.command.set_model", models, "set_model")
def _(seen: Seen) -> None:
    """`set_model` switches to another model of the provider, for the prompts that start after it."""
    seen.done("set")
    used = [at(body, "model") for body in seen.requests]
    now, other = seen.fact("now"), seen.fact("other")
    expect(used == [now, now, other], f"the requests were for {used}, and {other} was set before the third")


@check("zot.command.set_model.refused", models, "set_model")
def _(seen: Seen) -> None:
    """An unknown model, and one of another provider, are refused with `unknown model`, and nothing changes."""
    for id in ("unknown", "foreign"):
        expect(seen.refused(id).startswith("unknown model"), f"the error was {seen.refused(id)!r}")
    expect(at(seen.data("after"), "model") == seen.fact("other"), "the model has changed")


@TABLE.scene("zot: a compaction")
def compaction(play: Play) -> None:
    for number in range(3):
        play.prompt(f"p{number}", f"Question {number}.")
    play.send({"id": "c", "type": "compact"})
    play.over("c")
    play.ask("get_messages", "messages")
    play.prompt("q", "And now?")
    play.end()


@check(
    "zot.command.compact.lifecycle",
    compaction,
    "compact",
    of=("zot.command.compact.lifecycle", "zot.event.compact_done"),
)
def _(seen: Seen) -> None:
    """`compact` is answered with `started:true` and ends with `compact_done` and the summary."""
    expect(at(seen.data("c"), "started") is True, f"its data was {brief(seen.data('c'))}")
    end = seen.of("c")[-1:]
    expect(end and at(end, 0, "type") == "compact_done", f"it ended with {kinds(seen.of('c'))}")
    expect("SUMMARY: scripted" in at(end, 0, "summary"), f"the summary is {brief(end)}")


@check("zot.command.compact.message", compaction, "compact")
def _(seen: Seen) -> None:
    """The summary becomes one user message, and the newest four messages stay."""
    messages = at(seen.data("messages"), "messages")
    roles = [at(message, "role") for message in messages]
    expect(roles == ["user", "user", "assistant", "user", "assistant"], f"the roles are {roles}")
    expect("SUMMARY: scripted" in json.dumps(messages[0]), f"the first message is {brief(messages[0])}")


@TABLE.scene("zot: a compaction of nothing")
def nothing(play: Play) -> None:
    play.send({"id": "n", "type": "compact"})
    play.over("n")
    play.end()


@check(
    "zot.defect.03.nothing",
    nothing,
    "observed",
    tier="defect",
    of=("zot.defect.03", "zot.command.compact.nothing"),
    originals={"zot": "defect 3: a compaction that failed has no terminator"},
)
def _(seen: Seen) -> None:
    """With nothing to compact, `error` and `done` follow."""
    expect(kinds(seen.of("n")).endswith("error, done"), f"it printed {kinds(seen.of('n'))}")
