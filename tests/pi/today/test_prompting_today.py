"""How a prompt goes today: what becomes of it, its end, its queue, an abort, the end of stdin."""

from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer

EXTENSION = """
def extend(linnet):
    @linnet.on("input")
    def handle(event, ctx):
        return linnet.handled() if event.text == "mine" else None

    @linnet.command("greet")
    def greet(args, ctx):
        ctx.notify("hello")
"""

Start = Callable[..., Agent]


@pytest.fixture
def today(pi: Start) -> Start:
    return lambda *flags, **options: pi("--dialect", "pi-1", *flags, **options)


def settled(agent: Agent) -> list[Frame]:
    return agent.until("agent_settled")


def test_a_prompt_says_what_became_of_it_and_when_all_of_it_is_over(today: Start) -> None:
    agent = today()
    agent.send({"id": "p", "type": "prompt", "message": "hello"})
    frames = settled(agent)
    assert frames[0]["data"] == {"disposition": "started"}
    assert types(frames)[:8] == [
        "response",
        "agent_start",
        "turn_start",
        *["message_start", "message_end"] * 2,
        "message_start",
    ]
    assert [frame["message"]["role"] for frame in frames[3:8]] == ["system", "system", "user", "user", "assistant"]
    assert frames[7]["message"]["stopReason"] == "pending"
    assert types(frames)[-3:] == ["turn_end", "agent_end", "agent_settled"]
    assert (frames[-2]["willRetry"], frames[-1]["aborted"]) == (False, False)


