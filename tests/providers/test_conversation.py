"""Both vendors against the scripted model, over a real socket."""

import json
from typing import TYPE_CHECKING

import pytest

from linnet.core.deltas import PartClosed, ReplyOpened, ThinkingSigned
from linnet.core.messages import AssistantMessage, Text, ToolCall, ToolResult, Usage
from linnet.errors import ContextOverflow, ModelRefused, ProviderRejected, ProviderUnavailable
from linnet.testing.model_script import ODD_TEXT
from linnet.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.providers.conftest import Conversation, Talk


def test_a_plain_answer_opens_speaks_counts_and_stops(conversation: "Conversation") -> None:
    heard = conversation.ask("hi")
    assert heard.error is None
    assert heard.deltas[0] == ReplyOpened()
    assert heard.text == "Hello from the scripted model."
    assert heard.usage.output == 2
    assert heard.usage.input > 0
    assert heard.stop == "end"


def test_a_network_read_is_one_batch(conversation: "Conversation") -> None:
    heard = conversation.ask("!text 20000")
    assert heard.text == "".join(f"w{i} " for i in range(20_000))
    assert len(heard.batches) < 1000
    assert heard.usage.output == 20_000


def test_paced_deltas_arrive_one_by_one(conversation: "Conversation") -> None:
    assert conversation.ask("!text 5 1").text == "w0 w1 w2 w3 w4 "


def test_a_thought_comes_before_the_words(conversation: "Conversation") -> None:
    heard = conversation.ask("!think")
    assert heard.thoughts == "Let me think."
    assert heard.text == "Thought."
    if conversation.vendor == "anthropic":
        assert ThinkingSigned("c2ln") in heard.deltas
        assert PartClosed() in heard.deltas


def test_a_call_its_result_and_the_answer(conversation: "Conversation") -> None:
    prompt = '!tool read {"path": "a.txt"}'
    heard = conversation.ask(prompt)
    assert heard.text == "Running."
    assert [(name, json.loads(args)) for name, args in heard.calls] == [("read", {"path": "a.txt"})]
    assert heard.stop == "tool_use"

    model = conversation.model
    call = ToolCall("t1", "read", {"path": "a.txt"})
    reply = AssistantMessage((Text("Running."), call), 0, model.provider, model.id)
    answered = conversation.ask(prompt, reply, ToolResult("t1", "read", (Text("content"),), 0))
    assert answered.text == "tool done"
    assert answered.stop == "end"


def test_several_calls_in_one_message(conversation: "Conversation") -> None:
    heard = conversation.ask('!tools [["read", {"path": "a"}], ["ls", {}]]')
    assert [(name, json.loads(args)) for name, args in heard.calls] == [("read", {"path": "a"}), ("ls", {})]


def test_a_long_call_streams_its_arguments(conversation: "Conversation") -> None:
    ((name, args),) = conversation.ask("!toolargs 500").calls
    assert name == "write"
    assert len(json.loads(args)["content"]) == 2000


@pytest.mark.parametrize(
    ("prompt", "stop"), [("!length", "length"), ("!lengthtool", "length"), ("!toolnone", "tool_use")]
)
def test_an_unusual_stop_is_told(conversation: "Conversation", prompt: str, stop: str) -> None:
    heard = conversation.ask(prompt)
    assert heard.error is None
    if stop == "tool_use" and conversation.vendor in ("azure-openai", "google"):
        stop = "end"  # These APIs say only that a reply is complete.
    assert heard.stop == stop


@pytest.mark.parametrize("prompt", ["!drop 3", "!reset 3", "!droptool"])
def test_a_reply_that_breaks_off_keeps_what_came_and_fails(conversation: "Conversation", prompt: str) -> None:
    heard = conversation.ask(prompt)
    assert heard.stop is None
    assert isinstance(heard.error, ProviderUnavailable)
    assert "cut short" in str(heard.error)
    if prompt == "!drop 3":
        assert heard.text == "w0 w1 w2 "


def test_an_error_inside_the_stream_is_judged_by_its_kind(conversation: "Conversation") -> None:
    passing = conversation.ask("!sseerror overloaded_error")
    assert passing.text == "before "
    assert isinstance(passing.error, ProviderUnavailable)
    kind = "" if conversation.vendor == "google" else "overloaded_error: "  # Google has a word of its own for it.
    assert str(passing.error).startswith(f"{conversation.vendor}: {kind}")
    assert str(passing.error).endswith(": scripted failure")
    assert isinstance(conversation.ask("!sseerror invalid_request_error").error, ProviderRejected)


