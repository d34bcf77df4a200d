"""Promises of the zot document that no other test is about."""

import json
from collections.abc import Callable
from pathlib import Path

from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer

PNG = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\x06\0\0\0\x1f\x15\xc4\x89"
    b"\0\0\0\rIDATx\xdacd\xf8\xcfP\x0f\0\x03\x86\x01\x80Z4}k\0\0\0\0IEND\xaeB`\x82"
)
FIELDS = {
    "response": {"id", "command", "success"},
    "turn_start": {"step"},
    "user_message": {"content", "time"},
    "assistant_start": set(),
    "text_delta": {"delta"},
    "tool_use_start": {"id", "name"},
    "tool_use_args": {"id", "delta"},
    "tool_use_end": {"id"},
    "tool_call": {"id", "name", "args"},
    "tool_progress": {"id", "text"},
    "tool_result": {"id", "is_error", "content"},
    "assistant_message": {"content", "time"},
    "usage": {"input", "output", "cache_read", "cache_write", "cost_usd", "cumulative"},
    "turn_end": {"stop"},
    "done": set(),
    "error": {"message"},
    "compact_done": {"summary"},
}
OPTIONAL = {"response": {"data", "error"}, "turn_end": {"error"}}


def test_every_event_has_the_fields_of_the_document_and_no_others(agent: Agent) -> None:
    agent.prompt('!tool bash {"command":"echo hi"}')
    agent.prompt("!fail 401 9")
    agent.prompt("hi")
    agent.send({"id": "c", "type": "compact"})
    agent.until("compact_done")
    assert set(types(agent.seen)) == set(FIELDS)
    for frame in agent.seen:
        fields, kind = set(frame) - {"type"}, frame["type"]
        assert FIELDS[kind] <= fields <= FIELDS[kind] | OPTIONAL.get(kind, set()), frame


def test_every_line_is_one_object_that_ends_with_a_line_feed(zot: Callable[..., Agent]) -> None:
    lines = [{"id": 1, "type": "prompt", "message": "!utf8"}, {"id": 2, "type": "get_models"}, {"id": "\u2028"}]
    printed, _ = zot().process.communicate(b"".join(json.dumps(line).encode() + b"\n" for line in lines), timeout=20)
    assert printed.endswith(b"\n")
    for line in printed.removesuffix(b"\n").split(b"\n"):
        assert isinstance(json.loads(line), dict)
        assert line.decode().isprintable() or "\x7f" in line.decode()  # No bare control character or line separator.


def test_a_monitor_sees_the_frames_it_was_written_for(zot: Callable[..., Agent]) -> None:
    """The captured transcript of a failed login: these objects, with these keys, and no envelope around them."""
    frames = zot(provider="deepseek").prompt("!fail 401 9", id="1")
    assert [(frame["type"], set(frame) - {"type"}) for frame in frames] == [
        ("response", {"command", "data", "id", "success"}),
        ("user_message", {"content", "time"}),
        ("turn_start", {"step"}),
        ("turn_end", {"error", "stop"}),
        ("error", {"message"}),
        ("done", set()),
    ]
    assert frames[-2]["message"] == frames[-3]["error"]
    assert frames[-2]["message"].startswith("deepseek: http 401: ")


def test_processes_side_by_side_share_nothing(zot: Callable[..., Agent], tmp_path: Path) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    agents = [zot("--cwd", str(folder)) for folder in folders]
    for agent in agents:
        agent.send({"id": "1", "type": "prompt", "message": '!tool bash {"command":"pwd"}'})
    for agent, folder in zip(agents, folders, strict=True):
        frames = agent.until("done")
        assert str(folder) in next(f for f in frames if f["type"] == "tool_result")["content"][0]["text"]
        assert agent.ask("get_state")["data"]["cwd"] == str(folder)
    agents[0].ask("clear")
    assert agents[1].ask("get_state")["data"]["message_count"] == 4


def test_flags_name_the_key_the_server_and_the_model(spawn: Callable[..., Agent], server: ModelServer) -> None:
    env = {"ANTHROPIC_API_KEY": "from-env"}
    flags = ["--api-key", "from-flag", "--base-url", server.url, "--model", "claude-opus-4-5"]
    agent = spawn("rpc", *flags, env=env)
    agent.prompt("hi")
    assert server.requests[0].headers["x-api-key"] == "from-flag"
    assert server.requests[0].body["model"] == "claude-opus-4-5"
    assert agent.ask("hello")["data"]["model"] == "claude-opus-4-5"


def test_one_prompt_on_the_command_line_takes_the_same_flags(spawn: Callable[..., Agent], server: ModelServer) -> None:
    flags = ["--api-key", "x", "--base-url", server.url, "--system-prompt", "Be a bird.", "--no-tools"]
    agent = spawn("-p", "hi", *flags)
    agent.process.communicate()
    assert agent.wait() == 0
    assert server.requests[0].body["system"][0]["text"] == "Be a bird."
    assert "tools" not in server.requests[0].body


def test_a_conversation_leaves_nothing_in_its_folder(agent: Agent, tmp_path: Path) -> None:
    agent.prompt("hi")
    agent.end()
    assert agent.wait() == 0
    assert list((tmp_path / "work").iterdir()) == []


def test_results_may_hold_images_which_are_told_by_their_size(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "work" / "i.png").write_bytes(PNG)
    agent.prompt('!tool read {"path":"i.png"}')
    image = {"type": "image", "mime_type": "image/png", "bytes": len(PNG)}
    (result,) = agent.ask("get_messages")["data"]["messages"][2]["content"]
    assert result["type"] == "tool_result"
    assert image in result["content"]
    assert image in next(f for f in agent.seen if f["type"] == "tool_result")["content"]
    assert "iVBOR" not in json.dumps(agent.seen)


def test_replies_find_their_requests_when_many_are_in_flight(agent: Agent) -> None:
    names = ["ping", "get_state", "get_messages", "get_models", "frob", "clear", "abort", "hello"] * 20
    agent.send(*({"id": f"{name} {n}", "type": name} for n, name in enumerate(names)))
    frames = [agent.read() for _ in names]
    assert [(frame or {}).get("id") for frame in frames] == [f"{name} {n}" for n, name in enumerate(names)]
    assert all(frame and frame["command"] == frame["id"].split()[0] for frame in frames)


def test_nothing_in_the_project_runs_unasked(zot: Callable[..., Agent], tmp_path: Path) -> None:
    for home in (".zot", ".linnet"):
        folder = tmp_path / "work" / home / "extensions" / "noisy"
        folder.mkdir(parents=True)
        (folder / "run.sh").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
        (folder / "run.sh").chmod(0o755)
        (folder / "__init__.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
        (folder / "extension.json").write_text(json.dumps({"name": "noisy", "exec": "./run.sh", "enabled": True}))
    agent = zot()
    agent.prompt('!tool bash {"command":"true"}')
    agent.end()
    assert agent.wait() == 0
    assert not (tmp_path / "ran").exists()
