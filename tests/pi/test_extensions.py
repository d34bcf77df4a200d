"""Extensions over the real pipe, in pi's words."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.client import PiClient, ZotClient
from linnet.testing.agent import Agent, Frame, types

EXTENSION = """
import sys
import threading


def extend(linnet):
    print("printed while it was loaded")

    @linnet.command("greet", description="Say hello")
    def greet(args, ctx):
        print("{", flush=True)
        sys.stdout.write('{"type":"agent_start"}\\n')
        ctx.notify(f"hello {args}", "warning")

    @linnet.command("show")
    def show(args, ctx):
        ctx.status("2 changed")
        ctx.status(None)
        ctx.widget(["[x] read", "[ ] write"])
        ctx.title("mine")
        ctx.editor_text("and now")

    @linnet.command("thread")
    def thread(args, ctx):
        def later():
            raise RuntimeError("in a thread of its own")

        left = threading.Thread(target=later)
        left.start()
        left.join()

    @linnet.command("note")
    def note(args, ctx):
        ctx.say(args, when="note", kind="weather", details={"sun": True})

    asks = linnet.flag("asks-at-the-start")

    @linnet.on("input")
    def handle(event, ctx):
        return linnet.handled() if event.text == "mine" else None

    @linnet.on("session_start")
    def started(event, ctx):
        if asks:
            ctx.notify(str(ctx.select("how?", ["fast", "slow"])))

    @linnet.on("session_before_switch")
    def switch(event, ctx):
        return linnet.cancel() if event.reason == "new" else None

    @linnet.on("context")
    def context(event, ctx):
        raise RuntimeError("boom")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(EXTENSION)
    (tmp_path / "script.json").write_text(json.dumps({"turns": [[{"text": "hello"}]], "loop": True}))
    return tmp_path


@pytest.fixture
def agent(spawn: Callable[..., Agent], script: Path) -> Callable[..., Agent]:
    base = ("--mode", "rpc", "--script", str(script / "script.json"), "-e", str(script / "mine.py"))
    return lambda *flags, **options: spawn(*base, *flags, **options)


def shown(frames: list[Frame]) -> list[Frame]:
    requests = [frame for frame in frames if frame["type"] == "extension_ui_request"]
    return [{name: frame[name] for name in frame if name not in ("type", "id")} for frame in requests]


def test_a_command_is_run_answered_when_it_has_ended_and_what_it_prints_is_no_frame(
    agent: Callable[..., Agent],
) -> None:
    pi = agent()
    answer = pi.ask("prompt", message="/greet  you", id=7)
    assert answer == {"id": 7, "type": "response", "command": "prompt", "success": True}
    assert shown(pi.seen) == [{"method": "notify", "message": "hello  you", "notifyType": "warning"}]
    assert types(pi.seen) == ["extension_ui_request", "response"]
    assert "printed while it was loaded" in pi.stderr


def test_what_is_shown_is_in_pis_words(agent: Callable[..., Agent]) -> None:
    pi = agent()
    pi.ask("prompt", message="/show")
    assert shown(pi.seen) == [
        {"method": "setStatus", "statusKey": "mine", "statusText": "2 changed"},
        {"method": "setStatus", "statusKey": "mine"},
        {
            "method": "setWidget",
            "widgetKey": "mine",
            "widgetLines": ["[x] read", "[ ] write"],
            "widgetPlacement": "aboveEditor",
        },
        {"method": "setTitle", "title": "mine"},
        {"method": "set_editor_text", "text": "and now"},
    ]
    ids = [frame["id"] for frame in pi.seen if frame["type"] == "extension_ui_request"]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("kind", ["steer", "follow_up"])
def test_a_command_cannot_be_queued_in_pis_literal_words(agent: Callable[..., Agent], kind: str) -> None:
    assert agent().ask(kind, message="/greet you", id="s") == {
        "id": "s",
        "type": "response",
        "command": kind,
        "success": False,
        "error": 'Extension command "/greet" cannot be queued. Use prompt() or execute the command when not streaming.',
    }


def test_a_hook_that_throws_is_told_and_the_run_goes_on(agent: Callable[..., Agent], script: Path) -> None:
    pi = agent()
    pi.send({"type": "prompt", "message": "go"})
    frames = pi.until("agent_end")
    [error] = [frame for frame in frames if frame["type"] == "hook_error"]
    assert error == {
        "type": "hook_error",
        "hookPath": str(script / "mine.py"),
        "event": "context",
        "error": "boom",
    }
    assert frames[-1]["messages"][-1]["content"] == [{"type": "text", "text": "hello"}]


def test_a_cancelled_session_is_answered_so_and_another_is_not(agent: Callable[..., Agent]) -> None:
    pi = agent()
    before = pi.ask("get_state")["data"]["sessionFile"]
    assert pi.ask("new_session")["data"] == {"cancelled": True}
    assert pi.ask("get_state")["data"]["sessionFile"] == before


def test_a_dialog_at_the_start_of_the_session_is_asked_and_its_answer_is_heard(agent: Callable[..., Agent]) -> None:
    pi = agent("--asks-at-the-start")
    [question] = [frame for frame in pi.until("extension_ui_request") if frame["type"] == "extension_ui_request"]
    assert (question["method"], question["options"]) == ("select", ["fast", "slow"])
    pi.send({"type": "extension_ui_response", "id": question["id"], "value": "slow"})
    told = pi.until(lambda frame: frame.get("method") == "notify")[-1]
    assert told["message"] == "slow"


