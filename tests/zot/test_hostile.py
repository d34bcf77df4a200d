"""What must not kill it, hang it or make it lose anything."""

import json
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import alive, marked, wait_until

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)
words = st.sampled_from(
    ["hello", "abort", "get_state", "get_messages", "clear", "set_model", "get_models", "ping", "prompt", "x", ""]
)
# A prompt with a message would start a run; here `message` is never text, so that one line gives one frame.
commands = st.fixed_dictionaries(
    {"type": words | values},
    optional={"id": values, "model": values, "token": values, "images": values, "message": st.integers()},
)
lines = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")),
    values.map(lambda value: json.dumps(value).encode()),
    commands.map(lambda command: json.dumps(command).encode()),
    commands.map(lambda command: json.dumps(command).encode()[:-1]),
    st.integers(1, 5000).map(lambda depth: b"[" * depth),
    st.integers(1, 5000).map(lambda depth: b'{"id":' * depth),
).map(lambda line: line.replace(b"\n", b" "))


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(lines, min_size=50, max_size=50))
def test_a_thousand_hostile_lines_get_one_response_each(agent: Agent, hostile: list[bytes]) -> None:
    agent.send_bytes(b"\n".join(hostile) + b'\n{"type":"ping","id":"the end"}\n')
    frames = agent.until(lambda frame: frame.get("id") == "the end")
    assert types(frames) == ["response"] * (1 + sum(bool(line.strip()) for line in hostile))


def test_a_line_of_100_mb_is_taken(agent: Agent) -> None:
    agent.send_bytes(b'{"id":"big","type":"frob","pad":"' + b"x" * 100_000_000 + b'"}\n')
    frame = agent.read()
    assert frame is not None
    assert frame["id"] == "big"
    assert agent.ask("ping")["success"]


def test_a_line_over_the_limit_is_refused_and_not_kept(agent: Agent) -> None:
    block = b"x" * (1 << 20)
    for _ in range(257):
        agent.send_bytes(block)
    agent.send_bytes(b"\n")
    frame = agent.read()
    assert frame is not None
    assert "the longest taken is 256 MiB" in frame["error"]
    assert agent.ask("ping")["success"]


def test_deep_nesting_is_refused_where_it_is_too_deep(agent: Agent) -> None:
    for depth in (10, 500, 100_000):
        agent.send_bytes(b'{"type":"ping","id":' + b"[" * depth + b"]" * depth + b"}\n")
        frame = agent.read()
        assert frame is not None
        assert frame["success"] == (depth < 1000)


def test_a_reader_that_stops_reading_stops_nothing_else(agent: Agent, server: ModelServer) -> None:
    """More is streamed than any pipe holds and nobody reads; then everything is there, in order."""
    agent.send({"id": "1", "type": "prompt", "message": "!text 300000"})
    server.wait_for(requests=1)
    agent.send({"id": "ping", "type": "ping"}, {"id": "stop", "type": "abort"})
    server.wait_for(disconnects=1)  # The abort was seen, though nobody has read a byte yet.
    assert rss(agent) < 60
    frames = agent.until("done")
    assert [f["id"] for f in frames if f["type"] == "response"] == ["1", "ping", "stop"]
    said = "".join(f["delta"] for f in frames if f["type"] == "text_delta")
    count = len(said.split())
    assert said == "".join(f"w{n} " for n in range(count))
    assert count < 300_000
    assert frames[-2]["stop"] == "aborted"


def test_a_slow_reader_loses_nothing(agent: Agent) -> None:
    agent.send({"id": "1", "type": "prompt", "message": "!text 100000"})
    frames = agent.until("done")
    said = "".join(f["delta"] for f in frames if f["type"] == "text_delta")
    assert said == "".join(f"w{n} " for n in range(100_000))


def test_a_chatty_command_without_a_reader_is_bounded(agent: Agent, tmp_path: Path) -> None:
    command = "yes 0123456789 | head -c 50000000; echo over > over"
    agent.send({"id": "1", "type": "prompt", "message": f"!tool bash {json.dumps({'command': command})}"})
    wait_until((tmp_path / "work" / "over").exists)
    assert rss(agent) < 60
    assert types(agent.until("done"))[-1] == "done"


def test_a_flood_of_commands_without_a_reader_is_held_back(agent: Agent) -> None:
    """300 MB of answers are asked for and nobody reads; then every one of them comes."""
    agent.prompt("x" * 20_000)
    count = 15_000
    sender = Thread(target=agent.send_bytes, args=(b'{"type":"get_messages","id":1}\n' * count,))
    sender.start()
    steady = [-1.0, rss(agent)]
    while steady[-1] != steady[-2]:
        sender.join(0.2)  # Until it neither ends nor makes the agent any larger.
        steady.append(rss(agent))
    assert sender.is_alive()
    assert rss(agent) < 180
    for _ in range(count):
        frame = agent.read()
        assert frame is not None
        assert len(frame["data"]["messages"]) == 2
    sender.join()


