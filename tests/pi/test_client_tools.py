"""Tools that the client declares and runs, over the pi protocol."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from linnet.testing.agent import Agent, Frame, types
from linnet.testing.model_server import ModelServer

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


def tool(name: str = "greet") -> Frame:
    return {"name": name, "description": "Greets.", "parameters": {"type": "object", "properties": {}}}


def requested(agent: Agent, name: str = "greet") -> Frame:
    agent.send({"type": "prompt", "message": f'!tool {name} {{"a":1}}'})
    return agent.until("tool_request")[-1]


@pytest.fixture
def agent(pi: Callable[..., Agent]) -> Agent:
    agent = pi()
    assert agent.ask("set_tools", tools=[tool()])["success"] is True
    return agent


def test_the_model_is_offered_the_tool_and_gets_what_the_client_says(agent: Agent, server: ModelServer) -> None:
    request = requested(agent)
    assert request == {
        "type": "tool_request",
        "requestId": request["requestId"],
        "toolCallId": request["toolCallId"],
        "toolName": "greet",
        "args": {"a": 1},
    }
    (waiting,) = agent.ask("get_state")["data"]["waitingFor"]
    assert waiting == {
        "id": request["requestId"],
        "kind": "tool",
        "title": "greet",
        "toolCallId": request["toolCallId"],
        "toolName": "greet",
        "args": {"a": 1},
    }
    agent.ask("tool_response_progress", requestId=request["requestId"], text="…")
    content: list[Any] = [{"type": "text", "text": "hi"}, {"type": "image", "data": PIXEL, "mimeType": "image/png"}]
    agent.ask("tool_response", requestId=request["requestId"], content=content, details={"seconds": 1})
    ended = agent.until("tool_execution_end")[-1]
    assert ended["isError"] is False
    assert ended["result"]["content"] == content
    assert "tool_execution_update" in types(agent.seen)
    agent.until("agent_end")
    assert "greet" in [each["name"] for each in server.requests[0].body["tools"]]


@pytest.mark.parametrize(
    ("fields", "text", "is_error"),
    [
        ({"content": "plain"}, "plain", False),
        ({"content": ""}, "(no output)", False),
        ({}, "(no output)", False),
        ({"content": [], "isError": False}, "(no output)", False),
        ({"content": "it broke", "isError": True}, "it broke", True),
    ],
)
def test_whatever_came_of_it_is_a_result(agent: Agent, fields: Frame, text: str, is_error: bool) -> None:
    agent.ask("tool_response", requestId=requested(agent)["requestId"], **fields)
    ended = agent.until("tool_execution_end")[-1]
    assert (ended["result"]["content"][0]["text"], ended["isError"]) == (text, is_error)
    agent.until("agent_end")


def test_of_too_much_the_beginning_is_told_and_all_of_it_is_in_a_file(agent: Agent) -> None:
    agent.ask("tool_response", requestId=requested(agent)["requestId"], content="word\n" * 100_000)
    text = agent.until("tool_execution_end")[-1]["result"]["content"][0]["text"]
    assert len(text) < 60_000
    path = Path(text.rpartition("All of it: ")[2].rstrip("]"))
    assert path.stat().st_size == 500_000
    path.unlink()
    agent.until("agent_end")


def test_a_result_that_makes_no_sense_is_refused_and_still_waited_for(agent: Agent) -> None:
    id = requested(agent)["requestId"]
    for content in (5, [{"type": "video"}], [{"type": "image", "data": "%%"}], [5]):
        assert agent.ask("tool_response", requestId=id, content=content)["success"] is False
    assert agent.ask("tool_response", requestId="nobody", content="x")["success"] is False
    assert agent.ask("extension_ui_response", id, value="x")["success"] is False
    assert agent.ask("tool_response", requestId=id, content="ok")["success"] is True
    assert agent.ask("tool_response", requestId=id, content="twice")["success"] is False
    assert agent.ask("tool_response_progress", requestId=id, text="late")["success"] is False
    if "agent_end" not in types(agent.seen):  # It may have come before the last answers.
        agent.until("agent_end")


def test_an_abort_and_the_end_of_stdin_are_told_and_end_the_run(pi: Callable[..., Agent], agent: Agent) -> None:
    request = requested(agent)
    agent.send({"type": "abort"})
    closed = {
        **{key: request[key] for key in ("requestId", "toolCallId")},
        "type": "tool_request_closed",
        "reason": "withdrawn",
    }
    assert closed in agent.until("agent_end")
    request = requested(agent)
    frames = agent.end()
    assert types(frames)[-1] == "agent_end"
    assert "did not answer" in str(frames)
    assert agent.wait() == 0


def test_tools_come_and_go_in_mid_conversation(agent: Agent, server: ModelServer) -> None:
    request = requested(agent)
    assert agent.ask("set_tools", tools=[tool("other")])["success"] is True
    agent.ask("tool_response", requestId=request["requestId"], content="hi")
    agent.until("agent_end")
    offered = [[each["name"] for each in sent.body["tools"]] for sent in server.requests]
    assert "greet" in offered[0]
    assert "other" in offered[1]
    assert "greet" not in offered[1]
    assert offered[1] == sorted(offered[1])


def test_a_tool_of_the_clients_needs_permission_too(pi: Callable[..., Agent]) -> None:
    agent = pi("--permission", "ask")
    agent.ask("set_tools", tools=[tool()])
    agent.send({"type": "prompt", "message": "!tool greet {}"})
    question = agent.until("extension_ui_request")[-1]
    agent.send({"type": "extension_ui_response", "id": question["id"], "value": "Deny"})
    assert "tool_request" not in types(agent.until("agent_end"))


@pytest.mark.parametrize("name", ["parameters", "inputSchema", "input_schema"])
def test_a_schema_has_the_name_that_people_know(pi: Callable[..., Agent], server: ModelServer, name: str) -> None:
    agent = pi()
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert agent.ask("set_tools", tools=[{"name": "greet", name: schema}])["success"] is True
    agent.send({"type": "prompt", "message": "hi"})
    agent.until("agent_end")
    (offered,) = [each for each in server.requests[0].body["tools"] if each["name"] == "greet"]
    assert offered["input_schema"] == schema


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, 'tool 1: greet has no schema: give `parameters`, also for a tool that takes none: {"type":"object"'),
        ({"parameters": None}, "has no schema"),
        ({"schema": {"type": "object"}}, "has no schema"),
        ({"inputSchema": {"type": "object"}, "parameters": {"type": "object", "properties": {}}}, "more than one"),
        ({"inputSchema": {"type": "array"}}, "must be a JSON schema of an object"),
    ],
)
def test_a_tool_without_a_schema_is_refused(pi: Callable[..., Agent], fields: Frame, words: str) -> None:
    answer = pi().ask("set_tools", tools=[{"name": "greet", "description": "Greets.", **fields}])
    assert answer["success"] is False
    assert words in answer["error"]
