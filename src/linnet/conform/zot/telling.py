"""zot: the events of a plain prompt."""

import re

from linnet.conform.check import Table, at, brief, expect
from linnet.conform.seen import Frame, Seen, kinds, only
from linnet.conform.zot.answering import EVENTS, SECRET, conversation

TABLE = Table("zot RPC", "zot")
check = TABLE.check


@check(
    "zot.command.prompt.events",
    conversation,
    "prompt; findings, 2",
    of=("zot.command.prompt.events", "zot.event.done", "zot.finding.double-done"),
)
def _(seen: Seen) -> None:
    """A prompt's events end with exactly one `done`."""
    expect(seen.of("p")[-1:] and seen.of("p")[-1].get("type") == "done", f"it ended with {kinds(seen.of('p'))}")
    found = len(only(seen.frames, "done"))
    expect(found == 2 or seen.stuck, f"two prompts had {found} `done`")


@check("zot.event.user_message", conversation, "events")
def _(seen: Seen) -> None:
    """`user_message` has the content and the time of the prompt."""
    (message,) = _some(seen, "user_message", 1)
    expect(at(message, "content") == [{"type": "text", "text": f"Say hello. {SECRET}"}], f"it was {brief(message)}")
    at(message, "time")


@check("zot.event.turn_start", conversation, "events")
def _(seen: Seen) -> None:
    """`turn_start` begins a model call; `step` counts from 1."""
    (start,) = _some(seen, "turn_start", 1)
    expect(at(start, "step") == 1, f"it was {brief(start)}")


@check("zot.event.assistant_start", conversation, "events")
def _(seen: Seen) -> None:
    """`assistant_start` comes before the first word of a reply."""
    _some(seen, "assistant_start", 1)
    names = [frame["type"] for frame in seen.of("p")]
    expect(names.index("assistant_start") < names.index("text_delta"), f"the order was {kinds(seen.of('p'))}")


@check("zot.event.text_delta", conversation, "events")
def _(seen: Seen) -> None:
    """The `delta` fields of a reply, joined, are its text."""
    text = "".join(str(at(frame, "delta")) for frame in only(seen.of("p"), "text_delta"))
    expect(text == "Hello from the scripted model.", f"joined they are {text!r}")


@check("zot.event.assistant_message", conversation, "events")
def _(seen: Seen) -> None:
    """`assistant_message` has the content and the time of the reply."""
    (message,) = _some(seen, "assistant_message", 1)
    content = [{"type": "text", "text": "Hello from the scripted model."}]
    expect(at(message, "content") == content, f"it was {brief(message)}")
    at(message, "time")


@check("zot.event.usage", conversation, "events")
def _(seen: Seen) -> None:
    """`usage` has tokens and dollars of the call, and cumulative ones that add up."""
    (one,) = _some(seen, "usage", 1)
    two = only(seen.of("q"), "usage")[0]
    for name in ("input", "output", "cache_read", "cache_write", "cost_usd"):
        expect(isinstance(at(one, name), int | float), f"`{name}` is no number: {brief(one)}")
    for name in ("input", "output"):
        sum = one[name] + at(two, name)
        expect(at(two, "cumulative", name) == sum, f"{name} adds up to {sum}, and it says {brief(two['cumulative'])}")


@check("zot.event.turn_end.end_turn", conversation, "events", originals={"zot": "defect 17: it says `end`"})
def _(seen: Seen) -> None:
    """`stop` is `end_turn` when the model is finished."""
    (end,) = _some(seen, "turn_end", 1)
    expect(at(end, "stop") == "end_turn", f"`stop` was {end['stop']!r}")


@check("zot.events.fields", conversation, "events", whole=True)
def _(seen: Seen) -> None:
    """Each event has the fields of the document and no others."""
    expect_fields(seen)


@check("zot.events.order", conversation, "observed")
def _(seen: Seen) -> None:
    """A plain prompt prints its events in the order of the program: user_message first, `turn_end` and `done` last."""
    due = "user_message, turn_start, assistant_start, text_delta, usage, assistant_message, turn_end, done"
    expect(kinds(seen.of("p")) == due, f"it printed {kinds(seen.of('p'))}")


@check("zot.wire.time", conversation, "observed")
def _(seen: Seen) -> None:
    """`time` is RFC 3339 in UTC."""
    form = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
    times = [at(frame, "time") for frame in only(seen.frames, "user_message", "assistant_message")]
    expect(times, "no message had a time")
    expect(all(form.fullmatch(str(each)) for each in times), f"one was {times[0]}")


def expect_fields(seen: Seen) -> None:
    """Every event has the document's fields."""
    for frame in seen.events():
        kind = str(frame.get("type"))
        expect(kind in EVENTS, f"the document has no event {kind!r}")
        fields = set(frame) - {"type"}
        optional = {"error"} if kind == "turn_end" else {"cost_known"} if kind == "usage" else set()
        missing, other = EVENTS[kind] - fields, fields - EVENTS[kind] - optional
        expect(not missing and not other, f"`{kind}` lacks {sorted(missing)} and adds {sorted(other)}: {brief(frame)}")


def _some(seen: Seen, type: str, count: int) -> list[Frame]:
    found = only(seen.of("p"), type)
    expect(len(found) == count, f"there were {len(found)} `{type}`; the prompt printed {kinds(seen.of('p'))}")
    return found
