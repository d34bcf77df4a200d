"""The scripted model speaks as the vendors do: their own clients understand it, and it refuses what they refuse."""

import http.client
import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from linnet.testing.model_rules import check_anthropic, check_openai
from linnet.testing.model_script import ODD_TEXT
from linnet.testing.model_server import ModelServer

HELLO = "Hello from the scripted model."


def told(text: str) -> list[Any]:
    return [{"role": "user", "content": text}]


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")  # Their packages take long to import.
@pytest.mark.parametrize("prompt", ["hi", "!text 500", "!utf8", "!crlf", "!split", "!think", "!length", "!toolargs 50"])
def test_anthropics_own_client_understands_every_stream(server: ModelServer, prompt: str) -> None:
    import anthropic

    with (
        anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0) as client,
        client.messages.stream(model="claude-haiku-4-5", max_tokens=100, messages=told(prompt)) as stream,
    ):
        message = stream.get_final_message()
    text = "".join(block.text for block in message.content if block.type == "text")
    calls = [block for block in message.content if block.type == "tool_use"]
    thoughts = [block.thinking for block in message.content if block.type == "thinking"]
    match prompt:
        case "hi" | "!crlf":
            assert text == HELLO
            assert message.stop_reason == "end_turn"
            assert message.usage.output_tokens == 2
        case "!text 500":
            assert text == "".join(f"w{i} " for i in range(500))
        case "!utf8":
            assert text == ODD_TEXT
        case "!split":
            assert calls[0].input == {"path": ODD_TEXT}
        case "!think":
            assert thoughts == ["Let me think."]
        case "!length":
            assert message.stop_reason == "max_tokens"
        case "!toolargs 50":
            assert calls[0].input == {"path": "big.txt", "content": "x" * 200}
            assert message.stop_reason == "tool_use"
        case _:
            raise AssertionError(prompt)


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")  # Their packages take long to import.
@pytest.mark.parametrize("prompt", ["hi", "!text 500", "!utf8", "!crlf", "!split", "!length", "!toolargs 50", "!cache"])
def test_openais_own_client_understands_every_stream(server: ModelServer, prompt: str) -> None:
    import openai

    text, args, finish, usage = "", "", None, None
    with openai.OpenAI(base_url=server.url + "/v1", api_key="k", max_retries=0) as client:
        stream = client.chat.completions.create(
            model="gpt-5%", messages=told(prompt), stream=True, stream_options={"include_usage": True}
        )
        for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                finish = choice.finish_reason or finish
                for call in choice.delta.tool_calls or ():
                    args += (call.function and call.function.arguments) or ""
    assert usage is not None
    match prompt:
        case "hi" | "!crlf":
            assert (text, finish) == (HELLO, "stop")
        case "!text 500":
            assert text == "".join(f"w{i} " for i in range(500))
            assert usage.completion_tokens == 500
        case "!utf8":
            assert text == ODD_TEXT
        case "!split":
            assert json.loads(args) == {"path": ODD_TEXT}
        case "!length":
            assert finish == "length"
        case "!toolargs 50":
            assert len(json.loads(args)["content"]) == 200
        case "!cache":
            assert usage.prompt_tokens_details is not None
            assert usage.prompt_tokens_details.cached_tokens == 1000
        case _:
            raise AssertionError(prompt)


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")  # Their packages take long to import.
def test_the_vendors_own_clients_recognise_its_refusals(server: ModelServer) -> None:
    import anthropic
    import openai

    with (
        anthropic.Anthropic(base_url=server.url, api_key="bad-key", max_retries=0) as client,
        pytest.raises(anthropic.AuthenticationError),
        client.messages.stream(model="claude-haiku-4-5", max_tokens=1, messages=told("hi")),
    ):
        pass
    with (
        anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0) as client,
        pytest.raises(anthropic.APIStatusError, match="scripted failure"),
        client.messages.stream(model="claude-haiku-4-5", max_tokens=1, messages=told("!sseerror api_error")) as stream,
    ):
        stream.get_final_message()
    with (
        openai.OpenAI(base_url=server.url + "/v1", api_key="k", max_retries=0) as other,
        pytest.raises(openai.RateLimitError),
    ):
        other.chat.completions.create(model="gpt-5", messages=told("!fail 429 1"), stream=True)


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def used(id: str = "t1") -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "read", "input": {}}


