"""Questions and tools of the client's own, in zot's spelling."""

from collections.abc import Callable
from pathlib import Path

from linnet.testing.agent import Agent, types

TOUCH = '!tool bash {"command":"touch ran"}'
GREET = {
    "name": "greet",
    "description": "Greets.",
    "parameters": {"type": "object", "properties": {"who": {"type": "string"}}},
}


def test_a_command_is_asked_about_and_denied(zot: Callable[..., Agent]) -> None:
    agent = zot("--permission", "ask")
    where = Path(f"/proc/{agent.process.pid}/cwd").resolve()
    agent.send({"id": "p", "type": "prompt", "message": TOUCH})
    question = agent.until("question")[-1]
    assert question["permission"] == {
        "call_id": question["permission"]["call_id"],
        "name": "bash",
        "args": {"command": "touch ran"},
        "preview": "touch ran",
    }
    asked_again = {name: value for name, value in question.items() if name != "type"}
    waiting = agent.ask("get_state")["data"]["waiting_for"]
    assert waiting == [{**asked_again, "kind": "permission", "call_id": question["permission"]["call_id"]}]
    assert agent.ask("answer", request_id=question["request_id"], value="Deny", reason="no")["success"] is True
    assert "no" in agent.until("tool_result")[-1]["content"][0]["text"]
    agent.until("done")
    assert not (where / "ran").exists()


def test_the_client_runs_a_tool_of_its_own(zot: Callable[..., Agent]) -> None:
    agent = zot()
    assert agent.ask("set_tools", tools=[GREET])["success"] is True
    agent.send({"id": "p", "type": "prompt", "message": '!tool greet {"who":"you"}'})
    request = agent.until("tool_request")[-1]
    assert (request["name"], request["args"]) == ("greet", {"who": "you"})
    id = request["request_id"]
    assert agent.ask("tool_response_progress", request_id=id, text="hel")["success"] is True
    assert agent.until("tool_progress")[-1]["text"] == "hel"
    content = [{"type": "text", "text": "hello, you"}]
    assert agent.ask("tool_response", request_id=id, content=content, is_error=False)["success"] is True
    result = agent.until("tool_result")[-1]
    assert (result["is_error"], result["content"]) == (False, [{"type": "text", "text": "hello, you"}])
    agent.until("done")
    assert agent.ask("tool_response", request_id=id, content="again")["success"] is False


def test_an_abort_is_told_to_whoever_runs_the_tool(zot: Callable[..., Agent]) -> None:
    agent = zot()
    agent.ask("set_tools", tools=[GREET])
    agent.send({"id": "p", "type": "prompt", "message": "!tool greet {}"})
    request = agent.until("tool_request")[-1]
    agent.send({"id": "a", "type": "abort"})
    frames = agent.until("done")
    closed = [frame for frame in frames if frame["type"] == "tool_request_closed"]
    assert closed == [
        {
            "type": "tool_request_closed",
            "request_id": request["request_id"],
            "call_id": request["call_id"],
            "reason": "withdrawn",
        }
    ]


def test_names_that_are_taken_or_odd_are_refused(zot: Callable[..., Agent]) -> None:
    agent = zot()
    taken = agent.ask("set_tools", tools=[{"name": "bash", "parameters": {}}])
    assert taken["error"] == 'the tool "bash" is declared twice: by linnet itself and by the client'
    assert agent.ask("set_tools", tools=[GREET, GREET])["success"] is False
    assert "letters" in agent.ask("set_tools", tools=[{"name": "no good", "parameters": {}}])["error"]
    assert "has no schema" in agent.ask("set_tools", tools=[{"name": "good"}])["error"]
    assert agent.ask("set_tools", tools="x")["success"] is False
    assert agent.ask("set_tools")["success"] is False, "to have none, say so"
    assert agent.ask("set_tools", tools=[])["success"] is True
    assert types(agent.prompt("!tool greet {}"))[-1] == "done"


def test_an_abort_while_it_asks_withdraws_the_question(zot: Callable[..., Agent]) -> None:
    agent = zot("--permission", "ask")
    agent.send({"id": "p", "type": "prompt", "message": TOUCH})
    question = agent.until("question")[-1]
    agent.send({"id": "a", "type": "abort"})
    closed = {"type": "question_closed", "request_id": question["request_id"], "reason": "withdrawn"}
    assert closed in agent.until("done")


def test_a_client_that_dies_while_it_is_asked_has_said_no(zot: Callable[..., Agent]) -> None:
    agent = zot("--permission", "ask")
    where = Path(f"/proc/{agent.process.pid}/cwd").resolve()
    agent.send({"id": "p", "type": "prompt", "message": TOUCH})
    agent.until("question")
    agent.close_stdout()
    agent._stdin.close()
    agent.wait()
    assert not (where / "ran").exists()


def test_tools_that_are_declared_while_the_run_begins_are_there_for_its_next_step(zot: Callable[..., Agent]) -> None:
    agent = zot()
    agent.send(
        {
            "id": "p",
            "type": "prompt",
            "message": '!tools [["bash", {"command": "true"}], ["bash", {"command": "true"}]]',
        },
        {"id": "t", "type": "set_tools", "tools": [GREET]},
    )
    agent.until("done")
    agent.send({"id": "q", "type": "prompt", "message": '!tool greet {"who":"you"}'})
    agent.ask("tool_response", request_id=agent.until("tool_request")[-1]["request_id"], content="hi")
    agent.until("done")
