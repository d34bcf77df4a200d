"""A whole agent with programs, over real pipes, in every protocol."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from linnet.core.cancel import Cancel
from linnet.core.events import Event as CoreEvent
from linnet.core.ui_events import Notified
from linnet.runtime.config.config import Config
from linnet.runtime.listener import Listener
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.settings.settings import resolve
from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import alive, wait_until

from .conftest import GUARD, HELLO, READY, TOOL, extension

Start = Callable[..., Agent]
RECORD = """
def frames():
    for line in sys.stdin:
        note(line.strip())
        yield json.loads(line)
"""
SILENT = 'take("x")'
STOP = "while True: next(frames())"


def recorded(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / "noted").read_text().splitlines()]


# Written from the facts about zot alone, frame by frame.
TOUR = (
    RECORD
    + """
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
send(type="hello", name="tour", version="1.2.3", capabilities=["commands", "tools", "events"])
send(type="register_command", name="hi", description="say hi")
city = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
send(type="register_tool", name="weather", description="Weather of a city.", schema=city)
send(type="subscribe", events=["session_start", "turn_start", "turn_end", "tool_call", "assistant_message", "nosuch"],
     intercept=["tool_call", "turn_start", "assistant_message", "turn_end"])
send(type="notify", level="info", message="before ready")
send(type="ready")
for frame in frames():
    if frame["type"] == "event_intercept":
        send(type="event_intercept_response", id=frame["id"])
    elif frame["type"] == "tool_call":
        send(type="notify", level="warn", message="tool running")
        send(type="tool_result", id=frame["id"], content=[
            {"type": "text", "text": frame["args"]["city"] + ": 16 C"},
            {"type": "image", "mime_type": "image/png", "data": PNG},
            {"type": "video", "text": "?"}, {"type": "text", "text": ""}])
    elif frame["type"] == "command_invoked":
        send(type="command_response", id=frame["id"], action="prompt", prompt="said " + frame["args"])
    elif frame["type"] == "shutdown":
        send(type="shutdown_ack")
        break