def answered(id: str = "t1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": [text("x")], **more}


def by_user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def by_model(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


TOOLS = [{"name": "read", "input_schema": {"type": "object"}}]
BODY = {"model": "m", "max_tokens": 4096, "stream": True, "tools": TOOLS}


@pytest.mark.parametrize(
    "messages",
    [
        [by_user(text("hi"))],
        told("hi"),
        [by_user(text("go")), by_model(text("ok"), used()), by_user(answered(), text("and?"))],
        [by_user(text("a")), by_user(text("b"))],
        [by_user(text("go")), by_model(used("a"), used("b")), by_user(answered("b"), answered("a", is_error=True))],
    ],
)
def test_it_takes_what_anthropic_takes(messages: list[Any]) -> None:
    assert check_anthropic({**BODY, "messages": messages}) is None


THOUGHT = {"type": "thinking", "thinking": "x", "signature": "c2ln"}


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([], "at least one"),
        ([by_model(text("hi"))], "first"),
        ([by_user(text("hi")), by_model(text("x"))], "last"),
        ([by_user(text(""))], "empty"),
        ([by_user(text(" \n"))], "whitespace"),
        ([by_user()], "empty"),
        ([{"role": "tool", "content": "x"}, *told("hi")], "first"),
        ([*told("hi"), {"role": "system", "content": "x"}, *told("hi")], "role"),
        ([*told("hi"), by_model(used()), by_user(text("no"))], "without a tool_result"),
        ([*told("hi"), by_model(used("a"), used("b")), by_user(answered("a"))], "without a tool_result"),
        ([*told("hi"), by_model(used()), by_user(text("x"), answered())], "first"),
        ([by_user(answered())], "without a tool_use"),
        ([*told("hi"), by_model(used()), by_user(answered()), by_user(answered())], "without a tool_use"),
        ([*told("hi"), by_model(used()), by_user(answered(), answered())], "one tool_result"),
        ([*told("hi"), by_model(used("a"), used("a")), by_user(answered("a"))], "unique"),
        ([*told("hi"), by_model(used("a.b")), by_user(answered("a.b"))], "bad tool_use id"),
        ([*told("hi"), by_model(used()), by_user(answered(is_error=True, content=[]))], "error needs"),
        ([*told("hi"), by_model({"type": "thinking", "thinking": "x", "signature": ""}), *told("x")], "signature"),
        ([*told("hi"), by_model(text("x"), THOUGHT), *told("x")], "cannot be thinking"),
        ([*told("hi"), by_model({"type": "redacted_thinking", "data": "x"}), *told("x")], "cannot be thinking"),
        ([by_user({"type": "video"})], "unknown block"),
        ([by_user({"type": "text"})], "malformed"),
    ],
)
def test_it_refuses_what_anthropic_refuses(messages: list[Any], why: str) -> None:
    refused = check_anthropic({**BODY, "messages": messages})
    assert refused is not None
    assert why in refused


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"model": ""}, "model"),
        ({"stream": False}, "stream"),
        ({"thinking": {"type": "enabled", "budget_tokens": 100}}, "at least 1024"),
        ({"thinking": {"type": "enabled", "budget_tokens": 4096}}, "greater"),
        ({"tools": [*TOOLS, *TOOLS]}, "unique"),
        ({"tools": [{"name": "a b", "input_schema": {"type": "object"}}]}, "not a name"),
        ({"tools": [{"name": "a", "input_schema": {}}]}, "object"),
        ({"system": [text("")]}, "empty"),
        ({"system": [{**text("x"), "cache_control": {}}] * 5}, "at most 4"),
    ],
)
def test_it_refuses_settings_that_anthropic_refuses(change: dict[str, Any], why: str) -> None:
    refused = check_anthropic({**BODY, "messages": told("hi"), **change})
    assert refused is not None
    assert why in refused


