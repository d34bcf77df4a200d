"""zot: what an abort and the end of stdin do."""

from signal import SIGTERM

from linnet.conform.check import Table, at, brief, expect
from linnet.conform.play import Play
from linnet.conform.props import CALLS, gone_soon
from linnet.conform.seen import Seen, kinds, one, only

TABLE = Table("zot RPC", "zot")
check = TABLE.check


@TABLE.scene("zot: an abort while the model speaks")
def speaking(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": "!gate g"})
    play.until("text_delta")
    play.ask("abort", "a")
    play.over("p")
    play.ask("get_messages", "messages")
    play.prompt("q", "Go on.")
    play.end()


@check(
    "zot.command.abort.streaming", speaking, "abort", of=("zot.command.abort.streaming", "zot.event.turn_end.aborted")
)
def _(seen: Seen) -> None:
    """While the model speaks, `turn_end` with `aborted` and then `done` follow an abort; what was said stays."""
    seen.done("a")
    expect(kinds(seen.of("p")).endswith("turn_end, done"), f"it printed {kinds(seen.of('p'))}")
    expect(at(one(seen.of("p"), "turn_end"), "stop") == "aborted", f"it was {brief(one(seen.of('p'), 'turn_end'))}")
    reply = at(seen.data("messages"), "messages", 1)
    expect("before" in brief(reply), f"the transcript has {brief(reply)}")


@check(
    "zot.event.turn_end.aborted-without-error",
    speaking,
    "ours",
    of=("zot.event.turn_end.aborted",),
    originals={"zot": "it adds `context canceled`"},
)
def _(seen: Seen) -> None:
    """`turn_end` with `aborted` has no `error`."""
    expect("error" not in one(seen.of("p"), "turn_end"), f"it was {brief(one(seen.of('p'), 'turn_end'))}")


@check("zot.finding.spurious-error", speaking, "findings, 3", whole=True)
def _(seen: Seen) -> None:
    """An aborted prompt prints no `error`."""
    expect(not only(seen.of("p"), "error"), f"it printed {brief(only(seen.of('p'), 'error'))}")


@check("zot.command.abort.next", speaking, "observed")
def _(seen: Seen) -> None:
    """The conversation goes on after an abort."""
    expect(kinds(seen.of("q")).endswith("turn_end, done"), f"the next prompt printed {kinds(seen.of('q'))}")
    expect(at(one(seen.of("q"), "turn_end"), "stop") != "aborted", "the abort reached the next prompt")


@TABLE.scene("zot: an abort before the first word")
def silent(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": "!hang"})
    play.wait_for_requests(1)
    play.ask("abort", "a")
    play.over("p")
    play.ask("get_messages", "messages")
    play.end()


@check(
    "zot.command.abort.silent", silent, "abort", originals={"zot": "it says `error` if the vendor has not answered yet"}
)
def _(seen: Seen) -> None:
    """Before the first word, `turn_end` with `aborted` and `done` follow an abort, and only the prompt is kept."""
    expect(kinds(seen.of("p")).endswith("turn_end, done"), f"it printed {kinds(seen.of('p'))}")
    expect(at(one(seen.of("p"), "turn_end"), "stop") == "aborted", f"it was {brief(one(seen.of('p'), 'turn_end'))}")
    roles = [at(message, "role") for message in at(seen.data("messages"), "messages")]
    expect(roles == ["user"], f"the transcript has {roles}")


@TABLE.scene("zot: an abort while a tool runs")
def running(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": CALLS})
    pid = play.wait_for_file("pid").strip()
    play.ask("get_state", "busy")
    play.ask("abort", "a")
    play.over("p")
    play.note(killed=gone_soon(play, pid), second=(play.folder / "second").exists())
    play.ask("get_state", "after")
    play.end()
    play.note(second=(play.folder / "second").exists())


@check("zot.command.abort.tool", running, "abort", originals={"zot": "it leaves out the `turn_end`"})
def _(seen: Seen) -> None:
    """While a tool runs, an abort kills and answers it, and the turn ends with `aborted`."""
    expect(seen.fact("killed"), "the command of the tool was still running")
    expect(len(only(seen.of("p"), "tool_result")) == 2, f"it printed {kinds(seen.of('p'))}")
    end = only(seen.of("p"), "turn_end")[-1:]
    expect(end and at(end, 0, "stop") == "aborted", f"the turn ended with {brief(end)}")


@check("zot.defect.06", running, "observed", tier="defect", originals={"zot": "defect 6: the others run"})
def _(seen: Seen) -> None:
    """After an abort no further call of the message runs."""
    expect(not seen.fact("second"), "the second call ran")


@check("zot.defect.07", running, "observed", tier="defect", originals={"zot": "defect 7: it races"})
def _(seen: Seen) -> None:
    """`busy` is true while a tool runs, and false after the terminator."""
    expect(at(seen.data("busy"), "busy") is True, "it was false while a tool ran")
    expect(at(seen.data("after"), "busy") is False, "it was true after `done`")


@TABLE.scene("zot: an abort with prompts that wait")
def waiting(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": "!gate g"}, {"id": "q", "type": "prompt", "message": "Second."})
    play.until("text_delta")
    play.ask("abort", "a")
    play.over("p")
    play.over("q")
    play.end()


@check(
    "zot.process.abort-does-not-wait",
    waiting,
    "process model",
    originals={"zot": "defect 1: the second prompt may have run first"},
)
def _(seen: Seen) -> None:
    """An abort takes effect at once, however many prompts wait; those run then."""
    ends = [at(frame, "stop") for frame in only(seen.events(), "turn_end")]
    expect(ends[:1] == ["aborted"] and len(ends) == 2, f"the turns ended with {ends}")
    expect(ends[1] != "aborted", "the abort reached the prompt that waited")


@TABLE.scene("zot: an abort of a compaction")
def compacting(play: Play) -> None:
    for number in range(3):
        play.prompt(f"p{number}", "Remember: HOLD SUMMARY g" if not number else f"Question {number}.")
    play.send({"id": "c", "type": "compact"})
    play.wait_for_requests(4)
    play.ask("abort", "a")
    play.barrier()
    play.note(told=kinds(seen_after(play, "c")))
    play.ask("get_messages", "messages")
    play.over("c")
    play.end()


def seen_after(play: Play, id: str) -> list[dict[str, object]]:
    """Return what has come since this command was sent."""
    return play.seen.frames[play.seen.spans[id][0] :]


@check("zot.command.abort.compact", compacting, "abort")
def _(seen: Seen) -> None:
    """`abort` cancels a compaction: the transcript stays."""
    expect(not only(seen.events(), "compact_done"), "it was compacted all the same")
    expect(len(at(seen.data("messages"), "messages")) == 6, "messages are missing")


@check("zot.finding.spurious-error-compact", compacting, "findings, 3", of=("zot.finding.spurious-error",))
def _(seen: Seen) -> None:
    """An aborted compaction prints no `error`."""
    expect("error" not in seen.fact("told").split(", "), f"it printed {seen.fact('told')}")


@check(
    "zot.defect.03.aborted",
    compacting,
    "observed",
    tier="defect",
    of=("zot.defect.03",),
    originals={"zot": "defect 3: nothing follows the response of the abort"},
)
def _(seen: Seen) -> None:
    """An aborted compaction has a terminator."""
    expect(kinds(seen.of("c")).endswith("done"), f"it printed {kinds(seen.of('c'))}")


@TABLE.scene("zot: prompt and abort in one write")
def one_write(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": "!text 200 100"}, {"id": "a", "type": "abort"})
    play.response("a")
    play.over("p")
    play.end()


@check(
    "zot.defect.02", one_write, "observed", tier="defect", originals={"zot": "defect 2: it is lost in 59 of 60 tries"}
)
def _(seen: Seen) -> None:
    """An abort in the same write as its prompt reaches it."""
    ends = [at(frame, "stop") for frame in only(seen.of("p"), "turn_end")]
    expect(len(only(seen.of("p"), "text_delta")) < 200 and ends[-1:] in (["aborted"], []), f"the run ended with {ends}")


@TABLE.scene("zot: the end of stdin right after a prompt")
def ended(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": "!text 20 5"}, {"id": "q", "type": "prompt", "message": "More."})
    play.end()


@check(
    "zot.process.quick-start", ended, "quick start; findings, 1", of=("zot.process.quick-start", "zot.finding.eof-race")
)
def _(seen: Seen) -> None:
    """A prompt that is piped in, with stdin closed at once, is answered in full."""
    seen.done("p")
    expect(len(only(seen.frames, "text_delta")) >= 20, f"it printed {kinds(seen.frames)}")
    expect(only(seen.frames, "done"), f"it printed {kinds(seen.frames)}")
    expect(seen.exit_code == 0, f"it exited with {seen.exit_code}")


@check("zot.process.eof-finishes", ended, "findings, 1")
def _(seen: Seen) -> None:
    """What runs and what waits when stdin closes is carried out before the exit."""
    seen.done("q")
    expect(len(only(seen.frames, "done")) == 2, f"it printed {kinds(seen.frames)}")


@TABLE.scene("zot: SIGTERM while a tool runs")
def terminated(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": CALLS})
    pid = play.wait_for_file("pid").strip()
    play.signal(SIGTERM)
    play.wait_for_exit()
    play.note(killed=gone_soon(play, pid))


@check(
    "zot.defect.10.signal",
    terminated,
    "observed",
    tier="defect",
    originals={"zot": "defect 10: SIGTERM leaves the command running"},
)
def _(seen: Seen) -> None:
    """A signal to the agent leaves no child."""
    expect(seen.fact("killed"), "the command of the tool was still running")
    expect(not seen.left_running, "something that it had started was still running")


@TABLE.scene("zot: an abort of a command with a session of its own")
def stubborn(play: Play) -> None:
    command = '!tool bash {"command":"setsid -w sh -c \'trap : TERM; echo $$ > pid; while :; do sleep 1; done\'"}'
    play.send({"id": "p", "type": "prompt", "message": command})
    pid = play.wait_for_file("pid").strip()
    play.ask("abort", "a")
    play.over("p")
    play.note(killed=gone_soon(play, pid))
    play.end()


@check(
    "zot.defect.10.stubborn",
    stubborn,
    "observed",
    tier="defect",
    originals={"zot": "defect 10: it blocks the tool until it ends"},
)
def _(seen: Seen) -> None:
    """A child that ignores TERM, in a session of its own, does not delay an abort, and is killed."""
    expect(seen.fact("killed"), "the command was still running after `done`")
