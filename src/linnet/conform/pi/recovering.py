"""pi: retries and compactions."""

import json

from linnet.conform.check import Table, at, brief, expect
from linnet.conform.pi.by_generation import ALL, LONG, TODAY, compaction, said
from linnet.conform.play import Play
from linnet.conform.seen import Seen, first, kinds, one, only

TABLE = Table("pi RPC", *ALL)
check = TABLE.check
HIDDEN = "its HTTP client tries again by itself, and nobody is told"


def whole(play: Play, id: str, message: str, last: str) -> None:
    """Send a prompt that has several runs, and wait until the last one is over."""
    play.send({"id": id, "type": "prompt", "message": message})
    if play.dialect in ("pi-0.87", "pi-1"):
        play.over(id)
        return
    start = play.seen.spans[id][0]
    play.until(last)
    play.ask("get_state", f"after {id}")  # What comes with the last one has come then.
    play.seen.spans[id] = (start, len(play.seen.frames))


@TABLE.scene("pi: a retry")
def retry(play: Play) -> None:
    whole(play, "p", "!fail 529 1", "auto_retry_end")
    play.barrier()
    play.end()


@TABLE.scene("pi: no retry")
def no_retry(play: Play) -> None:
    play.prompt("refused", "!err 401 no")
    play.ask("set_auto_retry", "off", enabled=False)
    play.prompt("off-prompt", "!fail 529 2")
    play.barrier()
    play.end()


@check(
    "pi.event.auto_retry_start",
    retry,
    "auto_retry_start",
    of=("pi.event.auto_retry_start", "pi.event.auto_retry_start.transient"),
    originals={"pi-0.73": HIDDEN},
)
def _(seen: Seen) -> None:
    """`auto_retry_start` has attempt, maxAttempts, delayMs and errorMessage."""
    start = first(seen.of("p"), "auto_retry_start")
    for name in ("maxAttempts", "delayMs"):
        expect(isinstance(at(start, name), int | float), f"`{name}` is no number: {brief(start)}")
    expect(at(start, "attempt") == 1 and isinstance(at(start, "errorMessage"), str), f"it was {brief(start)}")


@check("pi.event.auto_retry_end", retry, "auto_retry_end", originals={"pi-0.73": HIDDEN})
def _(seen: Seen) -> None:
    """`auto_retry_end` has success and attempt, and the retry says what the model says then."""
    end = one(seen.of("p"), "auto_retry_end")
    expect(at(end, "success") is True and at(end, "attempt") == 1, f"it was {brief(end)}")
    expect(said(seen.of("p")) == ["!fail 529 1"], f"the user said {said(seen.of('p'))}")
    expect("recovered" in json.dumps(seen.of("p")), f"it printed {kinds(seen.of('p'))}")


@check("pi.event.auto_retry_start.transient", no_retry, "auto_retry_start", whole=True)
def _(seen: Seen) -> None:
    """What would fail again, such as a wrong key, is not tried again."""
    expect(not only(seen.of("refused"), "auto_retry_start"), "it was tried again")
    expect(at(one(seen.of("refused"), "turn_end"), "message", "stopReason") == "error", "it did not end with `error`")


@check("pi.command.set_auto_retry", no_retry, "set_auto_retry", whole=True)
def _(seen: Seen) -> None:
    """`set_auto_retry` turns retrying off."""
    seen.done("off")
    expect(not only(seen.of("off-prompt"), "auto_retry_start"), "it was tried again")