"""
)


def test_zots_tour_frame_by_frame(zot: Start, server: ModelServer, tmp_path: Path) -> None:
    folder = extension(tmp_path / "tour", TOUR, version="1.2.3", language="python")
    agent = zot("--extension", str(folder))
    assert agent.ask("ping")["success"] is True
    frames = agent.prompt('!tool weather {"city":"Berlin"}')
    call = next(frame for frame in frames if frame["type"] == "tool_call")
    result = next(frame for frame in frames if frame["type"] == "tool_result")
    assert result == {
        "type": "tool_result",
        "id": call["id"],
        "is_error": False,
        "content": [
            {"type": "text", "text": "Berlin: 16 C"},
            {"type": "image", "mime_type": "image/png", "bytes": 70},
            {"type": "text", "text": '[unknown block type "video" from extension tour]'},
        ],
    }
    notices = [frame for frame in agent.seen if frame["type"] == "ext_notify"]
    assert notices == [
        {"type": "ext_notify", "extension": "tour", "level": "info", "message": "before ready"},
        {"type": "ext_notify", "extension": "tour", "level": "warn", "message": "tool running"},
    ]
    tool = next(tool for tool in server.requests[0].body["tools"] if tool["name"] == "weather")
    assert tool["description"] == "Weather of a city."
    assert tool["input_schema"]["required"] == ["city"]
    agent.end()
    assert agent.wait() == 0
    ack, *told = recorded(folder)
    assert {**ack, "zot_version": "", "linnet": {}} == {
        "type": "hello_ack",
        "protocol_version": 1,
        "zot_version": "",
        "provider": "anthropic",
        "model": agent_model(server),
        "cwd": str(tmp_path / "work"),
        "extension_dir": str(folder),
        "data_dir": str(folder),
        "linnet": {},
    }
    ids = [frame.pop("id") for frame in told if "id" in frame]
    assert len(set(ids)) == len(ids)
    assert all(len(id) == 12 and id.isdigit() for id in ids)
    tool_fields = {"tool_id": call["id"], "tool_name": "weather", "tool_args": {"city": "Berlin"}}
    asked = {"type": "event_intercept"}
    event = {"type": "event"}
    assert told == [
        {**event, "event": "session_start"},
        {**event, "event": "turn_start", "step": 1},
        {**asked, "event": "turn_start", "step": 1},
        {**asked, "event": "assistant_message", "text": "Running."},
        {**event, "event": "assistant_message", "text": "Running."},
        {**event, "event": "tool_call", **tool_fields},
        {**event, "event": "turn_end", "stop": "tool_use"},
        {**asked, "event": "tool_call", **tool_fields},
        {"type": "tool_call", "name": "weather", "args": {"city": "Berlin"}},
        {**event, "event": "turn_start", "step": 2},
        {**asked, "event": "turn_start", "step": 2},
        {**asked, "event": "assistant_message", "text": "tool done"},
        {**event, "event": "assistant_message", "text": "tool done"},
        {**event, "event": "turn_end", "stop": "end"},
        {"type": "shutdown"},
    ]


def agent_model(server: ModelServer) -> str:
    model: str = server.requests[0].body["model"]
    return model


def test_a_command_of_a_program_is_a_command(zot: Start, tmp_path: Path) -> None:
    folder = extension(tmp_path / "tour", TOUR)
    agent = zot("--extension", str(folder))
    (command,) = agent.ask("get_commands")["data"]["commands"]
    assert (command["name"], command["description"], command["source"]) == ("hi", "say hi", "extension")
    assert (command["location"], command["path"]) == ("path", str(folder))
    agent.send({"id": "c", "type": "prompt", "message": "/hi there"})
    said = agent.until("user_message")[-1]
    assert said["content"] == [{"type": "text", "text": "said there"}]


def test_what_a_command_shows_is_told(zot: Start, tmp_path: Path) -> None:
    showing = 'send(type="command_response", id=take("command_invoked")["id"], action="display", display="a list")\n'
    register = 'send(type="register_command", name="list")\n'
    agent = zot("--extension", str(extension(tmp_path / "tour", HELLO + register + READY + showing + SILENT)))
    agent.send({"id": "c", "type": "prompt", "message": "/list"})
    assert agent.until("ext_display")[-1] == {"type": "ext_display", "extension": "tour", "text": "a list"}


def test_what_a_command_shows_is_what_print_mode_prints(
    spawn: Callable[..., Agent], server: ModelServer, tmp_path: Path
) -> None:
    """Beside an answer of the model's it is for people, on stderr."""
    showing = 'send(type="command_response", id=take("command_invoked")["id"], action="display", display="a list")\n'
    register = 'send(type="register_command", name="list")\n'
    folder = extension(tmp_path / "tour", HELLO + register + READY + showing + SILENT)
    model = ("--base-url", server.url, "--api-key", "x", "--extension", str(folder))
    agent = spawn("-p", "/list", *model)
    assert (agent.process.communicate()[0], agent.stderr, agent.wait()) == (b"a list\n", "", 0)
    agent = spawn("--mode", "result", "/list", *model)
    result = json.loads(agent.process.communicate()[0])
    assert (result["text"], result["steps"], agent.wait()) == ("a list", 0, 0)
    assert not server.requests


def test_zots_extensions_run_under_pi_and_in_print_mode(pi: Start, server: ModelServer, tmp_path: Path) -> None:
    folder = extension(tmp_path / "tour", TOUR)
    agent = pi("--extension", str(folder), "--no-session")
    agent.send({"id": "p", "type": "prompt", "message": '!tool weather {"city":"Rome"}'})
    frames = agent.until("agent_end")
    ended = next(frame for frame in frames if frame["type"] == "tool_execution_end")
    assert ended["result"]["content"][0] == {"type": "text", "text": "Rome: 16 C"}
    printed = subprocess.run(
        [str(Path(sys.executable).with_name("linnet")), "-p", '!tool weather {"city":"Oslo"}', "-e", str(folder),
         "--base-url", server.url, "--api-key", "x"],
        capture_output=True, text=True, check=True, cwd=tmp_path,
    )  # fmt: skip
    assert printed.stdout == "tool done\n"


def test_a_silent_one_does_not_hold_up_the_start_and_an_abort_does_not_wait_for_it(zot: Start, tmp_path: Path) -> None:
    folder = extension(tmp_path / "silent", "note(str(os.getpid()))\n" + SILENT)
    agent = zot("--extension", str(folder))
    assert agent.ask("ping")["success"] is True
    agent.send({"id": "p", "type": "prompt", "message": "hello"}, {"id": "a", "type": "abort"})
    frames = agent.until("done")
    assert [frame for frame in frames if frame["type"] == "ext_error"] == []  # It had not waited for three seconds.
    wait_until(lambda: (folder / "noted").exists() and (folder / "noted").read_text().endswith("\n"))
    pid = int((folder / "noted").read_text())
    agent.end()
    wait_until(lambda: not alive(pid))


