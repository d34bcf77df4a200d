"""pi: what is said while the agent works, and aborts."""

import json
from signal import SIGTERM

from linnet.conform.check import Table, at, brief, expect
from linnet.conform.pi.by_generation import ALL, FIRST, NEWEST, TODAY, messages, said
from linnet.conform.play import Play
from linnet.conform.props import CALLS, gone_soon
from linnet.conform.seen import Seen, kinds, only, positions

TABLE = Table("pi RPC", *ALL)
check = TABLE.check
BUSY = "Agent is already processing."


@TABLE.scene("pi: while it works")
def working(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": "!gate g"})
    play.until("message_update")
    play.ask("get_state", "before")
    play.ask("prompt", "refused", message="Now?")
    play.ask("prompt", "follow", message="Follow.", streamingBehavior="followUp")
    play.ask("prompt", "steer", message="Steer.", streamingBehavior="steer")
    play.ask("get_state", "queued")
    play.server.release("g")
    play.over("p")
    play.ask("get_state", "after")
    play.ask("get_messages", "messages")
    play.end()


@check("pi.command.prompt.streaming", working, "prompt")
def _(seen: Seen) -> None:
    """While the agent works, a prompt without `streamingBehavior` is refused."""
    seen.refused("refused")


@check(
    "pi.command.prompt.streaming.words",
    working,
    "observed",
    of=("pi.command.prompt.streaming",),
    says=f"The refusal begins with the words `{BUSY}`, as clients know them.",
)
def _(seen: Seen) -> None:
    expect(seen.refused("refused").startswith(BUSY), f"it was {seen.refused('refused')!r}")


@check("pi.command.prompt.steer", working, "prompt", of=("pi.command.prompt.steer", "pi.command.prompt.follow-up"))
def _(seen: Seen) -> None:
    """`streamingBehavior` queues a message as steering or as a follow-up; steering is heard first."""
    seen.done("follow")
    seen.done("steer")
    expect(said(seen.of("p")) == ["!gate g", "Steer.", "Follow."], f"the user said {said(seen.of('p'))}")


@check("pi.command.get_state.streaming", working, "get_state")
def _(seen: Seen) -> None:
    """`isStreaming` is true while the agent works, and false after it."""
    expect(at(seen.data("before"), "isStreaming") is True, "it was false while the model spoke")
    expect(at(seen.data("after"), "isStreaming") is False, "it was true after the run")


@check("pi.command.get_state.pending", working, "get_state")
def _(seen: Seen) -> None:
    """`pendingMessageCount` counts what is queued."""
    counts = [at(seen.data(id), "pendingMessageCount") for id in ("before", "queued", "after")]
    expect(counts == [0, 2, 0], f"it was {counts}")


@check("pi.queue.one-run", working, "observed", of=("pi.command.follow_up",))
def _(seen: Seen) -> None:
    """What was queued is answered in the same run: one `agent_start`, one `agent_end`."""
    names = [frame["type"] for frame in only(seen.of("p"), "agent_start", "agent_end")]
    expect(names == ["agent_start", "agent_end"], f"there were {names}")


@check(
    "pi.today.disposition.queued", working, "observed", tier="must", of=("pi.today.queue_after_abort",), dialects=NEWEST
)
def _(seen: Seen) -> None:
    """What is queued is answered with `disposition`: `queued`."""
    expect(at(seen.data("follow"), "disposition") == "queued", f"it was {brief(seen.response('follow'))}")


@TABLE.scene("pi: steering while tools run")
def steering(play: Play) -> None:
    play.ask("set_follow_up_mode", "mode", mode="one-at-a-time")
    first = "echo started > started; until [ -e go ]; do sleep 0.01; done"
    second = "echo ran > second"
    calls = json.dumps([["bash", {"command": first}], ["bash", {"command": second}]])
    play.send({"id": "p", "type": "prompt", "message": f"!tools {calls}"})
    play.wait_for_file("started")
    play.ask("follow_up", "f", message="Later.")
    play.ask("follow_up", "f2", message="Last.")
    play.ask("steer", "s", message="Stop that.")
    (play.folder / "go").write_text("now")
    play.over("p")
    play.note(second=(play.folder / "second").exists())
    play.end()


@check("pi.command.steer", steering, "steer")
def _(seen: Seen) -> None:
    """`steer` is delivered after the call that runs, before the model is asked again."""
    seen.done("s")
    expect(said(seen.of("p"))[1:2] == ["Stop that."], f"the user said {said(seen.of('p'))}")
    expect(len(seen.requests) > 1 and "Stop that." in json.dumps(seen.requests[1]), "the next request has not got it")


@check("pi.command.steer.skips", steering, "steer", of=("pi.command.steer",), dialects=FIRST)
def _(seen: Seen) -> None:
    """The calls after the one that runs are skipped."""
    expect(not seen.fact("second"), "the second call ran")
    expect(len(only(seen.of("p"), "tool_execution_end")) == 2, "the second call has no end")


@check("pi.command.follow_up", steering, "follow_up", of=("pi.command.follow_up", "pi.command.set_follow_up_mode.one"))
def _(seen: Seen) -> None:
    """`follow_up` is heard when there are no more calls and no steering, one at a time."""
    seen.done("f")
    expect(said(seen.of("p"))[1:] == ["Stop that.", "Later.", "Last."], f"the user said {said(seen.of('p'))}")
    waits = ["Last." in json.dumps(body) for body in seen.requests]
    expect(waits[-2:] == [False, True], "both follow-ups were in one request")


for _kind, _name in (("steering", "steer"), ("follow_up", "follow_up")):

    def _modes(play: Play, kind: str = _kind, name: str = _name) -> None:
        play.ask(f"set_{kind}_mode", "mode", mode="all")
        for round, mode in (("p", "all"), ("q", "one-at-a-time")):
            play.ask(f"set_{kind}_mode", f"mode {mode}", mode=mode)
            play.send({"id": round, "type": "prompt", "message": f"!gate {round}"})
            play.until("message_update")
            play.ask(name, f"{round}1", message=f"First of {round}.")
            play.ask(name, f"{round}2", message=f"Second of {round}.")
            play.server.release(round)
            play.over(round)
        play.end()

    _scene = TABLE.scene(f"pi: modes of {_kind}")(_modes)

    @check(f"pi.command.set_{_kind}_mode.all", _scene, f"set_{_kind}_mode")
    def _(seen: Seen) -> None:
        """`all` says everything at once."""
        seen.of("p")
        mine = [json.dumps(body) for body in seen.requests if "First of p." in json.dumps(body)]
        expect(mine and "Second of p." in mine[0], "the first request with the one had not the other")

    @check(f"pi.command.set_{_kind}_mode.one", _scene, f"set_{_kind}_mode")
    def _(seen: Seen) -> None:
        """`one-at-a-time` says one message at a time."""
        seen.of("q")
        mine = [json.dumps(body) for body in seen.requests if "First of q." in json.dumps(body)]
        expect(
            len(mine) > 1 and "Second of q." not in mine[0] and "Second of q." in mine[1], "both were in one request"
        )


@TABLE.scene("pi: an abort while the model speaks")
def speaking(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": "!gate g"})
    play.until(lambda frame: "before" in json.dumps(frame.get("assistantMessageEvent", {}).get("delta", "")), "a delta")
    play.send({"id": "a", "type": "abort"})
    play.over("p")
    play.response("a")
    play.ask("get_messages", "messages")
    play.prompt("q", "Go on.")
    play.end()


@check("pi.command.abort", speaking, "abort")
def _(seen: Seen) -> None:
    """`abort` is answered, and ends the run with `message_end`, `turn_end` and `agent_end`."""
    seen.done("a")
    due = "message_end, turn_end, agent_end"
    names = kinds(seen.of("p")).removesuffix(", agent_settled")
    expect(names.endswith(due), f"it printed {kinds(seen.of('p'))}")


@check("pi.type.assistant.aborted", speaking, "AssistantMessage", of=("pi.type.assistant.stop",))
def _(seen: Seen) -> None:
    """The reply has the stop reason `aborted`, and keeps what was said."""
    message = at(only(seen.of("p"), "turn_end"), 0, "message")
    expect(at(message, "stopReason") == "aborted", f"it was {brief(message)}")
    expect("before" in json.dumps(at(messages(seen), 1)), "what was said is not in the conversation")


@check("pi.abort.next", speaking, "observed", of=("pi.command.abort",))
def _(seen: Seen) -> None:
    """The conversation goes on after an abort."""
    expect(
        at(only(seen.of("q"), "turn_end"), -1, "message", "stopReason") == "stop", "the next prompt did not end well"
    )


@check("pi.today.abort.answered", speaking, "observed", tier="must", of=("pi.today.abort.queue",), dialects=NEWEST)
def _(seen: Seen) -> None:
    """`abort` is answered after `agent_settled`, which says that the prompt was aborted."""
    settled = positions(seen.frames, lambda frame: frame.get("type") == "agent_settled")
    expect(settled and settled[0] < seen.frames.index(seen.done("a")), "it was answered before")
    expect(at(seen.frames[settled[0]], "aborted") is True, "`aborted` was false")


@TABLE.scene("pi: an abort while a tool runs")
def running(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": CALLS})
    pid = play.wait_for_file("pid").strip()
    play.send({"id": "a", "type": "abort"})
    play.over("p")
    play.note(killed=gone_soon(play, pid))
    play.response("a")
    play.prompt("q", "Go on.")
    play.end()


@check("pi.command.abort.tool", running, "abort", of=("pi.command.abort.tool", "pi.command.abort"))
def _(seen: Seen) -> None:
    """While a tool runs, an abort kills and answers it, and the run ends."""
    seen.done("a")
    expect(seen.fact("killed"), "the command of the tool was still running")
    expect(len(only(seen.of("p"), "tool_execution_end")) == 2, f"it printed {kinds(seen.of('p'))}")
    expect(only(seen.of("p"), "agent_end"), f"it printed {kinds(seen.of('p'))}")


@check(
    "pi.command.abort.tool.reason",
    running,
    "observed",
    tier="defect",
    of=("pi.command.abort.tool",),
    originals={"pi-1": "defect 10: it says `error`", "pi-0.87": "defect 10: it says `error`"},
)
def _(seen: Seen) -> None:
    """The reply that ends a run that was aborted in a tool has the stop reason `aborted`."""
    reasons = [at(frame, "message", "stopReason") for frame in only(seen.of("p"), "turn_end")]
    expect(reasons[-1:] == ["aborted"], f"the reasons were {reasons}")


@TABLE.scene("pi: prompt and abort in one write")
def one_write(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": "!text 100 100"}, {"id": "a", "type": "abort"})
    play.over("p")
    play.end()


@check(
    "pi.defect.03.abort",
    one_write,
    "observed",
    tier="defect",
    originals=dict.fromkeys(ALL, "defect 1 of today's, 3 of 0.73's: it is lost"),
)
def _(seen: Seen) -> None:
    """An abort in the same write as its prompt reaches it."""
    new = [
        frame
        for frame in only(seen.of("p"), "message_update")
        if frame["assistantMessageEvent"]["type"] == "text_delta"
    ]
    expect(not seen.stuck and len(new) < 100, f"the run printed {len(new)} deltas")


@TABLE.scene("pi: a follow-up to an idle agent")
def idle(play: Play) -> None:
    play.ask("follow_up", "f", message="Hello?")
    play.over("f")
    play.end()


@check(
    "pi.command.steer.idle",
    idle,
    "observed",
    tier="defect",
    of=("pi.command.steer.idle",),
    originals=dict.fromkeys(ALL, "defect 4 of today's, 7 of 0.73's: it lies there until the next prompt"),
)
def _(seen: Seen) -> None:
    """What is said to an idle agent starts a run."""
    expect(only(seen.of("f"), "agent_end"), seen.stuck or "there was no run")


@TABLE.scene("pi: SIGTERM while a tool runs")
def terminated(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": CALLS})
    pid = play.wait_for_file("pid").strip()
    play.signal(SIGTERM)
    play.wait_for_exit()
    play.note(killed=gone_soon(play, pid))


@check("pi.process.signal", terminated, "observed", of=("pi.defect.16.signal",), originals={"pi-0.73": "defect 16"})
def _(seen: Seen) -> None:
    """A signal to the agent leaves no child."""
    expect(seen.fact("killed"), "the command of the tool was still running")
    expect(not seen.left_running, "something that it had started was still running")


@TABLE.scene("pi: the end of stdin in a run")
def ended(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": "!text 20 5"})
    play.end()


@check(
    "pi.defect.06",
    ended,
    "observed",
    tier="defect",
    originals=dict.fromkeys(ALL, "defect 6 of 0.73's, 7 of today's: it exits at once"),
)
def _(seen: Seen) -> None:
    """The end of stdin does not make a run vanish: it has its closing events, and the exit code is 0."""
    seen.done("p")
    expect(only(seen.frames, "agent_end"), f"it printed {kinds(seen.frames)}")
    expect(seen.exit_code == 0, f"it exited with {seen.exit_code}")


@TABLE.scene("pi: a queue that is taken back")
def cleared(play: Play) -> None:
    play.send({"id": "p", "type": "prompt", "message": "!gate g"})
    play.until("message_update")
    play.ask("follow_up", "f", message="Later.")
    play.ask("clear_queue", "c")
    play.server.release("g")
    play.over("p")
    play.end()


@check("pi.today.clear_queue", cleared, "observed", tier="must", of=("pi.today.abort.queue",), dialects=TODAY)
def _(seen: Seen) -> None:
    """`clear_queue` takes back what is queued, and tells it."""
    expect(at(seen.data("c"), "followUp") == ["Later."], f"it was {brief(seen.data('c'))}")
    expect(said(seen.of("p")) == ["!gate g"], f"the user said {said(seen.of('p'))}")