def test_a_thread_that_is_left_behind_ends_nothing(agent: Callable[..., Agent]) -> None:
    pi = agent()
    pi.ask("prompt", message="/thread")
    assert pi.ask("get_state")["success"]
    pi.end()
    assert pi.wait() == 0
    assert "in a thread of its own" in pi.stderr


def test_a_note_is_a_custom_message(agent: Callable[..., Agent]) -> None:
    pi = agent()
    pi.ask("prompt", message="/note rain")
    started, ended = (frame for frame in pi.seen if frame["type"].startswith("message_"))
    assert (started["type"], ended["type"]) == ("message_start", "message_end")
    message = started["message"]
    assert {name: message[name] for name in message if name != "timestamp"} == {
        "role": "custom",
        "customType": "weather",
        "content": [{"type": "text", "text": "rain"}],
        "display": True,
        "details": {"sun": True},
    }
    entries = pi.ask("get_entries")["data"]["entries"]
    assert entries[-1]["type"] == "custom_message"


def test_commands_are_listed_and_read_again(agent: Callable[..., Agent], script: Path) -> None:
    pi = agent()
    listed = pi.ask("get_commands")["data"]["commands"]
    assert [each["name"] for each in listed] == ["greet", "show", "thread", "note"]
    assert {each["source"] for each in listed} == {"extension"}
    assert listed[0]["sourceInfo"]["path"] == str(script / "mine.py")
    (script / "mine.py").write_text("def extend(linnet): linnet.command('other')(print)")
    assert pi.ask("reload", id=3) == {"id": 3, "type": "response", "command": "reload", "success": True}
    assert [each["name"] for each in pi.ask("get_commands")["data"]["commands"]] == ["other"]


def test_under_the_zot_protocol_a_command_takes_its_turn_and_ends_with_done(
    spawn: Callable[..., Agent], script: Path
) -> None:
    zot = spawn("rpc", "--script", str(script / "script.json"), "-e", str(script / "mine.py"))
    frames = zot.prompt("/greet you", id=1)
    assert types(frames) == ["response", "ext_notify", "done"]
    assert frames[0] == {
        "type": "response",
        "id": 1,
        "command": "prompt",
        "success": True,
        "data": {"started": True},
    }
    assert frames[1] == {"type": "ext_notify", "extension": "mine", "level": "warn", "message": "hello you"}
    frames = zot.prompt("/show")
    assert types(frames) == [
        "response",
        "ext_status",
        "ext_status",
        "ext_widget",
        "ext_title",
        "ext_editor_text",
        "done",
    ]
    frames = zot.prompt("go")
    path = str(script / "mine.py")
    assert {"type": "ext_error", "path": path, "event": "context", "error": "boom"} in frames
    assert zot.ask("reload")["success"]


def test_the_earlier_protocol_of_pi_runs_commands_too(spawn: Callable[..., Agent], script: Path) -> None:
    base = ("--mode", "rpc", "--dialect", "pi-legacy", "--script", str(script / "script.json"))
    legacy = spawn(*base, "-e", str(script / "mine.py"))
    legacy.send({"type": "prompt", "message": "/greet you"}, {"type": "prompt", "message": "go"})
    frames = legacy.until("agent_end")
    users = [frame["message"] for frame in frames if frame["type"] == "message_end"]
    assert users[0]["content"] == "go"


@pytest.mark.parametrize("ending", ["eof", "abort"])
def test_nothing_that_hangs_keeps_the_process(spawn: Callable[..., Agent], tmp_path: Path, ending: str) -> None:
    (tmp_path / "hangs.py").write_text(
        "import time\ndef extend(linnet):\n"
        + "".join(
            f"    linnet.on('{name}')(lambda event, ctx: time.sleep(600))\n"
            for name in ("session_start", "input", "before_agent_start", "context", "agent_end", "session_shutdown")
        )
    )
    pi = spawn("--mode", "rpc", "--provider", "scripted", "-e", str(tmp_path / "hangs.py"), "--hook-timeout", "0.05")
    pi.send({"type": "prompt", "message": "go", "id": 1})
    if ending == "abort":
        pi.until("response")
        pi.send({"type": "abort", "id": 2})
    frames = pi.end()
    assert frames[-1]["type"] in ("agent_end", "hook_error")
    assert pi.wait() == 0


def test_an_extension_that_is_still_being_loaded_keeps_nobody(spawn: Callable[..., Agent], tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time; time.sleep(600)")
    pi = spawn("--mode", "rpc", "--provider", "scripted", "-e", str(tmp_path / "slow.py"))
    assert pi.ask("get_state")["success"]
    pi.end()
    assert pi.wait() == 0


def frames_of(client: Any, text: str) -> list[str]:
    return [type(event).__name__ for event in client.prompt(text)]


def test_the_client_library_hears_what_extensions_do(script: Path) -> None:
    flags = ["--script", str(script / "script.json"), "-e", str(script / "mine.py")]
    with PiClient(args=[*flags, "--no-session"], cwd=script) as pi:
        assert "HookError" in frames_of(pi, "go")
        assert frames_of(pi, "/greet you") == ["ExtensionUiRequest"]
        assert frames_of(pi, "mine") == ["AgentStart", "AgentEnd"]
        assert [each.name for each in pi.get_commands()] == ["greet", "show", "thread", "note"]
        pi.reload()
    with ZotClient(args=flags, cwd=script) as zot:
        assert "ExtNotify" in frames_of(zot, "/greet you")
        zot.reload()
