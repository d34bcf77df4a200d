"""One agent's stream, folded: where it ends is where the events say."""

import json
from collections.abc import Iterable
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linnet.capture.record import Capture, Record
from linnet.monitor import pi, zot
from linnet.monitor.describe import describe, snapshot
from linnet.monitor.states import (
    Asking,
    Compacting,
    Failed,
    Garbled,
    Gone,
    Idle,
    Refused,
    Retrying,
    Running,
    Speaking,
    Starting,
    State,
    Thinking,
)
from linnet.monitor.watch import MOST_CALLS, MOST_TYPES, REST, TABLES, Watch
from linnet.monitor.words import MOST_TEXT
from linnet.wire.pi import frames as pi_frames
from linnet.wire.pi import later_frames
from linnet.wire.zot import frames as zot_frames

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

# The monitor's table, as its document has it.
DOCUMENT = """
response None
user_message message_update
turn_start turn_start
turn_end turn_end
error error
done agent_end
assistant_start message_start
text_delta message_update
assistant_message message_end
tool_call tool_execution_start
tool_use_start tool_execution_start
tool_use_args tool_execution_update
tool_progress tool_execution_update
tool_use_end tool_execution_update
tool_result tool_execution_end
usage None
"""


def line(type: str, **fields: Any) -> bytes:
    return json.dumps({"type": type, **fields}).encode()


def fold(*lines: bytes, watch: Watch | None = None) -> Watch:
    """A second passes before each."""
    watch = watch or Watch()
    for each in lines:
        watch.heard(watch.at + 1, each)
    return watch


def states(lines: Iterable[bytes], watch: Watch | None = None) -> list[type[State]]:
    watch = watch or Watch()
    return [type(fold(each, watch=watch).state) for each in lines]


def assistant(stop: str, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [], "stopReason": stop, **fields}


def update(type: str, **fields: Any) -> bytes:
    return line("message_update", assistantMessageEvent={"type": type, "contentIndex": 0, **fields})


def test_zots_table_is_the_documents() -> None:
    rows = dict(row.split() for row in DOCUMENT.strip().splitlines())
    assert {type: word or "None" for type, word in zot.MAPPING.items()} == rows


def test_what_is_added_to_a_table_changes_nothing_in_it() -> None:
    for module in (zot, pi):
        assert not module.MAPPING.keys() & module.ADDED.keys()
        assert module.FIELDS.keys() <= module.MAPPING.keys() | module.ADDED.keys()


def test_a_run_of_zots_with_a_tool() -> None:
    lines = [
        line("response", command="prompt", success=True, data={"started": True}),
        line("user_message", content=[], time="t"),
        line("turn_start", step=1),
        line("assistant_start"),
        line("text_delta", delta="Let me "),
        line("tool_use_start", id="c1", name="bash"),
        line("tool_use_args", id="c1", delta="{}"),
        line("tool_use_end", id="c1"),
        line("usage", input=5, output=2, cost_usd=0.5, cumulative={"input": 5, "output": 2, "cost_usd": 0.5}),
        line("assistant_message", content=[{"type": "text", "text": "Let me see."}], time="t"),
        line("tool_call", id="c1", name="bash", args={}),
        line("turn_end", stop="tool_use"),
        line("tool_progress", id="c1", text="x"),
        line("tool_result", id="c1", is_error=False, content=[]),
        line("turn_start", step=2),
        line("assistant_start"),
        line("text_delta", delta="Done"),
        line("text_delta", delta="."),
        line("usage", input=7, output=1, cost_usd=0.5, cumulative={"input": 12, "output": 3, "cost_usd": 1.0}),
        line("turn_end", stop="end_turn"),
        line("done"),
    ]
    watch = Watch()
    assert states(lines, watch) == [
        *(Idle, Thinking, Thinking, Thinking, Speaking),
        *(Running, Running, Running, Running, Running, Running, Running, Running),
        *(Thinking, Thinking, Thinking, Speaking, Speaking, Speaking, Thinking, Idle),
    ]
    assert (watch.dialect, watch.turns, watch.tools, watch.prompts, watch.words) == ("zot", 2, 1, 1, "Done.")
    assert (watch.spent.input, watch.spent.output, watch.spent.cost) == (12, 3, 1.0)
    assert describe(watch, watch.at) == "idle · 2 turns · 1 tool · 12 tokens in, 3 out · $1.0000 · “Done.”"