@TABLE.scene("pi: an abort of a retry")
def abort_retry(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": "!fail 529 9"})
    play.until("auto_retry_start")
    play.ask("abort_retry", "a")
    play.until("auto_retry_end")
    play.ask("get_state", "after")
    play.end()


@check("pi.command.abort_retry", abort_retry, "abort_retry", of=("pi.command.abort_retry", "pi.event.auto_retry_end"))
def _(seen: Seen) -> None:
    """`abort_retry` ends the wait and the retrying: `auto_retry_end` with `finalError`."""
    seen.done("a")
    end = one(seen.frames, "auto_retry_end")
    expect(at(end, "success") is False and at(end, "finalError"), f"it was {brief(end)}")


@TABLE.scene("pi: a compaction")
def asked(play: Play) -> None:
    play.prompt("p", f"Remember: HOLD SUMMARY g. {LONG}")
    play.prompt("q", f"And this. {LONG}")
    play.send({"id": "c", "type": "compact", "customInstructions": "Focus on birds."})
    play.wait_for_requests(3)
    play.ask("get_state", "during")
    play.server.release("g")
    play.response("c")
    play.ask("get_state", "after")
    play.prompt("n", "Go on.")
    play.end()


@check("pi.command.compact", asked, "compact")
def _(seen: Seen) -> None:
    """`compact` answers with summary, firstKeptEntryId, tokensBefore and details."""
    data = seen.data("c")
    expect("SUMMARY: scripted" in str(at(data, "summary")), f"the summary was {brief(at(data, 'summary'))}")
    expect(isinstance(at(data, "firstKeptEntryId"), str), f"it was {brief(data)}")
    expect(isinstance(at(data, "tokensBefore"), int), f"it was {brief(data)}")
    at(data, "details")


@check("pi.command.compact.instructions", asked, "compact")
def _(seen: Seen) -> None:
    """`customInstructions` reach the model that summarises."""
    seen.done("c")
    expect(any("Focus on birds." in json.dumps(body) for body in seen.requests[2:]), "no request has them")


@check("pi.command.get_state.compacting", asked, "get_state")
def _(seen: Seen) -> None:
    """`isCompacting` is true while a compaction runs."""
    expect(at(seen.data("during"), "isCompacting") is True, "it was false")
    expect(at(seen.data("after"), "isCompacting") is False, "it was true after it")


@check("pi.compact.shortens", asked, "compact", of=("pi.command.compact",))
def _(seen: Seen) -> None:
    """The next request has the summary in place of what it summarises."""
    expect(seen.of("n"), seen.stuck or "the next prompt printed nothing")
    last = json.dumps(seen.requests[-1])
    expect("SUMMARY: scripted" in last and "HOLD SUMMARY" not in last, f"it has {len(last)} characters")


@check(
    "pi.event.compaction_start",
    asked,
    "observed",
    tier="must",
    of=("pi.event.compaction_start", "pi.event.compaction_end"),
    dialects=TODAY,
)
def _(seen: Seen) -> None:
    """A compaction that was asked for is told, with its reason and its result."""
    starts = [at(frame, "reason") for frame in only(seen.frames, "compaction_start")]
    expect("manual" in starts, f"the reasons were {starts}")
    at(only(seen.frames, "compaction_end"), -1, "result", "summary")


@TABLE.scene("pi: a conversation that is too long")
def overflow(play: Play) -> None:
    play.prompt("p", f"Remember. {LONG}")
    play.prompt("q", f"And this. {LONG}")
    whole(play, "o", "!overflow 1", f"{compaction(play)}_end")
    if play.dialect in ("pi", "pi-0.73"):
        play.until("agent_end")
        play.barrier()
        play.seen.spans["o"] = (play.seen.spans["o"][0], len(play.seen.frames))
    play.end()


@check("pi.event.auto_compaction_start", overflow, "auto_compaction_start", of=("pi.event.auto_compaction_start",))
def _(seen: Seen) -> None:
    """A compaction after an overflow is told, with the reason `overflow`."""
    starts = [frame for frame in seen.of("o") if str(frame["type"]).endswith("compaction_start")]
    expect([at(frame, "reason") for frame in starts] == ["overflow"], f"it printed {kinds(seen.of('o'))}")


@check(
    "pi.event.auto_compaction_end",
    overflow,
    "auto_compaction_end",
    of=("pi.event.auto_compaction_end", "pi.event.auto_compaction_end.retry"),
)
def _(seen: Seen) -> None:
    """Its end has the result and `willRetry`, and the prompt is tried again."""
    ends = [frame for frame in seen.of("o") if str(frame["type"]).endswith("compaction_end")]
    expect(len(ends) == 1, f"it printed {kinds(seen.of('o'))}")
    for name in ("summary", "firstKeptEntryId", "tokensBefore", "details"):
        at(ends[0], "result", name)
    expect(at(ends[0], "willRetry") is True and at(ends[0], "aborted") is False, f"it was {brief(ends[0])}")
    expect("recovered" in json.dumps(seen.of("o")[-3:]), f"the prompt was not tried again: {kinds(seen.of('o'))}")


@TABLE.scene("pi: an abort of an automatic compaction")
def abort_compaction(play: Play) -> None:
    play.prompt("p", f"Remember: HOLD SUMMARY never. {LONG}")
    play.prompt("q", f"And this. {LONG}")
    play.send({"id": "o", "type": "prompt", "message": "!overflow 1"})
    play.until(f"{compaction(play)}_start")
    play.wait_for_requests(4)
    play.send({"id": "a", "type": "abort"})
    play.until(f"{compaction(play)}_end")
    play.response("a")
    play.end()


@check(
    "pi.event.auto_compaction_end.aborted",
    abort_compaction,
    "auto_compaction_end",
    originals={"pi-0.73": "`abort` succeeds, and does not reach the compaction"},
)
def _(seen: Seen) -> None:
    """Aborted, a compaction has no result, and `aborted` is true."""
    ends = [frame for frame in seen.frames if str(frame["type"]).endswith("compaction_end")]
    expect(len(ends) == 1, seen.stuck or f"there were {len(ends)} ends")
    expect(at(ends[0], "aborted") is True and ends[0].get("result") is None, f"it was {brief(ends[0])}")
