"""A server that never stops: nothing grows without end, an abort is answered, and nothing of it is a traceback."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from linnet import Runtime, events
from linnet.core import deltas
from linnet.core.deltas import CallDelta, CallOpened, PartClosed, TextDelta, ThinkingDelta, merged
from linnet.core.loop.draft import Draft
from linnet.errors import ProviderError
from linnet.providers import http_provider
from linnet.providers.anthropic.response import Reader as AnthropicReader
from linnet.providers.http.head import BadHead, parse
from linnet.providers.http.vendor_errors import from_status
from linnet.providers.openai_chat.response import Reader as OpenAIReader
from linnet.testing.model_server import ModelServer
from tests.suite.forked import ForkedAgent

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def event(**fields: object) -> bytes:
    return f"data: {json.dumps(fields)}\n\n".encode()


def grown(text: str, kind: str = "text_delta", field: str = "text") -> bytes:
    return event(type="content_block_delta", index=0, delta={"type": kind, field: text})


BEGUN = event(type="message_start", message={}) + event(
    type="content_block_start", index=0, content_block={"type": "text"}
)
CALLED = event(type="message_start", message={}) + event(
    type="content_block_start", index=0, content_block={"type": "tool_use", "id": "c", "name": "bash"}
)
# What comes first, and what comes over and over.
FLOODS: dict[str, tuple[bytes, bytes]] = {
    "words": (STREAM + b"\r\n" + BEGUN, grown("word ") * 500),
    "long words": (STREAM + b"\r\n" + BEGUN, grown("w" * 1000) * 50),
    "one event": (STREAM + b"\r\n" + BEGUN + b"data: ", b"x" * 65536),
    "arguments": (STREAM + b"\r\n" + CALLED, grown("y" * 100, "input_json_delta", "partial_json") * 300),
    "blocks": (STREAM + b"\r\n", event(type="content_block_start", index=1, content_block={"type": "text"}) * 500),
    "empty lines": (STREAM + b"\r\n", b"\n" * 65536),
    "carriage returns": (STREAM + b"\r\n", b"\r" * 65536),
    "comments": (STREAM + b"\r\n", b": keepalive\n\n" * 5000),
    "pings": (STREAM + b"\r\n" + BEGUN, event(type="ping") * 2000),
    "one chunk": (STREAM + b"Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n", b"z" * 65536),
    "small chunks": (STREAM + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n:\r\n" * 5000),
    "trailers": (STREAM + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n" * 5000),
    "a header": (STREAM + b"X: ", b"x" * 65536),
    "headers": (STREAM, b"X: y\r\n" * 5000),
    "answers that announce one": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2000),
    "an error": (b"HTTP/1.1 400 Bad\r\nContent-Type: text/plain\r\n\r\n", b"e" * 65536),
}


class Flood:
    """Sends to every connection until the other side has had enough. `sent` counts the bytes."""

    def __init__(self, kind: str) -> None:
        self._first, self._again = FLOODS[kind]
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.sent = 0
        self.flowing = Event()
        Thread(target=self._run, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _run(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                Thread(target=self._flood, args=(connection,), daemon=True).start()

    def _flood(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65536)
            connection.sendall(self._first)
            while True:
                connection.sendall(self._again)
                self.sent += len(self._again)
                self.flowing.set()


@pytest.fixture
def flood(request: pytest.FixtureRequest) -> Iterator[Flood]:
    with ExitStack() as stack:
        flood = Flood(request.param)
        stack.callback(flood.close)
        yield flood


@pytest.mark.parametrize("flood", FLOODS, indirect=True)
def test_a_reply_without_end_is_cut_and_said_to_be(flood: Flood, tmp_path: Path) -> None:
    most = 1 << 20
    with Runtime(cwd=tmp_path, base_url=flood.url, api_key="k", retries=0, max_reply=most, save=False) as runtime:
        result = runtime.run("hi")
    assert result.stop == "error"
    assert result.error
    assert "internal" not in result.error
    said = (
        "larger than 1 MiB (max_reply)",
        "the head of the answer is too long",
        "never comes to its answer",
        "http 400",
    )
    assert any(words in result.error for words in said)
    assert len(result.text) <= most


@pytest.mark.parametrize("flood", ["words", "long words", "arguments", "one event", "empty lines"], indirect=True)
@pytest.mark.parametrize("mode", [["rpc"], ["--mode", "rpc"]], ids=["zot", "pi"])
def test_an_abort_is_answered_while_it_comes_in(flood: Flood, mode: list[str], tmp_path: Path) -> None:
    env = {"LINNET_HOME": str(tmp_path), "ANTHROPIC_API_KEY": "k"}
    with ForkedAgent(*mode, "--base-url", flood.url, "--no-session", cwd=tmp_path, env=env) as agent:
        agent.send({"id": "1", "type": "prompt", "message": "hi"})
        assert flood.flowing.wait(30)
        assert agent.ask("abort")["success"]
        assert agent.ask("get_state")["success"]


pieces: st.SearchStrategy[deltas.Delta] = (
    st.builds(TextDelta, st.text())
    | st.builds(ThinkingDelta, st.text())
    | st.builds(CallDelta, st.sampled_from("ab"), st.text())
    | st.builds(CallOpened, st.sampled_from("ab"), st.just("x"))
    | st.just(PartClosed())
)


@given(st.lists(pieces))
def test_merged_deltas_make_the_same_message(batch: list[deltas.Delta]) -> None:
    one, other = Draft(), Draft()
    one.add(batch)
    other.add(merged(batch))
    from linnet.core.messages import Usage
    from linnet.core.models import Model

    model = Model("m", "p")
    assert one.message(0, model, Usage()) == other.message(0, model, Usage())


@pytest.mark.parametrize(("long", "every_one"), [(http_provider.LONG, True), (64 * 1024, False)])
def test_every_delta_is_told_until_a_reply_is_longer_than_models_write(
    monkeypatch: pytest.MonkeyPatch, server: ModelServer, tmp_path: Path, long: int, every_one: bool
) -> None:
    assert http_provider.LONG >= 16 << 20
    monkeypatch.setattr(http_provider, "LONG", long)
    with Runtime(provider="anthropic", base_url=server.url, api_key="x", cwd=tmp_path) as runtime:
        told = [event.delta for event in runtime.prompt("!text 5000") if isinstance(event, events.TextDelta)]
    assert (len(told) == 5000) is every_one
    assert "".join(told) == "".join(f"w{number} " for number in range(5000))


@given(st.text(), st.integers(2, 50))
def test_pieces_of_one_text_become_one(text: str, times: int) -> None:
    assert merged([TextDelta(text)] * times) == [TextDelta(text * times)]


# What a server may put where a number, a text or an object is expected.
odd = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([10**400, -(10**400), 2**63, "\0", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(
    ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "error"]
)
COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "prompt_tokens", "completion_tokens")
usage = st.fixed_dictionaries({}, optional=dict.fromkeys(COUNTS, odd))
payload = st.fixed_dictionaries(
    {"type": names | odd},
    optional={
        "index": odd,
        "usage": usage | odd,
        "message": st.fixed_dictionaries({"usage": usage}) | odd,
        "delta": odd | st.fixed_dictionaries({"stop_reason": odd}),
        "content_block": odd,
        "error": odd | st.fixed_dictionaries({"type": odd, "code": odd, "message": odd}),
        "choices": st.lists(st.fixed_dictionaries({"delta": odd, "finish_reason": odd}), max_size=2) | odd,
    },
)
encoded = payload.map(lambda said: json.dumps(said).encode()) | st.binary()


@given(st.lists(encoded, max_size=6))
@example([b'{"type":"message_start","message":{"usage":{"input_tokens":%d}}}' % 10**400])
@example([b'{"choices":[],"usage":{"prompt_tokens":%d}}' % 10**400])
@example([b'{"choices":[],"usage":{"prompt_tokens":' + b"9" * 5000 + b"}}"])
@example([b"[" * 100_000, b'{"a":' * 100_000])
def test_whatever_a_server_sends_is_read_priced_and_never_a_traceback(payloads: list[bytes]) -> None:
    from linnet.core.context.cost import priced
    from linnet.core.models import Prices

    for reader in (AnthropicReader(), OpenAIReader()):
        draft = Draft()
        draft.add(reader.feed(payloads))
        draft.add(reader.end())
        used = priced(draft.usage, Prices(3, 15, 0.3, 3.75))
        assert 0 <= used.total <= 5 * 10**12
        assert reader.failure is None or isinstance(reader.failure, ProviderError)


header = st.text(st.characters(codec="latin-1", exclude_characters="\r\n"), max_size=40)


@given(
    st.sampled_from(["Content-Length", "Transfer-Encoding", "Connection", "Retry-After", "Retry-After-Ms", "X"]),
    header | st.integers(0, 10**20).map(str) | st.sampled_from(["9" * 5000, "chunked", "1e400", "nan", "-1"]),
)
@example("Content-Length", "9" * 5000)
@example("Retry-After", "Mon, 32 Foo 99999999999 99:99:99 +999999")
@example("Retry-After", "Fri, 31 Dec 9999 23:59:59 -9999")
def test_a_head_is_understood_or_refused(name: str, value: str) -> None:
    try:
        head = parse(f"HTTP/1.1 500 Oops\r\n{name}: {value}".encode("latin-1"))
        head.body()
    except BadHead:
        return
    assert isinstance(from_status("acme", 500, head.headers, b"", 0.0), ProviderError)