def test_a_tool_runs_from_the_last_of_its_beginnings_and_the_next_one_from_its_end() -> None:
    watch = fold(line("tool_use_start", id="a", name="bash"), line("tool_use_start", id="b", name="read"))
    fold(line("tool_call", id="a", name="bash"), line("tool_call", id="b", name="read"), watch=watch)
    assert watch.state == Running("bash", "a", 3.0, others=1)
    assert describe(watch, 64.0).startswith("running bash and 1 more for 1 min 01 s")
    watch.heard(60.0, line("tool_result", id="a"))
    assert watch.state == Running("read", "b", 60.0)


def test_the_document_s_failed_login_is_a_failure_that_stays() -> None:
    error = "deepseek: http 401: ..."
    watch = fold(
        line("response", command="prompt", success=True, data={"started": True}),
        line("user_message", content=[], time="t"),
        line("turn_start", step=1),
        line("turn_end", stop="error", error=error),
        line("error", message=error),
        line("done"),
    )
    assert watch.state == Failed(error)
    assert watch.failures == 1
    assert fold(line("turn_start", step=1), watch=watch).state == Thinking()


def test_it_waits_for_an_answer_until_there_is_one_or_none_is_waited_for() -> None:
    called = [line("user_message"), line("tool_call", id="c", name="bash", args={})]
    asked = line("question", request_id="q", method="select", title="Allow bash?")
    watch = fold(*called, asked)
    assert watch.state == Asking("Allow bash?")
    assert describe(watch, watch.at) == "waiting for an answer: Allow bash?"
    for answered in (
        line("response", command="answer", success=True),
        line("question_closed", request_id="q", reason="expired"),
    ):
        assert states([*called, asked, answered]) == [Thinking, Running, Asking, Running]
    refused = line("response", command="answer", success=False, error="no")
    assert states([*called, asked, refused, line("tool_result", id="c")])[2:] == [Asking, Refused, Thinking]


def test_pi_waits_for_an_answer_where_it_is_told_of_one() -> None:
    called = [line("agent_start"), line("tool_execution_start", toolCallId="c", toolName="bash")]
    asked = line("extension_ui_request", id="q", method="select", title="Allow bash?", permission={"preview": "ls"})
    answered = line("response", id="q", command="extension_ui_response", success=True)
    assert states([*called, asked, answered]) == [Thinking, Running, Asking, Running]
    closed = line("extension_ui_closed", id="q", reason="withdrawn")
    assert states([*called, asked, closed, line("agent_end", messages=[])])[2:] == [Asking, Running, Idle]
    assert states([*called, line("extension_ui_request", id="q", method="confirm", title="?")])[2:] == [Running]


def test_an_abort_is_told_when_it_is_idle() -> None:
    zots = fold(line("text_delta", delta="x"), line("turn_end", stop="aborted"), line("done"))
    assert zots.state == Idle(aborted=True)
    ended = line("message_end", message=assistant("aborted"))
    assert fold(line("agent_start"), ended, line("agent_end", messages=[])).state == Idle(aborted=True)


def test_zot_compacts_from_the_response_to_compact_done() -> None:
    watch = fold(line("response", command="compact", success=True, data={"started": True}))
    assert watch.state == Compacting("manual")
    assert fold(line("compact_done", summary="s"), watch=watch).state == Idle()


def test_pi_retries_and_gives_up() -> None:
    failed = assistant("error", errorMessage="529 overloaded")
    again = line("auto_retry_start", attempt=1, maxAttempts=3, delayMs=2000, errorMessage="529 overloaded")
    run = [line("agent_start"), line("message_end", message=failed), line("agent_end", messages=[])]
    watch = fold(*run, again)
    assert watch.state == Retrying(1, 3, 2.0, "529 overloaded")
    given_up = line("auto_retry_end", success=False, attempt=1, finalError="529 overloaded")
    assert fold(*run, given_up, watch=watch).state == Failed("529 overloaded")
    assert (watch.failures, watch.retries) == (2, 1)


@pytest.mark.parametrize("prefix", ["auto_", ""])
def test_pi_compacts_between_runs_and_inside_one(prefix: str) -> None:
    begun, ended = line(f"{prefix}compaction_start", reason="threshold"), line(f"{prefix}compaction_end", aborted=False)
    watch = fold(line("agent_start"), line("agent_end", messages=[]), begun)
    assert watch.state == Compacting("threshold")
    assert fold(ended, watch=watch).state == Idle()
    assert fold(line("agent_start"), begun, ended, watch=watch).state == Thinking()
    assert watch.compactions == 2
    overflow = line(f"{prefix}compaction_end", aborted=False, willRetry=True)
    assert fold(line("agent_end", messages=[]), begun, overflow, watch=watch).state == Thinking()


