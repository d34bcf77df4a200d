"""Rules that name tools which nobody has, told by a whole process: as an error, or as a warning that people see."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.testing.agent import Agent
from tests.suite import forked

EXTENSION = """
def extend(linnet):
    @linnet.tool
    def deploy() -> str:
        "Deploys."
        return "deployed"
"""
SENTENCE = 'no tool is called "{}" here; did you mean "{}"?'


def once(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    executable = Path(sys.executable).with_name("linnet")
    return forked.run(
        [str(executable), *flags, "--provider", "scripted"],
        input="hello",
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "LINNET_HOME": str(folder / "home")},
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("mode", [("-p",), ("--mode", "json")])
def test_a_flag_that_names_a_tool_that_nobody_can_bring_is_an_error(tmp_path: Path, mode: tuple[str, ...]) -> None:
    done = once(tmp_path, *mode, "--deny", "deploy")
    assert done.returncode == 1
    assert done.stderr.startswith('linnet: --deny: no tool is called "deploy" here')
    assert done.stdout == ""


@pytest.mark.parametrize("mode", [("-p",), ("--mode", "json"), ("rpc",), ("--mode", "rpc")])
def test_a_slip_in_one_of_our_names_is_an_error_everywhere(tmp_path: Path, mode: tuple[str, ...]) -> None:
    done = once(tmp_path, *mode, "--deny", "bsh")
    assert (done.returncode, done.stdout) == (2, "")
    assert 'there is no tool "bsh"; did you mean bash?' in done.stderr
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.json").write_text('{\n "rules": [\n  "deny bash:rm",\n  "deny raed:.env"]}')
    done = once(tmp_path, *mode)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{home}/settings.json:4:" in done.stderr
    assert "did you mean read?" in done.stderr


def test_where_tools_may_come_it_is_a_warning_on_stderr_and_on_the_wire(spawn: Callable[..., Agent]) -> None:
    zot = spawn("rpc", "--provider", "scripted", "--deny", "edits_all")
    assert zot.until("ext_notify")[-1] == {
        "type": "ext_notify",
        "extension": "linnet",
        "level": "warn",
        "message": SENTENCE.format("edits_all", "edit") + " The rule about it holds if such a tool comes.",
    }
    assert SENTENCE.format("edits_all", "edit") in zot.stderr
    greet = {"name": "edits_all", "description": "", "parameters": {"type": "object"}}
    assert zot.ask("set_tools", tools=[greet])["success"] is True


def test_the_rule_holds_when_the_client_brings_the_tool(zot: Callable[..., Agent]) -> None:
    agent = zot("--deny", "greet")
    greet = {"name": "greet", "description": "", "parameters": {"type": "object"}}
    assert agent.ask("set_tools", tools=[greet])["success"] is True
    agent.send({"id": "p", "type": "prompt", "message": "!tool greet {}"})
    assert "Denied" in agent.until("tool_result")[-1]["content"][0]["text"]


def test_pis_clients_are_told_too_of_what_settings_say(spawn: Callable[..., Agent], tmp_path: Path) -> None:
    home = tmp_path / "work" / ".linnet-home"
    home.mkdir()
    (home / "settings.json").write_text('{"rules": ["deny depoly", "deny mcp__*", "ask mcp__git"]}')
    pi = spawn("--mode", "rpc", "--provider", "scripted", "--no-session")
    told = [pi.until("extension_ui_request")[-1] for _ in range(2)]
    assert [(each["method"], each["notifyType"]) for each in told] == [("notify", "warning")] * 2
    assert [each["message"].split('"')[1] for each in told] == ["depoly", "mcp__git__*"]
    assert 'no tool is called "depoly" here' in pi.stderr
    legacy = spawn("--mode", "rpc", "--dialect", "pi-legacy", "--provider", "scripted", "--no-session")
    assert legacy.end() == [], "its clients know no such lines"
    assert 'no tool is called "depoly" here' in legacy.stderr


def test_in_json_mode_it_is_a_line_and_with_p_a_line_on_stderr(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.json").write_text('{"rules": ["deny depoly"]}')
    done = once(tmp_path, "--mode", "json")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [each["level"] for each in told if each["type"] == "ext_notify"] == ["warn"]
    done = once(tmp_path, "-p")
    assert done.returncode == 0
    assert 'no tool is called "depoly" here' in done.stderr


def test_with_extensions_it_is_told_once_it_is_known_what_they_bring(
    spawn: Callable[..., Agent], tmp_path: Path
) -> None:
    (tmp_path / "ext.py").write_text(EXTENSION)
    extension = ("-e", str(tmp_path / "ext.py"))
    zot = spawn("rpc", "--provider", "scripted", *extension, "--deny", "deploy", "--deny", "depoly")
    [notice] = [frame for frame in zot.until("ext_notify") if frame["type"] == "ext_notify"]
    assert notice["message"].startswith(SENTENCE.format("depoly", "deploy"))
    zot.ask("get_state")
    assert [frame for frame in zot.seen if frame["type"] == "ext_notify"] == [notice]
    assert zot.stderr.count("no tool is called") == 1
    done = once(tmp_path, "--mode", "json", *extension, "--deny", "deploy")
    assert "no tool is called" not in done.stdout + done.stderr


def test_what_servers_bring_is_expected_by_their_name(spawn: Callable[..., Agent], tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"git": {"command": "true"}}}))
    server = ("--mcp-config", str(tmp_path / "mcp.json"))
    zot = spawn("rpc", "--provider", "scripted", *server, "--deny", "mcp__git__push", "--deny", "mcp__gti__push")
    [notice] = [frame for frame in zot.until("ext_notify") if frame["type"] == "ext_notify"]
    assert '"mcp__gti__push"' in notice["message"]