def called(*ids: str) -> dict[str, Any]:
    calls = [{"id": id, "type": "function", "function": {"name": "read", "arguments": "{}"}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def returned(id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "x"}


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([*told("hi"), called("a"), returned("a"), *told("x")], None),
        ([*told("hi"), called("a", "b"), returned("b"), returned("a")], None),
        ([*told("hi"), called("a")], "without an answer"),
        ([*told("hi"), called("a"), *told("x")], "without an answer"),
        ([*told("hi"), returned("a")], "right before"),
        ([*told("hi"), called("a"), returned("a"), returned("a")], "right before"),
        ([*told("hi"), called()], "must not be empty"),
        ([*told("hi"), {"role": "assistant", "content": None}], "required"),
        ([{"role": "robot", "content": "x"}], "role"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///x"}}]}], "image"),
    ],
)
def test_it_refuses_what_openai_refuses(messages: list[Any], why: str | None) -> None:
    refused = check_openai({"model": "m", "stream": True, "messages": messages})
    assert refused is None if why is None else why in (refused or "")


def post(server: ModelServer, path: str, body: bytes, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    try:
        connection.request("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_claude_takes_a_key_of_googles_at_vertex_alone(server: ModelServer) -> None:
    assert post(server, "/v1/messages", b"{}", x_goog_api_key="k")[0] == 401
    assert post(server, "/v1/publishers/anthropic/models/m:streamRawPredict", b"{}", x_goog_api_key="k")[0] == 400


def test_a_request_that_is_not_one_is_refused_politely(server: ModelServer) -> None:
    assert post(server, "/v1/messages", b"{}")[0] == 401
    assert post(server, "/v1/messages", b"{}", x_api_key="k")[0] == 400
    assert post(server, "/v1/messages", b"nonsense", x_api_key="k", anthropic_version="1")[0] == 400
    assert post(server, "/v2/other", b"{}", x_api_key="k")[0] == 404
    assert server.requests[2].body is None


def test_failures_are_counted_per_prompt(server: ModelServer) -> None:
    def ask(prompt: str) -> int:
        body = json.dumps({"model": "m", "stream": True, "messages": told(prompt)}).encode()
        return post(server, "/v1/chat/completions", body, authorization="Bearer k")[0]

    assert [ask("!fail 500 1"), ask("!fail 503 1"), ask("!fail 500 1"), ask("!fail 503 1")] == [500, 503, 200, 200]


@pytest.mark.parametrize("place", ["system", "user"])
def test_a_request_to_summarise_gets_a_summary(server: ModelServer, place: str) -> None:
    messages = [{"role": place, "content": "Summarise this."}, *told("!tool read {}")][: 2 if place == "system" else 1]
    body = {"model": "m", "stream": True, "messages": messages}
    _, answer = post(server, "/v1/chat/completions", json.dumps(body).encode(), authorization="Bearer k")
    assert b"SUMMARY: scripted" in answer


def test_as_a_program_it_prints_its_port_keeps_a_log_and_opens_gates(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    command = [sys.executable, "-m", "linnet.testing.model_server", "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            word, port = process.stdout.readline().split()
            assert word == "listening"
            connection = http.client.HTTPConnection("127.0.0.1", int(port))
            body = json.dumps({"model": "m", "stream": True, "messages": told("!gate a")})
            headers = {"Authorization": "Bearer k", "Connection": "close"}
            connection.request("POST", "/v1/chat/completions", body, headers)
            answer = connection.getresponse()
            assert b"before" in answer.fp.readline() + b"".join(answer.fp.readline() for _ in range(6))
            with urlopen(f"http://127.0.0.1:{port}/_release/a") as opened:
                assert opened.status == 200
            assert b"[DONE]" in answer.fp.read()
            answer.close()
            connection.close()
            (entry,) = map(json.loads, log.read_text().splitlines())
            assert entry["path"] == "/v1/chat/completions"
        finally:
            process.terminate()
