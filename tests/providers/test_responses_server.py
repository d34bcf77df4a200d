"""The scripted model's Responses API: OpenAI's own client understands it, and a stream that is cut was cut."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from linnet.core.loop.draft import Draft
from linnet.core.messages import Usage
from linnet.core.models import Model
from linnet.errors import ProviderUnavailable
from linnet.providers.http.sse import EventSplitter
from linnet.providers.openai_responses.response import Reader
from linnet.testing.model_script import ODD_TEXT, Call, Failed, Say, Step, Stop, Think
from linnet.testing.model_server import ModelServer
from linnet.testing.vendors.model_responses import ResponsesWire, check_responses, encrypted
from tests.providers.conftest import Talk

HELLO = "Hello from the scripted model."
ASKED = {"model": "gpt-6-sol", "input": [{"role": "user", "content": "hi"}], "stream": True, "store": False}
STEPS: list[Step] = [Think("Let "), Think("me."), Say("héllo "), Say("🌍"), Call("read", '{"path":"a"}'), Stop("tool")]


def events(*steps: Step) -> list[bytes]:
    wire = ResponsesWire(ASKED, 100, cached=True)
    return [*wire.opening(), *[event for step in steps for event in wire.events(step)]]


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")  # Their packages take long to import.
@pytest.mark.parametrize(
    "prompt", ["hi", "!text 500", "!utf8", "!crlf", "!split", "!think", "!length", "!toolargs 50", "!cache", "!refusal"]
)
def test_openais_own_client_understands_every_stream(server: ModelServer, prompt: str) -> None:
    import openai

    with (
        openai.OpenAI(base_url=server.url + "/v1", api_key="k", max_retries=0) as client,
        client.responses.stream(model="gpt-6-sol", input=[{"role": "user", "content": prompt}], store=False) as stream,
    ):
        kinds = [event.type for event in stream]
        if prompt == "!length":
            assert kinds[-1] == "response.incomplete"
            return
        response = stream.get_final_response()
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert kinds[-1] == "response.completed"
    assert response.usage is not None
    match prompt:
        case "hi" | "!crlf":
            assert response.output_text == HELLO
        case "!text 500":
            assert response.output_text == "".join(f"w{i} " for i in range(500))
            assert response.usage.output_tokens == 500
        case "!utf8":
            assert response.output_text == ODD_TEXT
        case "!split" | "!toolargs 50":
            call = response.output[-1]
            assert call.type == "function_call"
            assert json.loads(call.arguments)["path"] == (ODD_TEXT if prompt == "!split" else "big.txt")
        case "!think":
            thought = response.output[0]
            assert thought.type == "reasoning"
            assert thought.summary[0].text == "Let me think."
            assert thought.encrypted_content
        case "!cache":
            assert response.usage.input_tokens_details.cached_tokens == 1000
        case "!refusal":
            assert "I will not." in str(response.output[-1])
        case _:
            raise AssertionError(prompt)


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")  # Their packages take long to import.
@pytest.mark.parametrize(
    "steps",
    [
        STEPS,
        [Say("x"), Stop("length")],
        [Stop("refusal")],
        [Failed("server_error")],
        [Failed("bio_policy", whole=True)],
    ],
)
def test_every_event_is_one_that_openais_types_know(steps: list[Step]) -> None:
    from openai.types.responses import ResponseStreamEvent

    adapter: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    told = [json.loads(event) for event in EventSplitter(1 << 20).feed(b"".join(events(*steps)))]
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    for event in told:
        found = adapter.validate_python(event)
        assert found.model_extra in (None, {}), (event["type"], found.model_extra)


def test_a_reply_cut_at_any_byte_has_one_end_and_loses_no_word() -> None:
    whole = b"".join(events(*STEPS))
    model = Model("gpt-6-sol", "openai", api="openai-responses")
    for cut in range(len(whole) + 1):
        reader, splitter, draft = Reader(), EventSplitter(1 << 20), Draft()
        draft.add(reader.feed(splitter.feed(whole[:cut])))
        if not reader.finished:
            draft.add(reader.end())
            assert isinstance(reader.failure, ProviderUnavailable)
        assert reader.finished == (cut == len(whole))
        reply = draft.message(0, model, Usage(), None if reader.finished else "error")
        assert "héllo 🌍".startswith(reply.text)


def test_a_socket_that_is_cut_at_any_event_is_an_error_that_may_be_tried_again(talk: Talk) -> None:
    for count in (1, 3, 10):
        heard = talk("azure-openai").ask(f"!drop {count}")
        assert isinstance(heard.error, ProviderUnavailable)
        assert heard.text == "".join(f"w{i} " for i in range(count))


def sealed(id: str, model: str = "gpt-6-sol") -> dict[str, Any]:
    return {"type": "reasoning", "id": id, "summary": [], "encrypted_content": encrypted(id, model)}


CALL = {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"}
DONE = {"type": "function_call_output", "call_id": "c", "output": "x"}
USER = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("input", "refused"),
    [
        ([USER, sealed("rs_1_0"), {**CALL, "id": "fc_1_1r"}, DONE], None),
        ([USER, sealed("rs_1_0"), CALL, DONE], None),
        ([USER, sealed("rs_1_0"), USER], "without its required following item"),
        ([USER, sealed("rs_1_0")], "without its required following item"),
        ([USER, sealed("rs_1_0"), {**CALL, "id": "fc_2_1r"}, DONE], "without its required following item"),
        ([USER, {**CALL, "id": "fc_1_1r"}, DONE], "without its required 'reasoning' item"),
        ([USER, sealed("rs_1_0", "gpt-5.4"), CALL, DONE], "could not be verified"),
        ([USER, {**sealed("rs_1_0"), "encrypted_content": None}, CALL, DONE], "not found"),
        ([USER, sealed("rs_1_0"), sealed("rs_1_0"), CALL, DONE], "Duplicate item|following item"),
        ([USER, DONE], "No tool call found"),
        ([USER, CALL], "No tool output found"),
        ([USER, CALL, DONE, DONE], "Duplicate output"),
        ([USER, {**CALL, "id": "x"}, DONE], "begins with 'fc'"),
        ([{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "Supported values"),
    ],
)
def test_it_refuses_what_the_vendor_refuses(input: list[Any], refused: str | None) -> None:
    import re

    wrong = check_responses({**ASKED, "input": input})
    assert re.search(refused, wrong or "") if refused else wrong is None


def test_it_refuses_fields_that_the_vendor_does_not_know() -> None:
    assert "Unknown parameter" in (check_responses({**ASKED, "messages": []}) or "")
    assert "max_output_tokens" in (check_responses({**ASKED, "max_output_tokens": 15}) or "")
