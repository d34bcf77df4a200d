"""What a prompt prints, in which order, for every way it can go."""

from collections.abc import Callable
from typing import Any

import pytest

from linnet.testing.agent import Agent, types
from linnet.testing.model_server import ModelServer

providers = pytest.mark.parametrize("provider", ["anthropic", "openai"])


def only(frames: list[dict[str, Any]], type: str) -> dict[str, Any]:
    (frame,) = [frame for frame in frames if frame["type"] == type]
    return frame


@providers
def test_a_tool_turn_tells_the_call_as_it_streams_then_whole_then_its_result(
    zot: Callable[..., Agent], provider: str
) -> None:
    frames = zot(provider=provider).prompt('!tool bash {"command":"echo hi"}')
    assert [kind for kind, before in zip(types(frames), ["", *types(frames)], strict=False) if kind != before] == [
        "response",
        "user_message",
        "turn_start",
        "assistant_start",
        "text_delta",
        "tool_use_start",
        "tool_use_args",
        "tool_use_end",
        "usage",
        "assistant_message",
        "tool_call",
        "turn_end",
        "tool_progress",
        "tool_result",
        "turn_start",
        "assistant_start",
        "text_delta",
        "usage",
        "assistant_message",
        "turn_end",
        "done",
    ]
    call = only(frames, "tool_call")
    assert call["name"] == "bash"
    assert call["args"] == {"command": "echo hi"}
    assert "".join(f["delta"] for f in frames if f["type"] == "tool_use_args") == '{"command":"echo hi"}'
    assert {f["id"] for f in frames if f["type"].startswith("tool_")} == {call["id"]}
    assert [f["stop"] for f in frames if f["type"] == "turn_end"] == ["tool_use", "end_turn"]
    assert [f["step"] for f in frames if f["type"] == "turn_start"] == [1, 2]
    assert only(frames, "tool_progress")["text"] == "hi\n"
    result = only(frames, "tool_result")
    assert not result["is_error"]
    text = result["content"][0]["text"]
    assert text.startswith("$ echo hi\n\nhi\n\n[exit 0]  Took ")


def test_two_calls_run_in_order_and_each_has_its_result(agent: Agent) -> None:
    frames = agent.prompt('!tools [["bash",{"command":"sleep 0.1; echo one"}],["bash",{"command":"echo two"}]]')
    calls = [f["id"] for f in frames if f["type"] == "tool_call"]
    results = [f for f in frames if f["type"] == "tool_result"]
    assert [f["id"] for f in results] == calls
    assert ["one" in results[0]["content"][0]["text"], "two" in results[1]["content"][0]["text"]] == [True, True]


@providers
def test_an_http_error_is_told_in_the_vendors_words(zot: Callable[..., Agent], provider: str) -> None:
    frames = zot(provider=provider).prompt("!fail 401 9")
    assert types(frames) == ["response", "user_message", "turn_start", "turn_end", "error", "done"]
    assert frames[-3]["stop"] == "error"
    assert frames[-3]["error"] == frames[-2]["message"]
    assert frames[-2]["message"].startswith(f"{provider}: http 401: {{")
    assert "scripted failure" in frames[-2]["message"]


def test_deepseek_is_named_in_its_errors(zot: Callable[..., Agent], server: ModelServer) -> None:
    agent = zot(provider="deepseek")
    assert agent.prompt("hi")[-2]["stop"] == "end_turn"
    assert server.requests[0].body["model"] == "deepseek-chat"
    assert agent.prompt("!fail 401 9")[-2]["message"].startswith("deepseek: http 401: ")


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_request_the_vendor_rejects_is_not_sent_again(agent: Agent, server: ModelServer, status: int) -> None:
    agent.prompt(f"!fail {status} 9")
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_transient_failure_is_tried_again(agent: Agent, server: ModelServer, status: int) -> None:
    frames = agent.prompt(f"!fail {status} 1")
    assert frames[-2]["stop"] == "end_turn"
    assert len(server.requests) == 2
    assert "error" not in types(frames)


def test_retrying_ends_with_the_error(zot: Callable[..., Agent], server: ModelServer) -> None:
    frames = zot("--retries", "1").prompt("!fail 503 9")
    assert types(frames)[-3:] == ["turn_end", "error", "done"]
    assert len(server.requests) == 2


def test_an_abort_ends_the_wait_between_two_tries(agent: Agent, server: ModelServer) -> None:
    agent.send({"id": "1", "type": "prompt", "message": "!fail 429 9 50"})
    agent.until("turn_start")
    server.wait_for(requests=1)
    agent.send({"id": "2", "type": "abort"})
    assert types(agent.until("done")) == ["response", "turn_end", "done"]


def test_nobody_listening_is_a_sentence(spawn: Callable[..., Agent]) -> None:
    agent = spawn("rpc", "--base-url", "http://127.0.0.1:1", "--api-key", "x", "--retries", "0")
    frames = agent.prompt("hi")
    assert types(frames)[-3:] == ["turn_end", "error", "done"]
    assert "connection refused" in frames[-2]["message"].lower()
    assert "127.0.0.1:1" in frames[-2]["message"]