def test_a_refusal_is_not_a_success_that_says_nothing(conversation: "Conversation") -> None:
    heard = conversation.ask("!refusal")
    if conversation.vendor in ("openai", "azure-openai"):
        assert heard.text == "I canI will not."
    else:
        assert isinstance(heard.error, ModelRefused)


def test_a_filtered_reply_fails(conversation: "Conversation") -> None:
    assert isinstance(conversation.ask("!filter").error, ProviderRejected)


@pytest.mark.parametrize("prompt", ["!garbage", "!crlf", "!slowhead 5"])
def test_a_stream_that_is_odd_but_whole_is_heard(conversation: "Conversation", prompt: str) -> None:
    heard = conversation.ask(prompt)
    assert heard.error is None
    assert heard.stop == "end"
    assert heard.text in ("before after", "Hello from the scripted model.")


def test_characters_survive_being_cut_anywhere(conversation: "Conversation") -> None:
    assert conversation.ask("!utf8").text == ODD_TEXT
    cut = conversation.ask("!split")
    assert cut.text == ODD_TEXT
    assert json.loads(cut.calls[0][1]) == {"path": ODD_TEXT}


def test_cached_tokens_are_counted_apart(conversation: "Conversation") -> None:
    usage = conversation.ask("!cache").usage
    expected = {
        "openai": Usage(210, 2, 1000),
        "google": Usage(210, 2, 1000),
        "bedrock": Usage(10, 2, 1000, 200, cache_write_long=50),
    }
    assert usage == expected.get(conversation.vendor, Usage(10, 2, 1000, 200))


def test_a_conversation_that_is_too_long_says_so(conversation: "Conversation") -> None:
    assert isinstance(conversation.ask("!overflow 1").error, ContextOverflow)
    assert conversation.ask("!overflow 1").text == "recovered"


def test_a_bad_key_is_reported_with_the_vendors_own_words(talk: "Talk") -> None:
    assert str(talk("anthropic", key="bad-key").ask("hi").error) == (
        'anthropic: http 401: {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}'
    )
    assert str(talk("deepseek", key="bad-key").ask("hi").error).startswith("deepseek: http 401: {")


def test_an_unusable_history_is_reported_and_not_retried(talk: "Talk", server: ModelServer) -> None:
    orphan = ToolResult("t1", "read", (Text("x"),), 0)
    assert isinstance(talk("openai", attempts=4).ask("hi", orphan).error, ProviderRejected)
    assert len(server.requests) == 1


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_a_base_url_may_name_the_version_or_not(talk: "Talk", server: ModelServer, suffix: str) -> None:
    assert talk("anthropic", server.url + suffix).ask("hi").stop == "end"
    assert talk("openai", server.url + suffix).ask("hi").stop == "end"
    assert [request.path for request in server.requests] == ["/v1/messages", "/v1/chat/completions"]


def test_a_base_url_may_have_a_path_of_its_own(talk: "Talk", server: ModelServer) -> None:
    assert talk("anthropic", server.url + "/proxy/anthropic").ask("hi").stop == "end"
    assert talk("openai", server.url + "/api/openai").ask("hi").stop == "end"
    assert [request.path for request in server.requests] == [
        "/proxy/anthropic/v1/messages",
        "/api/openai/chat/completions",
    ]


def test_the_request_carries_the_key_and_asks_for_plain_bytes(talk: "Talk", server: ModelServer) -> None:
    talk("anthropic").ask("hi")
    talk("openai").ask("hi")
    first, second = (request.headers for request in server.requests)
    assert first["x-api-key"] == "test-key"
    assert first["anthropic-version"] == "2023-06-01"
    assert second["authorization"] == "Bearer test-key"
    assert first["accept-encoding"] == "identity"
    assert first["user-agent"].startswith("linnet/")


def test_a_large_request_goes_through(conversation: "Conversation", server: ModelServer) -> None:
    assert conversation.ask("x" * 3_000_000).stop == "end"
    assert len(json.dumps(server.requests[0].body)) > 3_000_000


@pytest.mark.parametrize(("vendor", "path"), [("anthropic", "/v1/messages"), ("openai", "/v1/chat/completions")])
def test_the_whole_address_of_an_api_is_a_base_url_too(
    talk: "Talk", server: ModelServer, vendor: str, path: str
) -> None:
    assert talk(vendor, server.url + path).ask("hi").error is None
    assert server.requests[-1].path == path
