"""Questions, and calls of tools that clients run, wait for whoever comes; the first answer counts."""

import pytest

from tests.serve.unix.conftest import Serve
from tests.serve.unix.serving import Served

pytestmark = pytest.mark.timeout(60)

ASKS = '!tool bash {"command":"echo hi >> done"}'
LOOKUP = {"name": "lookup", "description": "Look it up.", "parameters": {"type": "object", "properties": {}}}


def test_a_question_waits_for_whoever_comes_and_the_first_answer_counts(served: Served) -> None:
    asking = served.open("--permission", "ask")
    asking.done("prompt", message=ASKS)
    id = asking.until("extension_ui_request")["id"]
    asking.close()
    assert [each["id"] for each in served.agents()[asking.agent]["waiting"]] == [id]
    late, later = (served.attach(asking.agent, after=0) for _ in range(2))
    assert late.until("extension_ui_request")["id"] == later.until("extension_ui_request")["id"] == id
    late.done("extension_ui_response", id=id, value="Allow once")
    refused = later.ask("extension_ui_response", id=id, value="Deny")
    assert not refused["success"]
    assert refused["error"]
    for each in (late, later):
        each.until("agent_settled")
        [closed] = [frame for frame in each.seen if frame["type"] == "extension_ui_closed"]
        assert (closed["id"], closed["reason"]) == (id, "answered")
    assert (served.work / "done").read_text() == "hi\n"
    assert served.agents()[asking.agent]["waiting"] == []


def test_who_comes_from_now_on_is_told_of_questions_by_the_state(served: Served) -> None:
    asking = served.open("--permission", "ask")
    asking.done("prompt", message=ASKS)
    id = asking.until("extension_ui_request")["id"]
    late = served.attach(asking.agent)
    [waiting] = late.done("get_state")["waitingFor"]
    assert waiting["id"] == id
    late.done("extension_ui_response", id=id, value="Deny")
    late.until("agent_settled")
    assert not (served.work / "done").exists()


def test_a_question_that_nobody_answers_in_its_time_is_a_no_and_everybody_is_told(serve: Serve) -> None:
    served = serve("--question-timeout", "0.2")
    asking = served.open("--permission", "ask")
    watchers = [served.attach(asking.agent, role="watch", dialect=dialect) for dialect in ("pi-1", "zot")]
    asking.done("prompt", message=ASKS)
    assert asking.until("extension_ui_closed")["reason"] == "expired"
    watchers[0].until("extension_ui_closed")
    watchers[1].until("question_closed")
    asking.until("agent_settled")
    assert not (served.work / "done").exists()


def test_tools_of_a_client_go_with_its_connection_and_a_call_waits_for_whoever_comes(served: Served) -> None:
    brings = served.open()
    other = served.attach(brings.agent)
    brings.done("set_tools", tools=[LOOKUP])
    brings.done("prompt", message="!tool lookup {}")
    id = brings.until("tool_request")["requestId"]
    brings.close()
    assert other.until("tool_request")["requestId"] == id
    other.done("tool_response", requestId=id, content="found")
    result = other.until(lambda frame: frame["type"] == "tool_execution_end")
    assert result["result"]["content"] == [{"type": "text", "text": "found"}]
    other.until("agent_settled")
    other.done("prompt", message="!tool lookup {}\nagain")
    assert other.until(lambda frame: frame["type"] == "tool_execution_end")["isError"]
    other.until("agent_settled")


def test_an_agent_has_the_tools_of_all_its_clients(served: Served) -> None:
    one = served.open()
    two = served.attach(one.agent)
    one.done("set_tools", tools=[LOOKUP])
    two.done("set_tools", tools=[{**LOOKUP, "name": "other"}])
    for name in ("lookup", "other"):
        one.done("prompt", message=f"!tool {name} {{}}")
        one.done("tool_response", requestId=one.until("tool_request")["requestId"], content="found")
        one.until("agent_settled")
    assert not [frame for frame in one.seen if frame.get("isError")]
