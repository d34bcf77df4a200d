"""Google's API over real sockets, and in the whole program: what is signed goes back, whoever was asked in between."""

import json
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.deltas import Delta, Stopped, TextDelta
from linnet.core.messages import Text, UserMessage
from linnet.errors import ProviderRejected, ProviderUnavailable
from linnet.providers import catalog
from linnet.providers.base import Request
from linnet.providers.endpoint import Endpoint
from linnet.providers.google import api
from linnet.providers.google.request import UNSIGNED
from linnet.providers.google.response import Reader
from linnet.providers.http.sse import EventSplitter
from linnet.testing.agent import Agent, Frame
from linnet.testing.model_server import ModelServer
from linnet.testing.vendors.gemini_rules import check_gemini
from tests.providers.answering import Answering, answer

if TYPE_CHECKING:
    from tests.providers.conftest import Talk

STREAM = "text/event-stream"
READ = '!tool read {"path": "a.txt"}'


def request(id: str = "gemini-4-argon") -> Request:
    found = catalog.find("google", id)
    assert found
    return Request(found, "Be brief.", [UserMessage((Text("hi"),), 0)])


def asked(url: str, asking: Request) -> list[Delta]:
    provider = api.opened(Endpoint("google", url, "k"))
    try:
        return [delta for batch in provider.stream(asking, CancelToken()) for delta in batch]
    finally:
        provider.close()


def event(*parts: dict[str, Any], **candidate: Any) -> bytes:
    return (
        b"data: %b\n\n"
        % json.dumps({"candidates": [{"content": {"role": "model", "parts": list(parts)}, **candidate}]}).encode()
    )


def test_a_model_is_asked_at_its_own_path_with_the_key_in_a_header(server: ModelServer) -> None:
    asked(server.url, request())
    (told,) = server.requests
    assert told.path == "/v1beta/models/gemini-4-argon:streamGenerateContent?alt=sse"
    assert told.headers["x-goog-api-key"] == "k"
    asked(f"{server.url}/v1beta/", request())
    assert server.requests[1].path == told.path
    assert api.quoted("a/b?c d@1") == "a%2Fb%3Fc%20d@1"


def test_a_long_reply_is_asked_for_again_until_it_is_whole() -> None:
    first = answer(event({"text": "one "}, finishReason="CONTINUATION", continuationToken="dG9r"), kind=STREAM)
    last = answer(event({"text": "two"}, finishReason="STOP"), kind=STREAM)
    with Answering(first, last) as server:
        deltas = asked(server.url, request())
        bodies = [json.loads(body) for _, _, body in server.asked]
    assert [delta for delta in deltas if isinstance(delta, TextDelta | Stopped)] == [
        TextDelta("one "),
        TextDelta("two"),
        Stopped("end"),
    ]
    assert bodies[1] == {**bodies[0], "continuationToken": "dG9r"}


def test_a_rest_that_does_not_come_fails_the_reply() -> None:
    first = answer(event({"text": "one "}, finishReason="CONTINUATION", continuationToken="dG9r"), kind=STREAM)
    busy = answer(b'{"error":{"code":503,"message":"busy"}}', 503)
    with Answering(first, busy) as server, pytest.raises(ProviderUnavailable, match="busy"):
        asked(server.url, request())


def test_a_bad_key_is_told_in_googles_words(talk: "Talk") -> None:
    error = talk("google", key="bad-key").ask("hi").error
    assert isinstance(error, ProviderRejected)
    assert "API_KEY_INVALID" in str(error)


def test_an_empty_reply_is_asked_for_again() -> None:
    empty, whole = answer(event(finishReason="STOP"), kind=STREAM), answer(event({"text": "hi"}, finishReason="STOP"))
    from linnet.providers.factory import build

    with Answering(empty, whole.replace(b"application/json", STREAM.encode())) as server:
        provider = build("google", "k", server.url, attempts=2)
        deltas = [delta for batch in provider.stream(request(), CancelToken()) for delta in batch]
        provider.close()
    assert deltas[-1] == Stopped("end")