def test_pis_earliest_generation_compacts_without_a_word() -> None:
    watch = fold(line("agent_start"), line("agent_end", messages=[]))
    watch.said(3.0, b'{"type":"compact"}')
    assert watch.state == Compacting("manual")
    assert fold(line("response", command="compact", success=True, data={}), watch=watch).state == Idle()


@pytest.mark.parametrize("command", ["compact", "new_session", "switch_session", "branch", "fork", "clone"])
def test_pi_is_at_rest_once_it_has_moved_to_another_session(command: str) -> None:
    """Its earlier generations end a run for that without a word."""
    begun = [line("agent_start"), line("tool_execution_start", toolCallId="1", toolName="bash", args={})]
    watch = fold(*begun)
    called_off = line("response", command=command, success=True, data={"cancelled": True})
    assert type(fold(called_off, watch=watch).state) is Running
    moved = line("response", command=command, success=True, data={"cancelled": False})
    assert fold(moved, watch=watch).state == Idle()
    assert fold(line("agent_start"), watch=watch).state == Thinking()  # The call is forgotten.


@pytest.mark.parametrize("command", ["get_state", "set_model", "bash", "abort", "prompt", "navigate"])
def test_other_answers_of_pi_change_nothing_of_a_run(command: str) -> None:
    begun = [line("agent_start"), line("tool_execution_start", toolCallId="1", toolName="bash", args={})]
    assert type(fold(*begun, line("response", command=command, success=True, data={})).state) is Running


def test_today_s_pi_settles_also_when_an_abort_looks_like_a_failure() -> None:
    run = [line("agent_start"), line("message_end", message=assistant("error")), line("agent_end", messages=[])]
    assert fold(*run, line("agent_settled", aborted=True)).state == Idle(aborted=True)
    assert fold(*run, line("agent_settled", aborted=False)).state == Failed("the reply failed")


def test_a_run_that_is_known_to_settle_is_not_over_before() -> None:
    watch = fold(
        b'{"type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}',
        b'{"type":"agent_start"}',
        b'{"type":"agent_end","messages":[],"willRetry":false}',
    )
    assert watch.state == Thinking()
    for line, state in (
        (b'{"type":"compaction_start","reason":"threshold"}', Compacting("threshold")),
        (b'{"type":"compaction_end","reason":"threshold","aborted":false,"willRetry":false}', Thinking()),
        (b'{"type":"agent_settled","aborted":false}', Idle()),
    ):
        watch.heard(1.0, line)
        assert watch.state == state


def test_an_answer_that_is_as_deep_as_a_session_is_long_is_an_answer() -> None:
    tree = b'{"entry":{"type":"message"},"children":[' * 3000 + b"]}" * 3000
    line = b'{"id":"a","type":"response","command":"get_tree","success":true,"data":{"tree":[%s]}}' % tree
    watch = fold(line)
    assert (watch.state, watch.garbled, watch.refusals) == (Idle(), 0, 0)
    watch.heard(0.0, line.replace(b'"success":true', b'"success":false'))
    assert isinstance(watch.state, Refused)
    watch.heard(0.0, b"[" * 3000 + b"]" * 3000)
    assert isinstance(watch.state, Garbled)


def test_pi_speaks_thinks_and_writes_a_call() -> None:
    watch = fold(line("agent_start"))
    assert states(
        [
            update("thinking_delta", delta="hm"),
            update("text_delta", delta="So"),
            update("toolcall_delta", delta="{"),
            line("message_end", message=assistant("toolUse", usage={"input": 3, "cost": {"total": 0.25}})),
            line("tool_execution_start", toolCallId="c", toolName="bash", args={}),
            line("tool_execution_end", toolCallId="c", toolName="bash", result={}, isError=False),
        ],
        watch,
    ) == [Thinking, Speaking, Thinking, Thinking, Running, Thinking]
    assert (watch.words, watch.spent.input, watch.spent.cost) == ("So", 3, 0.25)


def test_a_cost_of_which_a_part_is_unknown_has_a_question_mark() -> None:
    sum = {"input": 5, "output": 2, "cost_usd": 0.5, "cost_known": False}
    watch = fold(line("usage", input=5, output=2, cost_usd=0.5, cumulative=sum))
    assert "· $0.5000 + ?" in describe(watch, watch.at)

    usage = {"input": 3, "cost": {"total": 0}, "costKnown": False}
    watch = fold(line("agent_start"), line("message_end", message=assistant("stop", usage=usage)))
    assert "· $?" in describe(watch, watch.at)
    watch = fold(
        line("message_end", message=assistant("stop", usage={"input": 3, "cost": {"total": 0.25}})), watch=watch
    )
    assert "· $0.2500 + ?" in describe(watch, watch.at)
    assert snapshot(watch)["spent"]["cost_known"] is False


