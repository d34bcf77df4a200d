"""MCP servers that an editor hands over: used in that session, behind the gate, and literally as they were said."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame
from linnet.testing.processes import alive, wait_until
from tests.acp.editor import Editor, chosen, text
from tests.acp.test_turns import begun
from tests.suite.forked import ForkedAgentWithMcp

Start = Callable[..., Editor]
SCRIPTED = Path(__file__).parents[1] / "extensions" / "mcp" / "scripted_server.py"
pytestmark = pytest.mark.xdist_group("mcp")  # One process that has loaded the package for them.


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    with ExitStack() as stack:
        yield lambda *flags, **options: stack.enter_context(ForkedAgentWithMcp(*flags, **{"cwd": tmp_path, **options}))


def handed(name: str = "odd", **more: Any) -> Frame:
    return {"name": name, "command": sys.executable, "args": [str(SCRIPTED)], "env": [], **more}


def tool(editor: Editor, session: str, name: str, /, **args: Any) -> Frame:
    """Have the model call a tool of the server's, and return the call as it ended."""
    before = set(editor.calls())
    said = text(f"!tool mcp__odd__{name} {json.dumps(args)}")
    assert editor.ask("session/prompt", sessionId=session, prompt=said) == {"stopReason": "end_turn"}
    [call] = [call for id, call in editor.calls().items() if id not in before]
    return call


def words(call: Frame) -> str:
    return "".join(each["content"]["text"] for each in call["content"])


def test_its_tools_run_when_the_user_says_yes_and_not_when_not(acp: Start, folder: Path) -> None:
    answers = ["reject_once", "allow_once"]
    editor = acp("--mcp-wait", "100", does={"session/request_permission": lambda p: chosen(answers.pop(0))(p)})
    given = {"cwd": str(folder), "mcpServers": [handed()]}
    session = editor.ask("session/new", **given)["sessionId"]
    refused, done = tool(editor, session, "echo", text="heard"), tool(editor, session, "echo", text="heard")
    assert (refused["status"], done["status"], words(done)) == ("failed", "completed", "heard")
    assert [each["params"]["toolCall"]["title"] for each in editor.asked] == ["mcp__odd__echo"] * 2
    assert editor.asked[0]["params"]["toolCall"]["rawInput"] == {"text": "heard"}


def test_its_values_are_literal_in_new_sessions_and_in_those_of_before(acp: Start, folder: Path) -> None:
    editor = acp("--mcp-wait", "100", "--permission", "auto", env={"PLACE": "expanded"})
    variables = [{"name": "WHERE", "value": "${PLACE} ${NO_SUCH} ${env:PLACE}"}]
    given: dict[str, Any] = {"cwd": str(folder), "mcpServers": [handed(env=variables)]}
    session = editor.ask("session/new", **given)["sessionId"]
    for again in ("session/load", "session/resume"):
        assert words(tool(editor, session, "env", name="WHERE")) == variables[0]["value"]
        editor.ask("session/close", sessionId=session)
        editor.ask(again, sessionId=session, **given)
        editor.updates.clear()
    copy = editor.ask("session/fork", sessionId=session, **given)["sessionId"]
    assert words(tool(editor, copy, "env", name="WHERE")) == variables[0]["value"]


def test_a_server_ends_with_its_session_and_is_seen_by_no_other(acp: Start, folder: Path) -> None:
    editor = acp("--mcp-wait", "100", "--permission", "auto")
    first, second = (editor.ask("session/new", cwd=str(folder), mcpServers=[handed()])["sessionId"] for _ in range(2))
    pids = [int(words(tool(editor, each, "pid"))) for each in (first, second)]
    without = begun(editor, folder)
    assert tool(editor, without, "pid")["status"] == "failed"
    editor.ask("session/close", sessionId=first)
    wait_until(lambda: not alive(pids[0]))
    assert words(tool(editor, second, "pid")) == str(pids[1])
    editor.agent.end()
    wait_until(lambda: not alive(pids[1]))


@pytest.mark.parametrize(
    ("servers", "sentence"),
    [
        ([handed(env={"A": "b"})], "env"),
        ([handed(env=[{"name": "A"}])], "value"),
        ([handed(env=[{"name": "A", "value": 3}])], "value"),
        ([handed(args="x")], "args"),
        ([handed(command="")], "'odd' cannot be used: it has no command"),
        ([handed(command="a\0b")], "null byte"),
        ([handed(name=" ")], "a server needs a name"),
        ([handed(), handed()], "two MCP servers are called 'odd'"),
        ([{"type": "http", "name": "odd", "headers": []}], "'odd' cannot be used: it has no url"),
        ([{"type": "http", "name": "odd", "url": "file:///x", "headers": []}], "http://"),
        ([{"type": "sse", "name": "odd", "url": "http://x", "headers": []}], "its type 'sse' was not offered"),
        ([{"command": "x", "args": [], "env": []}], "name"),
        ({}, "array"),
    ],
)
def test_what_is_no_server_is_refused_in_words(acp: Start, folder: Path, servers: Any, sentence: str) -> None:
    editor = acp()
    error = editor.fails("session/new", cwd=str(folder), mcpServers=servers)
    assert error["code"] == -32602
    assert sentence in error["message"]
    begun(editor, folder)  # The connection lives.


def test_a_server_that_cannot_be_started_costs_only_its_tools(acp: Start, folder: Path) -> None:
    editor = acp("--mcp-wait", "100")
    session = editor.ask("session/new", cwd=str(folder), mcpServers=[handed(command="/no/such")])["sessionId"]
    assert editor.ask("session/prompt", sessionId=session, prompt=text("hello")) == {"stopReason": "end_turn"}