def test_a_stream_cut_at_every_byte_ends_once() -> None:
    whole = b"".join(
        (
            event({"text": "Hm 🌍.", "thought": True}),
            event({"text": "é"}),
            event({"functionCall": {"name": "read", "args": {"path": "漢"}, "id": "f1"}, "thoughtSignature": "c2ln"}),
            event({"text": "", "thoughtSignature": "ZW5k"}, finishReason="STOP"),
        )
    )
    reader = Reader()
    for cut in range(len(whole) + 1):
        reader, frames = Reader(), EventSplitter(1 << 20)
        deltas = reader.feed(frames.feed(whole[:cut])) + reader.end()
        stops = [at for at, delta in enumerate(deltas) if isinstance(delta, Stopped)]
        if reader.failure is None:
            assert stops == [len(deltas) - 1]
        else:
            assert stops == []
            assert isinstance(reader.failure, ProviderUnavailable)
    assert reader.failure is None


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"stream": True}, 'Unknown name "stream"'),
        ({"contents": []}, "contents is not specified"),
        ({"contents": [{"role": "user", "parts": [{"text": ""}]}]}, "empty text"),
        ({"contents": [{"role": "model", "parts": [{"text": "x"}]}]}, "begins with a user turn"),
        ({"generationConfig": {"thinkingConfig": {"thinkingBudget": 5}}}, "budget is not supported"),
        ({"generationConfig": {"thinkingConfig": {"thinkingLevel": "MINIMAL"}}}, "level MINIMAL is not supported"),
        (
            {"contents": [{"role": "user", "parts": [{"functionResponse": {"name": "a", "response": {}}}]}]},
            "number of function response parts",
        ),
    ],
)
def test_what_google_refuses_is_refused_by_the_scripted_model(wrong: dict[str, Any], words: str) -> None:
    right = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    assert check_gemini(right, "gemini-3.8-flash") is None
    assert words in str(check_gemini({**right, **wrong}, "gemini-3.8-flash"))


def test_a_call_without_a_signature_is_refused_by_newer_models() -> None:
    def turn(id: dict[str, str], **more: str) -> dict[str, Any]:
        return {
            "contents": [
                {"role": "user", "parts": [{"text": "hi"}]},
                {"role": "model", "parts": [{"functionCall": {**id, "name": "ls", "args": {}}, **more}]},
                {"role": "user", "parts": [{"functionResponse": {**id, "name": "ls", "response": {}}}]},
            ]
        }

    numbered = {"id": "f1"}
    assert "missing a thought_signature" in str(check_gemini(turn(numbered), "gemini-3.8-flash"))
    assert check_gemini(turn(numbered, thoughtSignature="c2ln"), "gemini-3.8-flash") is None
    assert check_gemini(turn({}), "gemini-2.5-pro") is None
    assert check_gemini(turn(numbered), "gemini-2.5-pro") is not None


@pytest.mark.foreign
@pytest.mark.xdist_group("vendors")  # Their packages take long to import.
def test_googles_own_client_reads_the_scripted_models_stream(server: ModelServer) -> None:
    from google import genai
    from google.genai import errors, types

    def client(key: str = "k") -> genai.Client:
        options = types.HttpOptions(base_url=server.url, api_version="v1beta")
        return genai.Client(api_key=key, http_options=options)

    def heard(prompt: str, model: str = "gemini-3.8-flash") -> list[Any]:
        with client() as talking:
            return list(talking.models.generate_content_stream(model=model, contents=prompt))

    *_, last = chunks = heard("!think")
    parts = [part for each in chunks for part in (each.candidates[0].content.parts or ())]
    assert "".join(part.text for part in parts if part.thought) == "Let me think."
    assert "".join(part.text for part in parts if not part.thought) == "Thought."
    assert last.candidates[0].finish_reason == types.FinishReason.STOP
    assert last.usage_metadata.thoughts_token_count == 2
    first, second, end = heard('!tools [["read", {"path": "a"}], ["ls", {}]]')
    calls = [each.candidates[0].content.parts[0] for each in (first, second)]
    assert [(part.function_call.name, part.function_call.args) for part in calls] == [
        ("read", {"path": "a"}),
        ("ls", {}),
    ]
    assert [bool(part.thought_signature) for part in calls] == [True, False]
    assert calls[0].function_call.id
    assert end.candidates[0].finish_reason == types.FinishReason.STOP
    old, *_ = heard('!tools [["read", {"path": "a"}]]', "gemini-2.5-flash")
    assert old.candidates[0].content.parts[0].thought_signature is None
    cached = heard("!cache")[-1].usage_metadata
    assert (cached.prompt_token_count, cached.cached_content_token_count) == (1210, 1000)
    with pytest.raises(errors.ServerError):
        heard("!fail 503 9")
    with client("bad-key") as refused, pytest.raises(errors.ClientError, match="API key not valid"):
        list(refused.models.generate_content_stream(model="gemini-3.8-flash", contents="hi"))


def contents(server: ModelServer, at: int = -1) -> list[dict[str, Any]]:
    body: dict[str, Any] = server.requests[at].body
    found: list[dict[str, Any]] = body["contents"]
    return found


def signatures(turn: dict[str, Any]) -> list[str]:
    return [part["thoughtSignature"] for part in turn["parts"] if "thoughtSignature" in part]


@pytest.fixture
def folder(tmp_path: Path, spawn: Callable[..., Agent]) -> Path:
    work = tmp_path / "work"
    (work / "a.txt").write_text("It is here.")
    return work


