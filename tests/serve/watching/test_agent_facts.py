"""What a list shows about a watched agent, from its lines alone."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.capture.record import Capture
from linnet.monitor.watch import TABLES
from linnet.serve.agents.summary import Summary
from linnet.serve.watching.agent_facts import AgentFacts, shown_state
from linnet.serve.watching.watched import Watched
from tests.serve.watching.watching import printed

CALL = {"toolCallId": "c1", "toolName": "bash", "args": {"command": "make test\nmake install"}}
PERMISSION = {**CALL, "preview": "make test"}
REQUEST = {"type": "extension_ui_request", "id": "q1", "method": "select", "title": "Allow bash?", "options": ["Yes"]}


def heard(facts: AgentFacts, *lines: dict[str, Any]) -> AgentFacts:
    for line in lines:
        facts.heard(facts.at + 1, json.dumps(line).encode())
    return facts


def told(watched: Watched, *lines: dict[str, Any]) -> dict[str, Any]:
    watched.stream().feed(1.0, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return watched.summary()


def waiting(facts: AgentFacts) -> list[str]:
    return [each.id for each in facts.waiting(facts.at)]


def test_pi_is_summed_up() -> None:
    watched = Watched()
    usage = {"input": 10, "output": 3, "cacheRead": 5, "cacheWrite": 0, "cost": {"total": 0.25}}
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "I will\n look."}],
        "model": "m",
        "provider": "p",
    }
    shown = told(
        watched,
        {"type": "agent_start"},
        {"type": "message_start", "message": {"role": "user", "content": "go"}},
        {"type": "message_start", "message": {"role": "assistant"}},
        {"type": "message_end", "message": {**message, "usage": usage}},
        {"type": "tool_execution_start", **CALL},
    )
    assert (shown["state"], shown["dialect"], shown["model"], shown["provider"]) == ("tool", "pi", "m", "p")
    assert (shown["last"], shown["cost"], shown["prompts"]) == ("I will look.", 0.25, 1)
    assert shown["tokens"] == {"input": 10, "output": 3, "cache_read": 5, "cache_write": 0}
    assert (shown["tool"]["name"], shown["tool"]["title"]) == ("bash", "make test")
    assert msgspec.convert(shown, Summary).tool is not None
    assert told(watched, {"type": "tool_execution_end", **CALL, "result": {}, "isError": False})["state"] == "working"
    assert told(watched, {"type": "agent_end", "messages": []})["state"] == "idle"


def test_zot_is_summed_up() -> None:
    state = {"busy": False, "cwd": "/src", "model": "m", "provider": "p"}
    total = {"input": 9, "output": 2, "cache_read": 0, "cache_write": 1, "cost_usd": 0.5}
    shown = told(
        Watched(),
        {"type": "response", "command": "get_state", "success": True, "data": state},
        {"type": "user_message", "content": [], "time": ""},
        {"type": "turn_start", "step": 1},
        {"type": "usage", **total, "cumulative": total},
        {"type": "tool_call", "id": "c1", "name": "bash", "args": {"command": "ls"}},
    )
    assert (shown["state"], shown["dialect"], shown["model"], shown["cwd"]) == ("tool", "zot", "m", "/src")
    assert (shown["tool"]["title"], shown["cost"], shown["prompts"]) == ("ls", 0.5, 1)


def test_the_end_is_told_with_its_reason() -> None:
    watched = Watched()
    stream = watched.stream()
    stream.feed(1.0, b'{"type":"turn_start"}\n')
    stream.finish(2.0, 137)
    shown = watched.summary()
    assert (shown["state"], shown["error"]) == ("gone", "It ended with exit code 137, while thinking.")
    assert watched.ended


@pytest.mark.parametrize(
    "goes_on",
    [
        {"type": "extension_ui_closed", "id": "q1"},
        {"type": "response", "command": "extension_ui_response", "id": "q1", "success": True},
        {"type": "tool_execution_update", **CALL, "partialResult": {}},
        {"type": "tool_execution_end", **CALL, "result": {}},
        {"type": "agent_end", "messages": []},
    ],
)
def test_a_permission_of_pi_waits_until_its_call_goes_on(goes_on: dict[str, Any]) -> None:
    facts = heard(AgentFacts(), {"type": "agent_start"}, {"type": "tool_execution_start", **CALL})
    heard(facts, {**REQUEST, "permission": PERMISSION, "timeout": 9000})
    (question,) = facts.waiting(facts.at + 1)
    assert (question.kind, question.tool_call_id, question.timeout) == ("permission", "c1", 8000)
    assert question.permission == msgspec.convert(PERMISSION, type(question.permission))
    assert shown_state(facts.doing, asked=True) == "waiting"
    heard(facts, {"type": "tool_execution_update", **CALL, "toolCallId": "c2", "partialResult": {}})
    heard(facts, {"type": "response", "command": "get_state", "success": True, "data": {}})
    assert waiting(facts) == ["q1"]
    assert waiting(heard(facts, goes_on)) == []


@pytest.mark.parametrize(
    "goes_on",
    [
        {"type": "question_closed", "request_id": "q1", "reason": "expired"},
        {"type": "response", "command": "answer", "id": "7", "success": True},
        {"type": "tool_progress", "id": "c1", "text": "x"},
        {"type": "tool_result", "id": "c1", "is_error": True, "content": []},
        {"type": "done"},
    ],
)
def test_a_permission_of_zot_waits_until_its_call_goes_on(goes_on: dict[str, Any]) -> None:
    permission = {"call_id": "c1", "name": "bash", "args": {"command": "ls"}, "preview": "ls"}
    asked = {"type": "question", "request_id": "q1", "method": "select", "title": "Allow?", "permission": permission}
    facts = heard(AgentFacts(), {"type": "turn_start"}, {"type": "tool_call", "id": "c1", "name": "bash"}, asked)
    (question,) = facts.waiting(facts.at)
    assert (question.id, question.kind, question.tool_call_id) == ("q1", "permission", "c1")
    assert waiting(heard(facts, goes_on)) == []


def test_a_dialog_of_an_extension_waits_until_the_agent_does_something_else() -> None:
    facts = heard(AgentFacts(), REQUEST, {**REQUEST, "id": "n", "method": "notify"})
    assert waiting(facts) == ["q1"]
    assert waiting(heard(facts, {"type": "turn_start"})) == []
    heard(facts, {**REQUEST, "timeout": 1000})
    assert facts.waiting(facts.at + 2) == []


def test_a_tool_of_the_client_s_is_waited_for() -> None:
    asked = {"type": "tool_request", "requestId": "r", "toolCallId": "c1", "toolName": "lookup", "args": {"a": 1}}
    (question,) = heard(AgentFacts("pi"), asked).waiting(0)
    assert (question.kind, question.title, question.args) == ("tool", "lookup", {"a": 1})


def test_every_capture_ends_without_a_question_and_with_a_summary(captures: dict[str, Capture]) -> None:
    for name, capture in captures.items():
        watched = Watched()
        stream = watched.stream()
        stream.feed(1.0, printed(capture))
        msgspec.convert(watched.summary(), Summary)
        stream.finish(2.0, 0)
        assert watched.summary()["waiting"] == [], name


texts = st.sampled_from(["c1", "q1", "select", "assistant", "get_state", "prompt", "answer", "bash", ""])
names = st.sampled_from(
    [
        *("id", "toolCallId", "toolName", "name", "args", "message", "method", "title", "options", "permission"),
        *("request_id", "requestId", "timeout", "timeout_ms", "command", "success", "data", "model", "provider"),
        *("sessionName", "call_id", "role", "preview", "content", "usage", "type"),
    ]
)
values = st.recursive(
    texts | st.none() | st.booleans() | st.integers(-5, 5000) | st.floats(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=4),
    max_leaves=6,
)
types = st.sampled_from(sorted(TABLES["zot"].keys() | TABLES["pi"].keys()))


@given(st.lists(st.tuples(types, st.dictionaries(names, values, max_size=6)), max_size=12))
def test_whatever_a_program_prints_there_is_a_summary(lines: list[tuple[str, dict[str, Any]]]) -> None:
    shown = told(Watched(), *({**fields, "type": type} for type, fields in lines))
    assert msgspec.json.decode(msgspec.json.encode(shown), type=Summary).id == shown["id"]