def test_a_closed_stdout_ends_it_quietly_and_kills_its_children(agent: Agent, tmp_path: Path) -> None:
    command = "setsid sleep 61.5 & echo $! > pid; echo up; wait"
    agent.send({"id": "1", "type": "prompt", "message": f"!tool bash {json.dumps({'command': command})}"})
    agent.until("tool_progress")
    pid = int((tmp_path / "work" / "pid").read_text())
    agent.close_stdout()
    assert agent.wait() == 0
    wait_until(lambda: not alive(pid))
    assert agent.stderr == ""


def test_a_closed_stdout_is_noticed_when_writing(agent: Agent) -> None:
    agent.ask("ping")
    agent.close_stdout()
    assert agent.wait() == 0
    assert agent.stderr == ""


def test_a_kill_leaves_no_process(zot: Callable[..., Agent], tmp_path: Path) -> None:
    mark = f"TEST_MARK={tmp_path}"
    agent = zot(env=dict([mark.split("=", 1)]))
    command = "setsid sleep 61.5 & (trap '' TERM HUP; sleep 61.5) & echo up; sleep 61.5"
    agent.send({"id": "1", "type": "prompt", "message": f"!tool bash {json.dumps({'command': command})}"})
    agent.until("tool_progress")
    wait_until(lambda: len(marked(mark, "61.5")) >= 3)
    agent.signal(signal.SIGKILL)
    agent.wait()
    wait_until(lambda: not marked(mark))


def test_a_full_disk_is_the_tools_error_and_spares_the_old_file(zot: Callable[..., Agent], tmp_path: Path) -> None:
    (tmp_path / "work" / "a.txt").write_text("old")
    agent = zot()
    resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (1000, 1000))
    frames = agent.prompt(f"!tool write {json.dumps({'path': 'a.txt', 'content': 'x' * 5000})}")
    (result,) = [f for f in frames if f["type"] == "tool_result"]
    assert result["is_error"]
    assert "a.txt" in result["content"][0]["text"]
    assert (tmp_path / "work" / "a.txt").read_text() == "old"
    assert [p.name for p in (tmp_path / "work").iterdir()] == ["a.txt"]
    assert agent.prompt("hi")[-2]["stop"] == "end_turn"


def test_a_server_that_dies_mid_reply_does_not_take_the_agent_along(agent: Agent, server: ModelServer) -> None:
    agent.send({"id": "1", "type": "prompt", "message": "!gate never"})
    agent.until("text_delta")
    server.close()
    frames = agent.until("done")
    assert types(frames)[-3:] == ["turn_end", "error", "done"]
    assert agent.ask("ping")["success"]


@pytest.mark.parametrize("kind", ["socket", "file"])
def test_stdout_may_be_a_socket_or_a_file(kind: str, tmp_path: Path) -> None:
    """Node gives its children sockets."""
    executable = Path(sys.executable).with_name("linnet")
    command = [str(executable), "rpc", "--provider", "scripted", "--no-tools"]
    lines = b'{"id":1,"type":"ping"}\n{"id":2,"type":"prompt","message":"go"}\n'
    if kind == "file":
        with (tmp_path / "out").open("wb") as out:
            subprocess.run(command, input=lines, stdout=out, check=True, cwd=tmp_path)
        printed = (tmp_path / "out").read_bytes()
    else:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                process = subprocess.Popen(command, stdin=theirs.fileno(), stdout=theirs.fileno(), cwd=tmp_path)
            ours.sendall(lines)
            ours.shutdown(socket.SHUT_WR)
            printed = b"".join(iter(lambda: ours.recv(1 << 16), b""))
        assert process.wait() == 0
    frames: list[dict[str, Any]] = [json.loads(line) for line in printed.splitlines()]
    assert types(frames)[0] == "response"
    assert types(frames)[-1] == "done"


def test_closed_standard_descriptors_are_survived(tmp_path: Path) -> None:
    executable = Path(sys.executable).with_name("linnet")
    script = f"exec {executable} rpc --provider scripted <&- >&- 2>&-"
    assert subprocess.run(["sh", "-c", script], cwd=tmp_path).returncode == 0


def rss(agent: Agent) -> float:
    """Megabytes."""
    for line in Path(f"/proc/{agent.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise LookupError
