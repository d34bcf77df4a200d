"""What is wrong with zot, by the number it has in the list of observations, and right here."""

import json
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.providers.provider_rows import PROVIDERS
from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import alive, marked, wait_until


def result(frames: list[dict[str, object]]) -> str:
    (frame,) = [frame for frame in frames if frame["type"] == "tool_result"]
    content = frame["content"]
    assert isinstance(content, list)
    return str(content[0]["text"])


def test_01_prompts_run_in_the_order_they_were_sent(agent: Agent) -> None:
    for _ in range(5):
        agent.send(*({"id": n, "type": "prompt", "message": f"hi {n}"} for n in range(5)))
        frames = [frame for _ in range(5) for frame in agent.until("done")]
        assert [f["id"] for f in frames if f["type"] == "response"] == list(range(5))
        said = [f["content"][0]["text"] for f in frames if f["type"] == "user_message"]
        assert said == [f"hi {n}" for n in range(5)]


def test_02_an_abort_in_the_same_write_as_its_prompt_is_not_lost(agent: Agent) -> None:
    for _ in range(20):
        agent.send({"id": "1", "type": "prompt", "message": "!gate never"}, {"id": "2", "type": "abort"})
        frames = agent.until("done")
        assert [f["id"] for f in frames if f["type"] == "response"] == ["1", "2"]
        assert frames[-2]["stop"] == "aborted"


def test_03_an_aborted_and_a_failed_compact_have_a_terminator(agent: Agent, server: ModelServer) -> None:
    for _ in range(3):
        agent.prompt("HOLD SUMMARY never")
    agent.send({"id": "c", "type": "compact"}, {"id": "a", "type": "abort"})
    frames = agent.until("done")
    assert types(frames) == ["response", "response", "turn_end", "done"]
    assert frames[2]["stop"] == "aborted"
    server.close()
    agent.send({"id": "c", "type": "compact"})
    assert types(agent.until("done")) == ["response", "error", "done"]
    assert agent.ask("get_state")["data"]["message_count"] == 6


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize("cut", ["!drop 5", "!drop 0", "!reset 3"])
def test_04_a_stream_cut_by_the_network_is_an_error(zot: Callable[..., Agent], provider: str, cut: str) -> None:
    frames = zot(provider=provider).prompt(cut)
    assert types(frames)[-3:] == ["turn_end", "error", "done"]
    assert frames[-3]["stop"] == "error"


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
@pytest.mark.parametrize(
    "cut", ["!droptool", "!lengthtool", "!sseerror overloaded_error", "!thinkcut 4", "!thinklength"]
)
def test_05_a_reply_cut_inside_a_call_does_not_spoil_the_next_request(
    zot: Callable[..., Agent], provider: str, cut: str
) -> None:
    agent = zot(provider=provider)
    frames = agent.prompt(cut)
    assert "tool_result" not in types(frames)
    assert agent.prompt("next")[-2]["stop"] == "end_turn"  # The server refuses what the vendor would.


def test_06_after_an_abort_no_further_call_runs(agent: Agent, tmp_path: Path) -> None:
    calls = [["bash", {"command": "echo up; sleep 60"}], *[["bash", {"command": f"touch ran{n}"}] for n in range(3)]]
    agent.send({"id": "1", "type": "prompt", "message": f"!tools {json.dumps(calls)}"})
    agent.until("tool_progress")
    agent.send({"type": "abort"})
    frames = agent.until("done")
    assert types(frames).count("tool_result") == 4
    assert not list((tmp_path / "work").glob("ran*"))


def test_07_busy_is_false_after_done_and_true_while_a_tool_runs(agent: Agent) -> None:
    for _ in range(20):
        agent.send({"id": "1", "type": "prompt", "message": "hi"})
        agent.until("done")
        assert agent.ask("get_state")["data"]["busy"] is False
    agent.send({"id": "1", "type": "prompt", "message": '!tool bash {"command":"echo up; sleep 60"}'})
    agent.until("tool_progress")
    assert agent.ask("get_state")["data"]["busy"] is True
    agent.send({"type": "abort", "id": "a"}, *({"type": "get_state", "id": number} for number in range(200)))
    frames = agent.until(lambda frame: frame.get("id") == 199)
    if "done" not in types(frames):
        frames += agent.until("done")
    end = types(frames).index("done")
    for place, frame in enumerate(frames):
        if frame.get("command") == "get_state":
            assert frame["data"]["busy"] is (place < end)


def test_08_nothing_of_a_turn_reappears_after_a_clear(agent: Agent, server: ModelServer) -> None:
    agent.send({"id": "1", "type": "prompt", "message": "!gate g"})
    agent.until("text_delta")
    assert agent.ask("clear")["success"]
    assert agent.ask("get_state")["data"]["message_count"] == 0
    server.release("g")
    assert agent.until("done")[-2]["stop"] == "end_turn"
    assert agent.ask("get_messages")["data"]["messages"] == []
    agent.prompt("hi")
    assert [m["role"] for m in server.requests[-1].body["messages"]] == ["user"]


def test_08_a_clear_while_a_tool_runs_does_not_break_the_turn(agent: Agent, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "work" / "go")
    agent.send({"id": "1", "type": "prompt", "message": '!tool bash {"command":"echo up; cat go"}'})
    agent.until("tool_progress")
    agent.ask("clear")
    (tmp_path / "work" / "go").write_text("on\n")
    assert agent.until("done")[-2]["stop"] == "end_turn"
    assert agent.ask("get_messages")["data"]["messages"] == []


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_09_a_stop_for_tools_without_a_call_ends_the_turn(zot: Callable[..., Agent], provider: str) -> None:
    frames = zot(provider=provider).prompt("!toolnone")
    assert types(frames).count("turn_start") == 1
    assert frames[-2]["stop"] == "end_turn"