def test_a_type_that_is_in_no_table_is_counted_and_shown() -> None:
    watch = fold(line("text_delta", delta="x"), *[line("ext_frob")] * 3)
    assert watch.state == Speaking()
    assert watch.unmapped == {"ext_frob": 3}
    assert "not in the table: ext_frob ×3" in describe(watch, watch.at)
    assert watch.types == {"text_delta": 1, "ext_frob": 3}


def test_a_refusal_is_a_state_until_the_next_line() -> None:
    refused = line("response", command="set_model", success=False, error="unknown model")
    watch = fold(line("tool_call", id="c", name="bash"), refused)
    assert watch.state == Refused("set_model", "unknown model", "running bash")
    assert describe(watch, watch.at).startswith("refused set_model: unknown model (while running bash)")
    assert isinstance(fold(line("usage"), watch=watch).state, Running)
    assert fold(line("response", command="x")).state == Refused("x", "it did not say why", "idle")


@pytest.mark.parametrize(
    "stray",
    [b"Debugger listening", b"[1]", b"{}", b'{"type":5}', b'{"type":"done"', b"\xff\xfe", b"[" * 100_000, b"null"],
)
def test_a_line_that_is_no_frame_is_a_state_until_the_next_line(stray: bytes) -> None:
    watch = fold(line("text_delta", delta="x"), stray)
    assert isinstance(watch.state, Garbled)
    assert watch.state.during == "speaking"
    assert watch.garbled == 1
    assert fold(line("usage"), watch=watch).state == Speaking()


def test_the_end_says_what_it_was_doing() -> None:
    watch = fold(line("tool_call", id="c", name="bash"))
    watch.ended(9.0, 137)
    assert watch.state == Gone(137, "running bash")
    assert describe(watch, 99.0).startswith("gone, exit 137, while running bash")


def test_a_clock_that_jumps_makes_no_time_negative() -> None:
    watch = Watch()
    watch.heard(1e9, line("tool_call", id="c", name="bash"))
    watch.heard(-5.0, line("tool_progress", id="c", text=""))
    assert describe(watch, -5.0) == "running bash"
    watch.heard(-6.0, line("done"))
    assert describe(watch, -1e300) == "idle"


def test_what_is_kept_does_not_grow() -> None:
    watch = Watch("zot")
    for number in range(3 * MOST_CALLS):
        watch.heard(0.0, line(f"type_{number}"))
        watch.heard(0.0, line("tool_call", id=str(number), name="x" * 1000))
        watch.heard(0.0, line("text_delta", delta="word " * 100))
    assert len(watch.types) <= MOST_TYPES + 1
    assert len(watch.unmapped) <= MOST_TYPES + 1
    assert sum(watch.unmapped.values()) == 3 * MOST_CALLS
    assert watch.unmapped[REST] > 0
    assert len(watch._calls) == MOST_CALLS
    assert len(watch.words) == MOST_TEXT


# What may follow the last event that means something.
AFTER: dict[str, tuple[type[State], ...]] = {
    "agent_start": (Thinking,),
    "turn_start": (Thinking,),
    "message_start": (Thinking, Running, Idle, Failed, Speaking),
    "message_update": (Thinking, Speaking),
    "message_end": (Thinking, Running, Failed, Idle),
    "tool_execution_start": (Running,),
    "tool_execution_update": (Running,),
    "tool_execution_end": (Running, Thinking),
    "turn_end": (Thinking, Running, Failed, Idle),
    "agent_end": (Idle, Failed),
    "compaction_start": (Compacting,),
    "compaction_end": (Idle, Thinking, Failed),
    "retry_start": (Retrying,),
    "retry_end": (Thinking, Failed, Speaking, Idle),
    "error": (Failed,),
}


def check(record: Record, watch: Watch) -> None:
    """The state after a line of the stream, by the line alone."""
    try:
        said = json.loads(record.line)
    except ValueError:
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("type"), str):
        assert isinstance(watch.state, Garbled)
    elif said["type"] == "response":
        assert isinstance(watch.state, Refused) == (said["success"] is not True)
    else:
        word = TABLES[watch.dialect or "pi"].get(said["type"])
        if said["type"] == "agent_end" and watch._settles:
            assert isinstance(watch.state, Thinking | Failed), said
        elif word in AFTER:
            assert isinstance(watch.state, AFTER[word]), said
        if said["type"] in ("done", "compact_done", "agent_settled"):
            assert isinstance(watch.state, Idle | Failed)
        if said["type"] == "text_delta" or said.get("assistantMessageEvent", {}).get("type") == "text_delta":
            assert watch.state == Speaking()