def test_an_error_inside_the_stream_keeps_what_was_said(agent: Agent) -> None:
    frames = agent.prompt("!sseerror overloaded_error")
    assert types(frames)[-5:] == ["usage", "assistant_message", "turn_end", "error", "done"]
    assert "overloaded_error" in frames[-2]["message"]
    assert len(agent.ask("get_messages")["data"]["messages"]) == 2


@providers
def test_garbage_in_the_stream_is_skipped(zot: Callable[..., Agent], provider: str) -> None:
    frames = zot(provider=provider).prompt("!garbage")
    assert frames[-2]["stop"] == "end_turn"


def test_a_reply_at_the_token_limit_stops_for_length(agent: Agent) -> None:
    assert agent.prompt("!length")[-2] == {"type": "turn_end", "stop": "length"}


def test_a_conversation_that_is_too_long_is_an_error_of_the_vendor(agent: Agent) -> None:
    frames = agent.prompt("!overflow 1")
    assert "prompt is too long" in frames[-2]["message"]


def test_max_steps_ends_after_the_last_result(zot: Callable[..., Agent]) -> None:
    frames = zot("--max-steps", "3").prompt('!loop 10 bash {"command":"true"}')
    assert types(frames)[-3:] == ["tool_result", "error", "done"]
    assert frames[-2]["message"] == "max steps (3) exceeded"
    assert [f["step"] for f in frames if f["type"] == "turn_start"] == [1, 2, 3]


def test_thinking_is_left_out_unless_asked_for(zot: Callable[..., Agent]) -> None:
    assert "thinking_delta" not in types(zot().prompt("!think"))
    frames = zot("--show-thinking").prompt("!think")
    assert "".join(f["delta"] for f in frames if f["type"] == "thinking_delta")


@providers
def test_odd_text_survives_odd_chunks(zot: Callable[..., Agent], provider: str) -> None:
    agent = zot("--max-steps", "3", provider=provider)
    for directive in ("!split", "!utf8", "!crlf"):
        frames = agent.prompt(directive)
        end = frames.index(next(f for f in frames if f["type"] == "assistant_message"))
        said = "".join(f["delta"] for f in frames[:end] if f["type"] == "text_delta")
        assert said == frames[end]["content"][0]["text"]
        assert "\ufffd" not in said


def test_cache_tokens_are_counted_and_priced(agent: Agent) -> None:
    usage = only(agent.prompt("!cache"), "usage")
    assert usage["cache_read"] > 0
    assert usage["cache_write"] > 0
    expected = (
        usage["input"] * 3 + usage["output"] * 15 + usage["cache_read"] * 0.3 + usage["cache_write"] * 3.75
    ) / 1e6
    assert usage["cost_usd"] == pytest.approx(expected)


def test_usage_adds_up(agent: Agent) -> None:
    frames = [*agent.prompt("hi"), *agent.prompt('!tool bash {"command":"true"}')]
    usages = [f for f in frames if f["type"] == "usage"]
    assert len(usages) == 3
    assert usages[-1]["cumulative"]["input"] == sum(usage["input"] for usage in usages)
    assert usages[-1]["cumulative"]["cost_usd"] == pytest.approx(sum(usage["cost_usd"] for usage in usages))


def test_an_unknown_tool_and_bad_arguments_are_for_the_model_to_read(agent: Agent) -> None:
    for prompt, words in [
        ('!tool frobnicate {"a":1}', 'unknown tool "frobnicate"'),
        ('!tool Bash {"command":"ls"}', 'unknown tool "Bash"'),
        ('!tool read {"path":"a","offset":"x"}', "$.offset"),
        ("!tool read {}", "`path`"),
        ("!tool bash {not json", "not a JSON object"),
    ]:
        result = only(agent.prompt(prompt), "tool_result")
        assert result["is_error"]
        assert words in result["content"][0]["text"]


def test_tools_can_be_chosen_or_left_out(zot: Callable[..., Agent], server: ModelServer) -> None:
    zot("--tools", "read,bash").prompt("hi")
    assert [tool["name"] for tool in server.requests[-1].body["tools"]] == ["bash", "read"]
    agent = zot("--no-tools")
    frames = agent.prompt('!tool bash {"command":"echo hi"}')
    assert "tools" not in server.requests[-2].body
    assert only(frames, "tool_result")["content"][0]["text"] == 'unknown tool "bash"'


def test_the_system_prompt_can_be_replaced_and_added_to(zot: Callable[..., Agent], server: ModelServer) -> None:
    def system() -> str:
        return "".join(block["text"] for block in server.requests[-1].body["system"])

    zot().prompt("hi")
    own = system()
    assert "linnet" in own
    zot("--append-system-prompt", "Speak Latin.").prompt("hi")
    assert system() == f"{own}\n\nSpeak Latin."
    zot("--system-prompt", "Be a bird.").prompt("hi")
    assert system() == "Be a bird."


def test_reasoning_is_asked_for(zot: Callable[..., Agent], server: ModelServer) -> None:
    zot("--reasoning", "high").prompt("!think")
    assert server.requests[-1].body["thinking"]["type"] == "enabled"
    zot("--thinking", "low", provider="openai").prompt("hi")
    assert server.requests[-1].body["reasoning_effort"] == "low"
    zot().prompt("hi")
    assert "thinking" not in server.requests[-1].body