def test_a_blocked_turn_leaves_a_conversation_that_goes_on(zot: Start, server: ModelServer, tmp_path: Path) -> None:
    blocking = (
        HELLO
        + 'send(type="subscribe", intercept=["turn_start"])\n'
        + READY
        + """
asked = take("event_intercept")
send(type="event_intercept_response", id=asked["id"], block=True, reason="closed on sundays")
asked = take("event_intercept")
send(type="event_intercept_response", id=asked["id"], block=True)
for frame in frames():
    if "id" in frame: send(type="event_intercept_response", id=frame["id"])
"""
    )
    agent = zot("--extension", str(extension(tmp_path / "sunday", blocking)))
    for reason in ("closed on sundays", "turn blocked by extension guard"):
        frames = agent.prompt("hello")
        ended = next(frame for frame in frames if frame["type"] == "turn_end")
        assert (ended["stop"], ended["error"]) == ("error", reason)
    assert types(agent.prompt("go on"))[-1] == "done"
    roles = [message["role"] for message in server.requests[-1].body["messages"]]
    assert roles == ["user"]  # One message of the user's, whatever is in it.


def test_a_reply_that_is_hidden_or_replaced_is_never_streamed(zot: Start, tmp_path: Path) -> None:
    redacting = (
        HELLO
        + 'send(type="subscribe", intercept=["assistant_message"])\n'
        + READY
        + """
asked = take("event_intercept")
send(type="event_intercept_response", id=asked["id"], replace_text="[redacted]")
asked = take("event_intercept")
send(type="event_intercept_response", id=asked["id"], block=True)
take("x")
"""
    )
    agent = zot("--extension", str(extension(tmp_path / "redact", redacting)))
    frames = agent.prompt("hello")
    assert "".join(frame["delta"] for frame in frames if frame["type"] == "text_delta") == "[redacted]"
    message = next(frame for frame in frames if frame["type"] == "assistant_message")
    assert message["content"] == [{"type": "text", "text": "[redacted]"}]
    assert not message["time"].startswith("0001")
    frames = agent.prompt("hello")
    assert not {"text_delta", "assistant_message"} & set(types(frames))


def test_a_guard_that_crashes_denies_and_the_client_is_told(zot: Start, tmp_path: Path) -> None:
    folder = extension(tmp_path / "guard", HELLO + GUARD + READY + 'take("event_intercept"); sys.exit(1)')
    agent = zot("--extension", str(folder))
    for _ in range(2):  # It stays denied.
        frames = agent.prompt('!tool bash {"command":"touch ran"}')
        result = next(frame for frame in frames if frame["type"] == "tool_result")
        assert result["is_error"] is True
        assert "exited with code 1" in result["content"][0]["text"]
        errors = [frame for frame in frames if frame["type"] == "ext_error"]
        assert any(error["event"] == "tool_call" for error in errors)
    assert not (tmp_path / "work" / "ran").exists()


def test_tools_of_one_name_belong_to_the_first_and_both_owners_are_named(zot: Start, tmp_path: Path) -> None:
    answer = 'send(type="tool_result", id=take("tool_call")["id"], content=[{"type": "text", "text": "%s"}]); take("x")'
    one, two = (extension(tmp_path / name, HELLO + TOOL + READY + answer % name) for name in ("one", "two"))
    agent = zot("--extension", str(one), "--extension", str(two))
    frames = agent.prompt("!tool tt {}")
    result = next(frame for frame in frames if frame["type"] == "tool_result")
    assert result["content"] == [{"type": "text", "text": "one"}]
    (error,) = (frame for frame in agent.seen if frame["type"] == "ext_error")
    assert str(one) in error["error"]
    assert str(two) in json.dumps(error)


def test_load_failures_of_what_was_found_are_a_line_on_stderr_and_told_to_the_client(
    zot: Start, tmp_path: Path
) -> None:
    folder = tmp_path / "home" / "extensions"
    extension(folder / "good", HELLO + TOOL + READY + SILENT)
    broken = extension(folder / "broken", "", exec="./nope")
    nameless = extension(folder / "nameless", "", name="")
    agent = zot(env={"LINNET_HOME": str(tmp_path / "home")})
    agent.prompt("hello")
    errors = {frame["path"]: frame["error"] for frame in agent.seen if frame["type"] == "ext_error"}
    assert errors[str(broken)].startswith("spawn: ")
    assert errors[str(nameless)].startswith("manifest: name is required")
    lines = [line for line in agent.stderr.splitlines() if line.startswith("extension load: ")]
    assert len(lines) == 2
    assert agent.ask("ping")["success"] is True