def test_every_prefix_of_every_capture_folds_to_where_its_last_event_says(captures: dict[str, Capture]) -> None:
    folded = 0
    for name, capture in captures.items():
        watch = Watch()
        for record in capture.records:
            if record.kind == "in":
                watch.said(record.at, record.line)
            elif record.kind == "out":
                watch.heard(record.at, record.line)
                check(record, watch)
                folded += 1
            assert "\n" not in describe(watch, record.at)
        assert json.dumps(snapshot(watch))
        assert watch.dialect in (name.split("/")[0].partition("-")[0], None)
        assert watch.unmapped.keys() <= {"ext_notify"}
        assert sum(watch.types.values()) + watch.garbled == len([r for r in capture.records if r.kind == "out"])
        watch.ended(watch.at)
        assert isinstance(watch.state, Gone)
    assert len(captures) > 350
    assert folded > 25_000


def test_the_sums_of_a_capture_are_those_that_the_agent_names_itself(captures: dict[str, Capture]) -> None:
    """pi's `get_session_stats` counts what its messages came to; so does the watch."""
    compared = 0
    for name in ("pi-0.37/basics", "pi-0.73/basics", "pi-0.73/nosession_cmds", "pi-1.5/json_tool"):
        watch = Watch()
        for record in captures[name].records:
            if record.kind == "out":
                watch.heard(record.at, record.line)
                said = json.loads(record.line)
                if said.get("command") == "get_session_stats":
                    compared += 1
                    tokens = said["data"]["tokens"]
                    assert (watch.spent.input, watch.spent.output) == (tokens["input"], tokens["output"])
                    assert watch.spent.cost == pytest.approx(said["data"]["cost"])
    assert compared >= 4


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["id", "name", "delta", "message", "error", "stop", "content", "success", "command", "data"])
more = st.sampled_from(["usage", "assistantMessageEvent", "cumulative", "toolCallId", "attempt", "delayMs", "aborted"])
types = st.sampled_from(sorted(TABLES["zot"].keys() | TABLES["pi"].keys())) | st.text(max_size=8)


@unhurried
@given(st.lists(st.tuples(types, st.dictionaries(names | more, values, max_size=4), st.floats()), max_size=20))
def test_frames_with_anything_in_any_field_fold(frames: list[tuple[str, dict[str, Any], float]]) -> None:
    watch = Watch()
    for type, fields, at in frames:
        watch.heard(at, json.dumps({**fields, "type": type}).encode("utf-8", "surrogatepass"))
        watch.said(at, json.dumps(fields).encode())
        assert describe(watch, at).isprintable()
        snapshot(watch)
    assert watch.frames + watch.garbled == len(frames)


@unhurried
@given(st.lists(st.binary(max_size=40), max_size=20))
def test_lines_of_any_bytes_fold(lines: list[bytes]) -> None:
    watch = fold(*lines)
    assert describe(watch, 0.0).isprintable()


def test_nothing_was_heard_yet() -> None:
    assert describe(Watch(), 0.0) == "starting"
    assert isinstance(Watch().state, Starting)


def test_every_frame_that_linnet_prints_has_a_mapping() -> None:
    zots = {str(each.__struct_config__.tag) for each in get_args(zot_frames.Event)}
    assert zots <= zot.MAPPING.keys() | zot.ADDED.keys()
    leaves = [each for each in pi_frames.Frame.__subclasses__() if not each.__subclasses__()]
    pis = {str(each.__struct_config__.tag) for each in leaves}
    assert later_frames.CompactionStart in pi_frames.Frame.__subclasses__()
    assert pis - pi.MAPPING.keys() - pi.ADDED.keys() == {"text", "image", "thinking", "toolCall"}  # Blocks of messages.


def test_what_an_extension_did_wrong_is_a_notice() -> None:
    watch = Watch("zot")
    watch.heard(0.0, b'{"type":"ext_error","path":"x.py","event":"tool_call","error":"boom"}')
    watch.heard(0.1, b'{"type":"ext_notify","extension":"x","level":"info","message":"hello"}')
    assert (watch.notices, watch.notice) == (1, "boom")