def test_what_an_extension_handles_takes_no_run(today: Start, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(EXTENSION)
    agent = today("--extension", str(tmp_path / "mine.py"))
    handled = agent.ask("prompt", message="mine")
    assert handled["data"] == {"disposition": "handled"}
    agent.send({"id": "c", "type": "prompt", "message": "/greet"})
    shown, answer = agent.until("response")
    assert (shown["type"], answer["data"]) == ("extension_ui_request", {"disposition": "handled"})
    agent.send({"id": "p", "type": "prompt", "message": "yours"})
    frames = settled(agent)
    assert frames[0]["data"] == {"disposition": "started"}
    assert types(frames).count("agent_start") == types(frames).count("agent_settled") == 1


def test_a_retry_ends_inside_the_turn_that_succeeded(today: Start) -> None:
    agent = today()
    agent.send({"type": "prompt", "message": "!fail 529 2"})
    frames = settled(agent)
    assert [frame["willRetry"] for frame in frames if frame["type"] == "agent_end"] == [True, True, False]
    ended = types(frames).index("auto_retry_end")
    assert (frames[ended - 1]["type"], frames[ended + 1]["type"]) == ("message_end", "turn_end")
    assert frames[ended] == {"type": "auto_retry_end", "success": True, "attempt": 2}
    edits = [frame["entry"] for frame in frames if frame["type"] == "entry_appended"]
    assert [(edit["type"], edit["replacement"]) for edit in edits] == [("context_edit", None)] * 2


def test_an_abort_in_the_wait_for_a_retry_settles_as_aborted(today: Start) -> None:
    agent = today("--retry-delay", "60")
    agent.send({"type": "prompt", "message": "!fail 529 9"})
    agent.until("entry_appended")
    agent.send({"id": "x", "type": "abort"})
    frames = agent.until("response")
    assert types(frames) == ["auto_retry_end", "agent_settled", "response"]
    assert (frames[0]["finalError"], frames[1]["aborted"]) == ("Retry cancelled", True)


def test_an_abort_is_answered_last_and_leaves_the_queue_to_the_next_prompt(today: Start) -> None:
    agent = today()
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    for id, kind, message in (("f", "follow_up", "later"), ("s", "steer", "sooner")):
        agent.send({"id": id, "type": kind, "message": message})
        shown, answer = agent.until("response")[-2:]
        assert (shown["type"], answer["data"]) == ("queue_update", {"disposition": "queued"})
    agent.send({"id": "x", "type": "abort"})
    frames = agent.until("response")
    assert frames[0] == {"type": "queue_update", "steering": ["sooner"], "followUp": ["later"]}
    assert types(frames)[-3:] == ["agent_end", "agent_settled", "response"]
    assert agent.ask("get_state")["data"]["pendingMessageCount"] == 2
    agent.send({"type": "prompt", "message": "next"})
    frames = settled(agent)
    said = [frame["message"]["content"][0]["text"] for frame in frames if _is_user(frame)]
    assert said == ["next", "sooner", "later"]
    assert types(frames).count("agent_end") == 1
    assert types(frames).count("turn_start") == 2


def _is_user(frame: Frame) -> bool:
    return bool(frame["type"] == "message_end" and frame["message"]["role"] == "user")


def test_the_queue_can_be_taken_away(today: Start) -> None:
    agent = today()
    agent.send({"type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.ask("follow_up", message="later")
    agent.send({"id": "q", "type": "clear_queue"})
    shown, answer = agent.until("response")[-2:]
    assert shown == {"type": "queue_update", "steering": [], "followUp": []}
    assert answer["data"] == {"steering": [], "followUp": ["later"]}
    agent.send({"id": "x", "type": "abort"})
    assert "queue_update" not in types(agent.until("response"))


def test_tools_run_side_by_side_and_end_as_they_come(today: Start, tmp_path: Path) -> None:
    """The first can end only after the second has begun."""
    gate = tmp_path / "gate"
    first, second = f"until [ -e {gate} ]; do sleep 0.01; done; echo A", f"touch {gate}; echo B"
    agent = today()
    agent.send(
        {"type": "prompt", "message": f'!tools [["bash",{{"command":"{first}"}}],["bash",{{"command":"{second}"}}]]'}
    )
    frames = settled(agent)
    starts = [frame["toolCallId"] for frame in frames if frame["type"] == "tool_execution_start"]
    ends = [frame for frame in frames if frame["type"] == "tool_execution_end"]
    results = [frame["message"] for frame in frames if frame["type"] == "message_end"]
    results = [message for message in results if message["role"] == "toolResult"]
    assert len(starts) == 2
    assert sorted(frame["toolCallId"] for frame in ends) == sorted(starts)
    assert all(frame["durationMs"] >= 0 for frame in ends)
    assert [message["toolCallId"] for message in results] == starts
    last_end = max(index for index, frame in enumerate(frames) if frame["type"] == "tool_execution_end")
    first_result = next(i for i, frame in enumerate(frames) if frame.get("message", {}).get("role") == "toolResult")
    assert last_end < first_result


def test_a_command_of_the_client_is_told_as_it_prints(today: Start) -> None:
    agent = today()
    agent.send({"id": 7, "type": "bash", "command": "printf 'a\\xc3'; printf '\\xa4b'; seq 1 5000"})
    frames = agent.until("response")
    updates = frames[:-1]
    assert {(frame["type"], frame["id"]) for frame in updates} == {("bash_execution_update", 7)}
    assert "".join(frame["delta"] for frame in updates) == "aäb" + "".join(f"{number}\n" for number in range(1, 5001))


def test_the_end_of_stdin_ends_a_run_in_an_orderly_way(today: Start) -> None:
    agent = today()
    agent.send({"id": "p", "type": "prompt", "message": "!gate never"})
    agent.until("message_update")
    agent.send({"id": "b", "type": "bash", "command": "sleep 600"})
    frames = agent.end()
    end = next(frame for frame in frames if frame["type"] == "agent_settled")
    assert end["aborted"] is True
    answer = next(frame for frame in frames if frame.get("id") == "b" and frame["type"] == "response")
    assert answer["data"]["cancelled"] is True
    assert "exitCode" not in answer["data"]
    assert agent.wait() == 0


def test_a_level_that_changes_is_told_and_one_that_stays_is_not(today: Start) -> None:
    agent = today()
    levels = agent.ask("get_available_thinking_levels")["data"]["levels"]
    agent.send({"id": "a", "type": "set_thinking_level", "level": levels[-1]})
    told, answer = agent.until("response")
    assert (told, answer["success"]) == ({"type": "thinking_level_changed", "level": levels[-1]}, True)
    agent.send({"id": "b", "type": "set_thinking_level", "level": levels[-1]})
    assert types(agent.until("response")) == ["response"]


def test_a_summary_that_fails_for_a_passing_reason_is_asked_for_again(today: Start, server: ModelServer) -> None:
    agent = today("--compact-keep", "1")
    agent.send({"type": "prompt", "message": "FAIL SUMMARY 2"})
    settled(agent)
    agent.send({"type": "prompt", "message": "more"})
    settled(agent)
    agent.send({"id": "c", "type": "compact"})
    frames = agent.until("response")
    tries = ["summarization_retry_scheduled", "summarization_retry_attempt_start"]
    assert types(frames) == [
        "compaction_start",
        *tries * 2,
        "summarization_retry_finished",
        "compaction_end",
        "response",
    ]
    assert [frame["attempt"] for frame in frames if frame["type"] == tries[0]] == [1, 2]
    assert frames[-1]["data"]["summary"] == frames[-2]["result"]["summary"]
    assert frames[-1]["data"]["estimatedTokensAfter"] > 0


def test_a_loop_of_tools_is_compacted_between_two_turns(today: Start, tmp_path: Path) -> None:
    (tmp_path / "work" / "long.txt").write_text("word " * 8000)
    small = [{"id": "small", "provider": "anthropic", "context_window": 24_000, "max_output": 4_000}]
    agent = today("--model", "small", "--compact-keep", "500", extra_models=small)
    agent.send({"type": "prompt", "message": '!loop 3 read {"path":"long.txt"}'})
    frames = settled(agent)
    at = types(frames).index("compaction_start")
    inside = [frame["type"] for frame in frames[at:] if frame["type"] in ("turn_start", "turn_end", "agent_end")]
    assert frames[at - 1]["type"] == "turn_end"
    assert inside[0] == "turn_start"
    assert types(frames).count("agent_end") == 1


@pytest.mark.parametrize("dialect", ["pi-0.73", "pi-1"])
def test_an_edit_shows_its_lines_its_patch_and_where_it_begins(pi: Start, tmp_path: Path, dialect: str) -> None:
    (tmp_path / "work" / "a.txt").write_text("one\ntwo\nthree\n")
    agent = pi("--dialect", dialect)
    edits = '{"path":"a.txt","edits":[{"oldText":"two","newText":"TWO"}]}'
    agent.send({"type": "prompt", "message": f"!tool edit {edits}"})
    end = agent.until("tool_execution_end")[-1]
    assert end["result"]["details"] == {
        "diff": " 1 one\n-2 two\n+2 TWO\n 3 three",
        "patch": "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n",
        "firstChangedLine": 2,
    }


def test_a_refusal_of_the_vendor_is_said_to_be_one_of_the_summary(today: Start) -> None:
    agent = today("--compact-keep", "1")
    agent.ask("set_auto_retry", enabled=False)
    agent.send({"type": "prompt", "message": "FAIL SUMMARY 1"})
    settled(agent)
    agent.send({"type": "prompt", "message": "more"})
    settled(agent)
    agent.send({"id": "c", "type": "compact"})
    frames = agent.until("response")
    assert frames[-1]["error"].startswith("Summarization failed: 5")
    assert frames[-2]["errorMessage"] == f"Compaction failed: {frames[-1]['error']}"


def test_attempts_are_counted_anew_once_a_reply_has_succeeded(today: Start, server: ModelServer) -> None:
    agent = today()
    agent.send(
        {"type": "prompt", "message": "!fail 529 2 0.001"}, {"type": "follow_up", "message": "!fail 503 1 0.002"}
    )
    frames = settled(agent)
    starts = [frame["attempt"] for frame in frames if frame["type"] == "auto_retry_start"]
    ends = [(frame["success"], frame["attempt"]) for frame in frames if frame["type"] == "auto_retry_end"]
    assert (starts, ends) == ([1, 2, 1], [(True, 2), (True, 1)])


def test_a_call_that_was_denied_took_no_time(today: Start) -> None:
    agent = today("--deny", "bash")
    agent.send({"type": "prompt", "message": '!tool bash {"command":"echo hi"}'})
    frames = settled(agent)
    [end] = [frame for frame in frames if frame["type"] == "tool_execution_end"]
    assert end["isError"] is True
    assert "durationMs" not in end


@pytest.mark.parametrize(
    ("by", "aborted", "why"), [("abort", True, "Compaction cancelled"), ("abort_retry", False, "")]
)
def test_a_compaction_that_waits_to_ask_again_can_be_given_up(
    today: Start, server: ModelServer, by: str, aborted: bool, why: str
) -> None:
    agent = today("--compact-keep", "1", "--retry-delay", "30")
    for text in ("one", "two"):
        agent.send({"type": "prompt", "message": text})
        settled(agent)
    server.summaries.append("!err 529 overloaded")
    agent.send({"id": "c", "type": "compact"})
    agent.until("summarization_retry_scheduled")
    agent.send({"id": "a", "type": by})
    frames = agent.until(lambda frame: frame.get("id") == "c")
    [ended] = [frame for frame in frames if frame["type"] == "compaction_end"]
    assert ended["aborted"] is aborted is ("errorMessage" not in ended)
    assert frames[-1]["error"].startswith(why or "Summarization failed: 529")


def test_a_reply_that_was_too_long_is_left_out_although_there_is_nothing_to_compact(today: Start) -> None:
    agent = today()
    agent.send({"type": "prompt", "message": "!overflow 9"})
    frames = settled(agent)
    assert types(frames)[-5:] == [
        "agent_end",
        "entry_appended",
        "compaction_start",
        "compaction_end",
        "agent_settled",
    ]
    said = agent.ask("get_messages")["data"]["messages"]
    assert [message["role"] for message in said if message["role"] != "system"] == ["user"]