def test_10_a_background_child_that_keeps_the_pipe_does_not_block_the_tool(agent: Agent, tmp_path: Path) -> None:
    frames = agent.prompt('!tool bash {"command":"sleep 61.5 & echo $! > pid; echo hi"}')
    assert "hi" in result(frames)
    pid = int((tmp_path / "work" / "pid").read_text())
    assert alive(pid)
    agent.end()
    assert agent.wait() == 0
    wait_until(lambda: not alive(pid))


@pytest.mark.parametrize(
    "command",
    [
        "trap '' TERM; echo up; sleep 61.5; sleep 61.5",
        "echo up; setsid sleep 61.5; echo x",
        "setsid sh -c 'echo $$ > child; exec sleep 61.5' & echo up; wait",
    ],
)
def test_10_a_stubborn_child_does_not_delay_an_abort(zot: Callable[..., Agent], tmp_path: Path, command: str) -> None:
    agent = zot(env={"TEST_MARK": str(tmp_path)})
    agent.send({"id": "1", "type": "prompt", "message": f"!tool bash {json.dumps({'command': command})}"})
    agent.until("tool_progress")
    agent.send({"type": "abort"})
    agent.until("done")
    wait_until(lambda: not marked(f"TEST_MARK={tmp_path}", "LINNET_MARK="))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_10_a_signal_to_the_agent_leaves_no_child(agent: Agent, tmp_path: Path, number: signal.Signals) -> None:
    command = "trap '' TERM; setsid sleep 61.5 & echo $! > pid; echo up; wait"
    agent.send({"id": "1", "type": "prompt", "message": f"!tool bash {json.dumps({'command': command})}"})
    agent.until("tool_progress")
    pid = int((tmp_path / "work" / "pid").read_text())
    agent.signal(number)
    assert types(agent.until("done"))[-3:] == ["tool_result", "turn_end", "done"]
    assert agent.wait() == 128 + number
    wait_until(lambda: not alive(pid))


def test_10_the_file_with_the_full_output_is_full(agent: Agent) -> None:
    text = result(agent.prompt('!tool bash {"command":"seq 1 100000"}'))
    (path,) = re.findall(r"(/\S+\.log)", text)
    content = Path(path).read_text()
    assert content.split() == [str(n) for n in range(1, 100_001)]
    assert len(text) < 60_000
    Path(path).unlink()


def test_11_read_reaches_every_line_of_a_long_file(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "work" / "big").write_text("".join(f"{n} {'x' * 100}\n" for n in range(1, 5001)))
    assert result(agent.prompt('!tool read {"path":"big","offset":4990}')).startswith("4990 x")


def test_12_progress_never_splits_a_character(agent: Agent) -> None:
    command = "python3 -c \"import sys; [sys.stdout.write('é😀' * 999) or sys.stdout.flush() for _ in range(9)]\""
    frames = agent.prompt(f"!tool bash {json.dumps({'command': command})}")
    progress = "".join(f["text"] for f in frames if f["type"] == "tool_progress")
    assert "\ufffd" not in progress
    assert "é😀" in progress


def test_14_a_line_of_20_mib_and_a_numeric_id_are_taken(agent: Agent) -> None:
    agent.send({"id": 17, "type": "frob", "pad": "x" * (20 * 1024 * 1024)})
    assert agent.read() == {
        "type": "response",
        "id": 17,
        "command": "frob",
        "success": False,
        "error": "unknown command",
    }


def test_15_an_unknown_provider_and_a_missing_folder_end_the_start(spawn: Callable[..., Agent], tmp_path: Path) -> None:
    agent = spawn("rpc", "--provider", "zzz")
    assert agent.wait() == 1
    assert agent.stderr == f'linnet: unknown provider "zzz"; choose one of {", ".join(PROVIDERS)}\n'
    agent = spawn("rpc", "--provider", "scripted", "--cwd", str(tmp_path / "nowhere"))
    assert agent.wait() == 1
    assert agent.stderr == f"linnet: --cwd {tmp_path}/nowhere is not a folder\n"


def test_15_the_folder_is_made_absolute(spawn: Callable[..., Agent], tmp_path: Path) -> None:
    (tmp_path / "work" / "sub").mkdir()
    agent = spawn("rpc", "--provider", "scripted", "--cwd", "sub/../sub")
    assert agent.ask("get_state")["data"]["cwd"] == str(tmp_path / "work" / "sub")


def test_16_children_do_not_see_the_token(zot: Callable[..., Agent]) -> None:
    agent = zot(env={"ZOTCORE_RPC_TOKEN": "s3cret-token"})
    agent.ask("hello", token="s3cret-token")
    command = "env; tr '\\0' '\\n' < /proc/$PPID/environ; echo end"
    assert "s3cret-token" not in result(agent.prompt(f"!tool bash {json.dumps({'command': command})}"))


def test_17_stop_says_end_turn_and_thinking_can_be_shown(zot: Callable[..., Agent]) -> None:
    frames = zot("--show-thinking").prompt("!think")
    assert "thinking_delta" in types(frames)
    assert frames[-2]["stop"] == "end_turn"


def test_18_under_a_token_any_first_line_but_hello_ends_the_process(zot: Callable[..., Agent]) -> None:
    agent = zot(env={"ZOTCORE_RPC_TOKEN": "s3cret"})
    agent.send({"id": "1", "type": "ping"}, {"id": "2", "type": "ping"})
    frame = agent.read()
    assert frame is not None
    assert frame["error"] == "auth required: send hello with token first"
    assert agent.read() is None
    assert agent.wait() == 1
