"""linnet itself with servers: flags, files, the SDK, an abort, its end."""

import json
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet import Runtime
from linnet.core.loop.run import BEGUN
from linnet.errors import ConfigError
from linnet.testing.agent import Agent, Frame
from linnet.testing.model_server import ModelServer
from linnet.testing.processes import alive, wait_until

SCRIPTED = Path(__file__).with_name("scripted_server.py")
Spawn = Callable[..., Agent]
LONG = ("--mcp-wait", "100")
pytestmark = pytest.mark.xdist_group("mcp")  # One process that has loaded the package for them.


def entry(*behaviours: str, **fields: Any) -> dict[str, Any]:
    """It notes what it is told where the agent works."""
    command = {"command": sys.executable, "args": [str(SCRIPTED), *behaviours], "cwd": "."}
    return {**command, "startTimeout": 100, **fields}


def file(path: Path, **servers: dict[str, Any]) -> str:
    path.write_text(json.dumps({"mcpServers": servers, "theme": "dark"}))
    return str(path)


def result(frames: list[Frame]) -> str:
    (found,) = [frame for frame in frames if frame["type"] == "tool_result"]
    return "".join(block["text"] for block in found["content"])


def test_servers_of_the_home_and_of_two_files_are_used_and_the_last_one_wins(zot: Spawn, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    file(home / "mcp.json", odd=entry(env={"WHERE": "home"}), own=entry(env={"WHERE": "own"}))
    first = file(tmp_path / "1.json", odd=entry(env={"WHERE": "${PLACE}"}))
    second = file(tmp_path / "2.json", more=entry(env={"WHERE": "second"}))
    agent = zot("--mcp-config", first, "--mcp-config", second, *LONG,
        env={"LINNET_HOME": str(home), "PLACE": "first"},
    )  # fmt: skip
    seen = {}
    for server in ("odd", "own", "more"):
        seen[server] = result(agent.prompt(f'!tool mcp__{server}__env {{"name": "WHERE"}}'))
    assert seen == {"odd": "first", "own": "own", "more": "second"}


@pytest.mark.parametrize("trust", [(), ("--trust",)])
def test_servers_of_ones_own_do_not_start_in_a_folder_that_is_not_trusted(
    zot: Spawn, tmp_path: Path, trust: tuple[str, ...]
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    plain = {"command": sys.executable, "args": [str(SCRIPTED)], "startTimeout": 100}
    module = {**plain, "args": ["-m", "planted"]}
    here = {**plain, "cwd": ".", "env": {"WHERE": "${LINNET_CWD}"}}
    file(home / "mcp.json", plain=plain, module=module, here=here)
    agent = zot(*LONG, *trust, env={"LINNET_HOME": str(home)})
    (work / "planted.py").write_text("open('ran', 'w').close()")

    def answer(tool: str, **args: str) -> str:
        return result(agent.prompt(f"!tool mcp__{tool} {json.dumps(args)}"))

    neutral = work if trust else home / "mcp"
    safe = "(not set)" if trust else "1"
    assert answer("plain__where") == str(neutral)
    assert answer("plain__env", name="PYTHONSAFEPATH") == safe
    assert answer("here__where") == answer("here__env", name="WHERE") == str(work)
    assert answer("here__env", name="PYTHONSAFEPATH") == "(not set)"
    assert (work / "ran").exists() == bool(trust)
    if not trust:
        assert (neutral.stat().st_mode & 0o777, list(neutral.iterdir())) == (0o700, [])


def test_the_model_is_told_of_the_tools_and_a_list_of_tools_may_name_them(
    zot: Spawn, server: ModelServer, tmp_path: Path
) -> None:
    config = file(tmp_path / "mcp.json", odd=entry(), more=entry("pages"))
    agent = zot("--mcp-config", config, "--tools", "read,mcp__odd__echo,mcp__more", *LONG)
    agent.prompt("hi")
    told = {tool["name"] for tool in server.requests[-1].body["tools"]}
    assert told == {"read", "mcp__odd__echo", *(f"mcp__more__tool{number}" for number in range(25))}


@pytest.mark.parametrize("flags", [("--no-mcp",), ("--no-tools",), ("--tools", "read")])
def test_servers_that_are_not_wanted_are_not_started(zot: Spawn, tmp_path: Path, flags: tuple[str, ...]) -> None:
    config = file(tmp_path / "mcp.json", odd={"command": "sh", "args": ["-c", f"touch {tmp_path}/started"]})
    agent = zot("--mcp-config", config, *flags)
    agent.prompt("hi")
    agent.end()
    assert not (tmp_path / "started").exists()


def test_a_file_that_makes_no_sense_is_one_sentence_and_nothing_is_started(zot: Spawn, tmp_path: Path) -> None:
    config = file(tmp_path / "mcp.json", odd={"command": 7, "args": "x"})
    agent = zot("--mcp-config", config)
    assert agent.wait() == 1
    assert agent.stderr == f"linnet: {config}: mcpServers.odd.args: expected a list of strings, not a string\n"


def test_a_process_without_servers_imports_nothing_for_them(zot: Spawn) -> None:
    agent = zot(env={"PYTHONPROFILEIMPORTTIME": "1"})
    agent.prompt('!tool bash {"command": "true"}')
    agent.end()
    agent.wait()
    imported = {line.rpartition("|")[2].strip() for line in agent.stderr.splitlines()}
    assert "linnet.runtime.run.runner" in imported
    assert not {name for name in imported if name.split(".")[0] in ("mcp", "asyncio", "anyio", "pydantic")}
    assert not {name for name in imported if name.startswith("linnet.extensions")}


def test_the_first_answer_does_not_wait_for_servers(zot: Spawn, tmp_path: Path) -> None:
    config = file(tmp_path / "mcp.json", late=entry("slow"))
    agent = zot("--mcp-config", config, *LONG)
    assert agent.ask("ping")["success"]
    agent.send({"type": "prompt", "id": "p", "message": '!tool mcp__late__echo {"text": "hi"}'})
    assert agent.ask("ping")["success"]
    (tmp_path / "work" / "go").touch()
    assert result(agent.until("done")) == "hi"


def test_an_abort_ends_the_wait_for_a_server(zot: Spawn, tmp_path: Path) -> None:
    config = file(tmp_path / "mcp.json", late=entry("slow"))
    agent = zot("--mcp-config", config, *LONG)
    agent.send({"type": "prompt", "id": "p", "message": "hi"})
    agent.until("turn_start")
    agent.ask("abort")
    (end,) = [frame for frame in agent.until("done") if frame["type"] == "turn_end"]
    assert end["stop"] == "aborted"


def test_an_abort_ends_a_call_and_the_server_answers_the_next(zot: Spawn, tmp_path: Path) -> None:
    config = file(tmp_path / "mcp.json", odd=entry())
    agent = zot("--mcp-config", config, *LONG)
    agent.send({"type": "prompt", "id": "p", "message": "!tool mcp__odd__hang {}"})
    noted = tmp_path / "work" / "noted.txt"
    wait_until(lambda: noted.exists() and "hanging" in noted.read_text(), 100)
    agent.ask("abort")
    assert result(agent.until("done")) == BEGUN.format("the turn was aborted")
    wait_until(lambda: "cancelled" in noted.read_text())
    assert result(agent.prompt('!tool mcp__odd__echo {"text": "again"}')) == "again"


@pytest.mark.parametrize("end", ["eof", "SIGTERM", "SIGKILL"])
def test_no_server_outlives_the_agent(zot: Spawn, tmp_path: Path, end: str) -> None:
    config = file(tmp_path / "mcp.json", odd=entry("holds-stdout"))
    agent = zot("--mcp-config", config, *LONG)
    pid = int(result(agent.prompt("!tool mcp__odd__pid {}")))
    assert alive(pid)
    if end == "eof":
        agent.end()
    else:
        agent.signal(signal.Signals[end])
    agent.wait()
    wait_until(lambda: not alive(pid))


def test_a_server_that_is_broken_is_told_on_stderr_and_the_run_goes_on(zot: Spawn, tmp_path: Path) -> None:
    config = file(tmp_path / "mcp.json", bad=entry("broken"), odd=entry())
    agent = zot("--mcp-config", config, *LONG)
    assert result(agent.prompt('!tool mcp__odd__echo {"text": "hi"}')) == "hi"
    assert agent.stderr == (
        "MCP server bad is not there: it exited with code 1.\nIts stderr ended with:\nno configuration found\n"
    )


def test_a_program_that_hosts_the_runtime_names_servers_as_a_file_does(server: ModelServer, tmp_path: Path) -> None:
    options: dict[str, Any] = {"base_url": server.url, "api_key": "x", "cwd": tmp_path}
    with Runtime(**options, mcp_servers={"odd": entry()}, mcp_wait=100) as runtime:
        events = list(runtime.prompt('!tool mcp__odd__echo {"text": "from the SDK"}'))
    assert "from the SDK" in str(events)
    with pytest.raises(ConfigError, match=r"^mcp_servers: mcpServers.odd: expected a command to start, or a url$"):
        Runtime(**options, mcp_servers={"odd": {}})


def test_a_prompt_of_a_server_is_typed_as_a_command(zot: Spawn, server: ModelServer, tmp_path: Path) -> None:
    agent = zot("--mcp-config", file(tmp_path / "mcp.json", odd=entry()), *LONG)
    assert agent.ask("get_commands")["data"]["commands"] == []  # Listing starts nothing.
    for typed, said in {
        "/mcp__odd__greet Ada  very warmly": "Greet Ada very warmly.",
        "/mcp__odd__first_note": "[note://1]\nremember the milk",
        "/mcp__odd__nothing here": "/mcp__odd__nothing here",
    }.items():
        (user,) = [frame for frame in agent.prompt(typed) if frame["type"] == "user_message"]
        assert user["content"] == [{"type": "text", "text": said}]
        assert server.requests[-1].body["messages"][-1]["content"][-1]["text"] == said
    listed = agent.ask("get_commands")["data"]["commands"]
    assert [(each["name"], each["source"], "argument_hint" in each) for each in listed] == [
        ("mcp__odd__greet", "mcp", True),
        ("mcp__odd__first_note", "mcp", False),
    ]
    asked = len(server.requests)
    frames = agent.prompt("/mcp__odd__greet")
    (end,) = [frame for frame in frames if frame["type"] == "turn_end"]
    assert end["stop"] == "error"
    assert end["error"].startswith("the prompt greet needs ")
    assert len(server.requests) == asked
    agent.prompt("hi")
    assert len(server.requests) == asked + 1


def test_an_abort_ends_the_wait_for_a_servers_prompt(zot: Spawn, server: ModelServer, tmp_path: Path) -> None:
    agent = zot("--mcp-config", file(tmp_path / "mcp.json", late=entry("slow")), *LONG)
    agent.send({"type": "prompt", "id": "p", "message": "/mcp__late__greet Ada"})
    agent.until("response")
    agent.ask("abort")
    (end,) = [frame for frame in agent.until("done") if frame["type"] == "turn_end"]
    assert end["stop"] == "aborted"
    assert server.requests == []
