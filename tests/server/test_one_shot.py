"""One prompt from the command line."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.server.one_shot.piped import piped
from linnet.server.wakeup import Wakeup
from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer


@pytest.fixture
def once(spawn: Callable[..., Agent], server: ModelServer) -> Callable[..., Agent]:
    return lambda *flags, **options: spawn(*flags, "--base-url", server.url, "--api-key", "x", **options)


def output(agent: Agent) -> tuple[str, int]:
    text = agent.process.communicate()[0].decode()
    return text, agent.process.returncode


def test_print_prints_the_final_text_and_nothing_else(once: Callable[..., Agent]) -> None:
    assert output(once("-p", "hi")) == ("Hello from the scripted model.\n", 0)
    assert output(once("-p", '!tool bash {"command":"echo noise"}')) == ("tool done\n", 0)
    assert output(once("--mode", "text", "hi")) == ("Hello from the scripted model.\n", 0)


def test_the_prompt_may_come_on_stdin(once: Callable[..., Agent]) -> None:
    agent = once("-p")
    text = agent.process.communicate(b"hi")[0]
    assert text == b"Hello from the scripted model.\n"


def test_json_prints_the_events_of_rpc_without_responses(once: Callable[..., Agent], zot: Callable[..., Agent]) -> None:
    text, code = output(once("--mode", "json", "!think"))
    printed = [json.loads(line) for line in text.splitlines()]
    assert code == 0
    assert types(printed) == [kind for kind in types(zot().prompt("!think")) if kind != "response"]


@pytest.mark.parametrize(
    ("prompt", "code", "words"),
    [("!fail 401 9", 1, "http 401"), ("!drop 3", 1, "cut short"), ("!length", 3, "")],
)
def test_the_exit_code_says_how_it_went(once: Callable[..., Agent], prompt: str, code: int, words: str) -> None:
    agent = once("-p", prompt)
    assert output(agent)[1] == code
    assert words in agent.stderr
    assert "Traceback" not in agent.stderr


def test_an_interrupt_ends_the_run_with_130(once: Callable[..., Agent]) -> None:
    agent = once("--mode", "json", "!gate never")
    agent.end_input()
    agent.until("text_delta")
    agent.signal(signal.SIGINT)
    frames: list[dict[str, Any]] = []
    while (frame := agent.read()) is not None:
        frames.append(frame)
    assert types(frames)[-2:] == ["turn_end", "done"]
    assert agent.wait() == 130


def test_a_reader_that_leaves_early_is_no_drama(server: ModelServer, tmp_path: Path) -> None:
    executable = Path(sys.executable).with_name("linnet")
    script = f"{executable} --mode json '!text 100000' --base-url {server.url} --api-key x | head -n 1"
    done = subprocess.run(["sh", "-c", script], capture_output=True, cwd=tmp_path, check=True)
    assert json.loads(done.stdout)["type"] == "user_message"
    assert done.stderr == b""


def test_the_tools_work_in_the_folder(once: Callable[..., Agent], tmp_path: Path) -> None:
    output(once("-p", '!tool write {"path":"d/new.txt","content":"x"}'))
    assert (tmp_path / "work" / "d" / "new.txt").read_text() == "x"


def test_a_session_that_could_not_be_saved_is_mentioned(once: Callable[..., Agent], tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    assert output(once("-p", "one", "--session", str(file)))[1] == 0
    before = file.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 50, limits[1]))
    try:
        agent = once("-p", "two", "--session", str(file))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert output(agent) == ("Hello from the scripted model.\n", 0)
    assert agent.stderr.splitlines() == [
        f"linnet: {file} could not be written to: No space left on device",
        f"linnet: this session is kept in {file}",
    ]
    assert file.read_bytes() == before


DIFF = "--- a/x\n+++ b/x\n-old\n+new\n"


@pytest.mark.parametrize("flags", [["-p"], ["--mode", "json"], ["-p", "--dialect", "pi"], ["--mode", "text"]])
def test_what_is_piped_comes_before_the_prompt(
    once: Callable[..., Agent], server: ModelServer, flags: list[str]
) -> None:
    agent = once(*flags, "review this")
    assert b"Hello" in agent.process.communicate(DIFF.encode())[0]
    assert newest_text(server) == f"{DIFF}\nreview this"


def newest_text(server: ModelServer) -> str:
    content = server.requests[-1].body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


@pytest.mark.parametrize("nothing", [b"", b"\n \n"])
def test_a_pipe_in_which_nothing_is_adds_nothing(
    once: Callable[..., Agent], server: ModelServer, nothing: bytes
) -> None:
    once("-p", "hi").process.communicate(nothing)
    assert newest_text(server) == "hi"


def test_what_is_piped_need_not_be_text(once: Callable[..., Agent], server: ModelServer) -> None:
    once("-p", "what is this?").process.communicate(b"\xff\x00\x1b")
    assert newest_text(server) == "\ufffd\x00\x1b\n\nwhat is this?"


def test_a_file_and_nothing_are_as_good_as_a_pipe(server: ModelServer, tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("linnet")), "-p", "hi", "--base-url", server.url, "--api-key", "x"]
    (tmp_path / "in.txt").write_text("from a file\n")
    with (tmp_path / "in.txt").open() as file:
        subprocess.run(command, stdin=file, check=True, capture_output=True)
    assert newest_text(server) == "from a file\n\nhi"
    subprocess.run(command, stdin=subprocess.DEVNULL, check=True, capture_output=True)
    assert newest_text(server) == "hi"
    closed = [
        sys.executable,
        "-c",
        f"import os; os.close(0); os.execv({command[0]!r}, {command!r})",
    ]
    subprocess.run(closed, check=True, capture_output=True)
    assert newest_text(server) == "hi"


def test_somebody_who_waits_for_a_pipe_is_told_so_and_can_leave() -> None:
    read, write = os.pipe()
    wakeup = Wakeup()
    told: list[str] = []

    def waits() -> None:
        told.append("waits")
        os.write(write, b"at last")
        os.close(write)

    assert piped(read, wakeup, waits, patience=0) == "at last"
    assert told == ["waits"]
    wakeup.signal = signal.SIGINT
    assert piped(read, wakeup, waits) is None
    os.close(read)


def test_an_interrupt_while_a_pipe_is_read_ends_it_with_130(once: Callable[..., Agent], server: ModelServer) -> None:
    agent = once("-p", "hi")
    agent.send_bytes(b"x" * 200_000)  # More than a pipe takes: it is being read by now.
    agent.signal(signal.SIGINT)
    assert agent.wait() == 130
    assert (agent.stderr, server.requests) == ("", [])


def test_a_key_that_is_missing_is_told_before_a_pipe_is_waited_for(spawn: Callable[..., Agent]) -> None:
    agent = spawn("-p", "hi")
    assert agent.wait() == 1
    assert "no credential" in agent.stderr


@pytest.mark.parametrize("flags", [["--no-session"], ["--save"]])
def test_json_in_pis_words_begins_with_the_header_of_the_session(once: Callable[..., Agent], flags: list[str]) -> None:
    text, code = output(once("--mode", "json", "hi", "--dialect", "pi", *flags))
    header, first, *_ = [json.loads(line) for line in text.splitlines()]
    file = header.pop("sessionFile", None)
    assert (file is not None) is (flags == ["--save"])
    assert header.pop("id")
    assert header.pop("timestamp").endswith("Z")
    assert header.pop("cwd").endswith("/work")
    assert header == {"type": "session", "version": 3}
    assert (first["type"], code) == ("agent_start", 0)


EMPTY = {"turns": [[{"stop": "end"}]]}


@pytest.mark.parametrize("mode", [["-p"], ["--mode", "json"]])
@pytest.mark.parametrize(
    ("prompt", "flags", "code", "words"),
    [
        ("!fail 401 9", [], 1, "http 401"),
        ('!loop 9 bash {"command":"true"}', ["--max-steps", "2"], 4, "max steps (2) exceeded"),
        ('!loop 9 bash {"command":"true"}', ["--max-cost", "0.0000001"], 4, "(--max-cost)"),
        ("!hang", ["--max-seconds", "0.2"], 4, "max seconds (0.2) reached: the run was interrupted (--max-seconds)"),
        ("!refusal", [], 5, "the model refused to answer"),
        ('!tool bash {"command":"true"}', ["--permission", "deny"], 5, ""),
        ('!tool bash {"command":"true"}', ["--permission", "ask"], 5, ""),
        ('!tool read {"path":"x"}', ["--permission", "read-only"], 0, ""),
    ],
)
def test_the_exit_code_tells_apart_why_it_was_not_done(
    once: Callable[..., Agent], mode: list[str], prompt: str, flags: list[str], code: int, words: str
) -> None:
    agent = once(*mode, prompt, *flags)
    assert output(agent)[1] == code
    assert words in agent.stderr


@pytest.mark.parametrize("mode", [["-p"], ["--mode", "json"]])
def test_a_model_that_says_nothing_has_an_exit_code_of_its_own(
    spawn: Callable[..., Agent], tmp_path: Path, mode: list[str]
) -> None:
    (tmp_path / "script.json").write_text(json.dumps(EMPTY))
    assert output(spawn(*mode, "hi", "--script", str(tmp_path / "script.json")))[1] == 6


def test_a_limit_ends_a_run_with_one_terminator_and_balanced_events(once: Callable[..., Agent]) -> None:
    command = '!tools [["bash",{"command":"sleep 600"}],["bash",{"command":"true"}]]'
    text, code = output(once("--mode", "json", command, "--max-seconds", "0.5"))
    told = [json.loads(line) for line in text.splitlines()]
    assert types(told)[-4:] == ["tool_result", "turn_end", "error", "done"]
    assert [frame["stop"] for frame in told if frame["type"] == "turn_end"] == ["tool_use", "error"]
    assert told[-3]["error"] == told[-2]["message"]
    assert code == 4
    text, code = output(once("--mode", "json", command, "--max-seconds", "0.5", "--dialect", "pi"))
    told = [json.loads(line) for line in text.splitlines()]
    for start, end in (
        ("agent_start", "agent_end"),
        ("turn_start", "turn_end"),
        ("message_start", "message_end"),
        ("tool_execution_start", "tool_execution_end"),
    ):
        assert types(told).count(start) == types(told).count(end) > 0
    last = told[-1]["messages"][-1]
    assert (last["stopReason"], last["errorMessage"]) == (
        "error",
        "max seconds (0.5) reached: the run was interrupted (--max-seconds)",
    )
    assert code == 4


def test_debug_traces_requests_retries_and_times_without_secrets(
    spawn: Callable[..., Agent], server: ModelServer
) -> None:
    flags = ["--base-url", f"{server.url}/sk-abcdefghijklmnopqrstuvwx", "--api-key", "very-secret-key"]
    for status, mode in (
        (529, ["--mode", "json"]),
        (503, ["-p", "--dialect", "pi", "--no-session", "--retry-delay", "0.01"]),
    ):
        agent = spawn(*mode, f"!fail {status} 1", *flags, "--debug")
        assert output(agent)[1] == 0
        lines = agent.stderr.splitlines()
        assert all(line.startswith("linnet: debug: ") for line in lines)
        kinds = [line.split(" s: ", 1)[1].split(":")[0].split(" ")[0] for line in lines]
        assert kinds.count("request") == 2
        assert "retry" in kinds
        assert any("failed after" in line and f"status {status}, may pass" in line for line in lines)
        assert any("complete after" in line for line in lines)
        for secret in ("very-secret-key", "sk-abcdefghijkl", "!fail", "recovered"):
            assert secret not in agent.stderr
    agent = spawn("-p", '!tool bash {"command":"true"}', *flags, "--debug")
    output(agent)
    assert "tool: bash ended after" in agent.stderr
    assert output(spawn("-p", "hi", *flags))[1] == 0


@pytest.mark.parametrize("flags", [["-p"], ["--mode", "json"]])
def test_a_model_that_may_not_think_with_tools_is_mentioned_once(
    spawn: Callable[..., Agent], server: ModelServer, flags: list[str]
) -> None:
    base = ["--provider", "openai", "--model", "gpt-5.5", "--base-url", server.url, "--api-key", "x"]
    agent = spawn(*flags, '!tool bash {"command":"true"}', "--thinking", "high", *base)
    assert output(agent)[1] == 0
    assert agent.stderr.count("\n") == 1
    assert agent.stderr.startswith(
        "linnet: gpt-5.5 is asked not to think, instead of high: through openai-completions it is refused tools"
    )
    assert server.requests[0].body["reasoning_effort"] == "none"
    agent = spawn(*flags, "hi", "--thinking", "high", "--no-tools", *base)
    assert (output(agent)[1], agent.stderr) == (0, "")
    assert server.requests[-1].body["reasoning_effort"] == "high"