def test_opening_a_repository_runs_nothing_unless_it_is_trusted(
    spawn: Start, server: ModelServer, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    code = 'note("started")\n' + HELLO + READY + SILENT
    ours = extension(work / ".linnet" / "extensions" / "ours", code)
    zots = extension(work / ".zot" / "extensions" / "zots", code)
    users = extension(tmp_path / "zot-home" / "extensions" / "users", code)
    env = {"ZOT_HOME": str(tmp_path / "zot-home")}
    base = ["rpc", "--base-url", server.url, "--api-key", "x"]
    run = [str(Path(sys.executable).with_name("linnet-zot")), *base]
    prompt = json.dumps({"id": "p", "type": "prompt", "message": "hello"}) + "\n"
    environment = {**os.environ, "LINNET_HOME": str(tmp_path / "home"), **env}

    def started(*flags: str) -> set[str]:
        for folder in (ours, zots, users):
            (folder / "noted").unlink(missing_ok=True)
        subprocess.run(
            [*run, *flags], input=prompt, text=True, check=True, cwd=work, env=environment, capture_output=True
        )
        return {folder.name for folder in (ours, zots, users) if (folder / "noted").exists()}

    assert started() == {"users"}
    assert started("--trust") == {"ours", "zots", "users"}
    assert started("--trust", "--no-ext") == set()
    assert started("--no-ext", "--ext", str(zots)) == {"zots"}


def test_nothing_of_a_program_outlives_an_agent_that_is_killed(zot: Start, tmp_path: Path) -> None:
    folder = extension(
        tmp_path / "child",
        "import subprocess\n"
        "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "note(f'{os.getpid()} {child.pid}')\n" + HELLO + READY + "while True: time.sleep(600)",
    )
    agent = zot("--extension", str(folder))
    agent.prompt("hello")
    pids = [int(word) for word in (folder / "noted").read_text().split()]
    agent.process.kill()
    wait_until(lambda: not any(map(alive, pids)))


def test_one_that_never_stops_talking_waits_for_whoever_listens(tmp_path: Path) -> None:
    class Reader(Listener):
        def __init__(self) -> None:
            self.heard: list[str] = []
            self.reads = Event()

        def hear(self, events: Sequence[CoreEvent]) -> None:
            self.heard += [event.message for event in events if isinstance(event, Notified)]

        def pace(self, cancel: Cancel) -> None:
            with cancel.interrupting(self.reads.set):
                self.reads.wait()

    talk = 'for n in range(500): send(type="notify", message=str(n))\nnote("all said")'
    folder = extension(tmp_path / "talk", HELLO + READY + talk)
    settings = resolve(Config(provider="scripted", extensions=[folder]), {"LINNET_HOME": str(tmp_path / "home")})
    reader = Reader()
    session = Session(Resources(settings), [reader])
    session.warm()
    wait_until(lambda: bool(reader.heard) and (folder / "noted").exists())
    assert reader.heard == ["0"]  # All others wait in the pipe.
    reader.reads.set()
    wait_until(lambda: len(reader.heard) == 500)
    session.close()


def test_keys_and_token_are_not_in_its_environment(zot: Start, tmp_path: Path) -> None:
    listing = 'note(json.dumps(sorted(name for name in os.environ if "KEY" in name or "TOKEN" in name)))\n'
    folder = extension(tmp_path / "curious", listing + HELLO + READY + SILENT)
    env = {"ANTHROPIC_API_KEY": "sk-1", "OPENAI_API_KEY": "sk-2", "ZOTCORE_RPC_TOKEN": "t", "MY_KEY": "mine"}
    agent = zot("--extension", str(folder), env=env)
    agent.ask("hello", token="t")
    agent.prompt("hello")
    assert recorded(folder) == [["MY_KEY"]]


def test_reload_starts_them_again(zot: Start, tmp_path: Path) -> None:
    folder = extension(tmp_path / "again", 'note("started")\n' + HELLO + READY + 'take("shutdown"); note("ended")')
    agent = zot("--extension", str(folder))
    agent.prompt("hello")
    assert agent.ask("reload")["success"] is True
    agent.prompt("hello")
    wait_until(lambda: (folder / "noted").read_text().split() == ["started", "started", "ended"])


def test_an_agent_without_programs_imports_nothing_of_them(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom linnet import Runtime\n"
        "with Runtime(provider='scripted') as runtime: runtime.prompt('hi')\n"
        "print([name for name in sys.modules if 'extensions.programs' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("flag", ["-e", "--extension"])
def test_a_folder_with_a_manifest_is_an_extension(zot: Start, tmp_path: Path, flag: str) -> None:
    agent = zot(
        flag, str(extension(tmp_path / "x", HELLO + 'send(type="register_command", name="x")\n' + READY + SILENT))
    )
    assert [command["name"] for command in agent.ask("get_commands")["data"]["commands"]] == ["x"]