def done(agent: Agent, prompt: str) -> list[Frame]:
    agent.send({"id": "p", "type": "prompt", "message": prompt})
    return agent.until("agent_end")


def test_a_run_of_zots_protocol_sends_signatures_back(
    zot: Callable[..., Agent], server: ModelServer, folder: Path
) -> None:
    agent = zot("--session", "mine.jsonl", provider="google")
    frames = agent.prompt(READ)
    assert frames[-1]["type"] == "done"
    assert "It is here." in json.dumps(frames)
    reply, answered = contents(server)[-2:]
    assert b64decode(signatures(reply)[0]) == b"signed by gemini-4-argon in turn 1"
    assert reply["parts"][-1]["functionCall"]["id"] == answered["parts"][0]["functionResponse"]["id"]
    agent.prompt("and now?")
    assert len(signatures(contents(server)[3])) == 1  # That of the text that ended the first run.


def test_a_session_is_resumed_with_its_signatures_and_without_those_of_another_model(
    pi: Callable[..., Agent], server: ModelServer, folder: Path
) -> None:
    agent = pi(provider="google")
    final = done(agent, READ)[-1]["messages"]
    assert final[1]["api"] == "google-generative-ai"
    assert final[1]["stopReason"] == "toolUse"
    assert final[1]["content"][-1]["thoughtSignature"]
    assert final[-1]["usage"]["cost"]["total"] > 0
    file = agent.ask("get_state")["data"]["sessionFile"]
    agent.process.kill()
    agent.process.wait()

    again = pi("--session", file, provider="google")
    done(again, "go on")
    kept = contents(server)
    assert b64decode(signatures(kept[1])[0]) == b"signed by gemini-4-argon in turn 1"
    assert again.ask("set_model", provider="google", modelId="gemini-3.8-flash")["success"]
    done(again, "you, too")
    assert signatures(contents(server)[1]) == [UNSIGNED]
    assert again.ask("set_model", provider="google", modelId="gemini-2.5-flash")["success"]
    done(again, "and you")
    assert signatures(contents(server)[1]) == []
    assert all(frame.get("success", True) for frame in again.seen)


def test_another_vendors_calls_go_on_with_gemini_and_back(
    spawn: Callable[..., Agent], server: ModelServer, folder: Path
) -> None:
    env = {
        **{f"{name}_BASE_URL": server.url for name in ("ANTHROPIC", "OPENAI", "GOOGLE")},
        **dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), "x"),
    }
    agent = spawn("--mode", "rpc", "--retry-delay", "0.05", env=env)
    for provider, id in (
        ("anthropic", "claude-sonnet-5"),
        ("google", "gemini-3.8-flash"),
        ("openai", "gpt-5.2"),
        ("google", "gemini-2.5-pro"),
        ("anthropic", "claude-opus-4-8"),
        ("google", "gemini-3.8-flash"),
    ):
        assert agent.ask("set_model", provider=provider, modelId=id)["success"], agent.stderr
        final = done(agent, f"{READ}\n{provider}")[-1]["messages"]
        assert final[-1]["stopReason"] == "stop", final[-1]
    turns = [turn for turn in contents(server) if any("functionCall" in part for part in turn["parts"])]
    assert [signatures(turn)[0] == UNSIGNED for turn in turns] == [True, False, True, True, True, False]


def test_claude_on_vertex_is_a_model_like_any_other(
    spawn: Callable[..., Agent], server: ModelServer, folder: Path
) -> None:
    env = {"VERTEX_BASE_URL": server.url, "GOOGLE_CLOUD_PROJECT": "mine", "GOOGLE_CLOUD_API_KEY": "ya29.x"}
    agent = spawn("--mode", "rpc", "--provider", "vertex", env={**env, "HOME": str(folder)})
    for id, name in (("claude-sonnet-5", "anthropic-vertex"), ("gemini-3.8-flash", "google-vertex")):
        assert agent.ask("set_model", provider="vertex", modelId=id)["success"]
        final = done(agent, READ)[-1]["messages"]
        assert [final[-1]["stopReason"], final[-1]["api"]] == ["stop", name], final[-1]
    assert "/publishers/anthropic/models/claude-sonnet-5:streamRawPredict" in server.requests[0].path


def test_a_command_prints_the_token_for_vertex(spawn: Callable[..., Agent], server: ModelServer, folder: Path) -> None:
    env = {"VERTEX_BASE_URL": server.url, "GOOGLE_CLOUD_PROJECT": "mine", "HOME": str(folder)}
    agent = spawn("--mode", "rpc", "--provider", "vertex", "--api-key", "!echo printed-word", env=env)
    final = done(agent, READ)[-1]["messages"]
    assert final[-1]["stopReason"] == "stop", final[-1]
    assert {told.headers["authorization"] for told in server.requests} == {"Bearer printed-word"}
