"""A server that is asked which models it has: in whatever way it answers, or not, an answer comes in time."""

import socket
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from threading import Event, Thread

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.errors import Cancelled, ConfigError, ProviderError
from linnet.providers.http import listing
from linnet.providers.http.listing import offers

Answering = Callable[[bytes], str]


@pytest.fixture
def answering() -> Iterator[Answering]:
    """Listen, answer the first request with these bytes, and keep the connection until the end of the test."""
    stop = Event()
    threads: list[Thread] = []
    asked: list[bytes] = []

    def answering(answer: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]

        def serve() -> None:
            with closing(listener), suppress(OSError):
                listener.settimeout(10)
                connection, _ = listener.accept()
                with closing(connection):
                    asked.append(connection.recv(65536))
                    connection.sendall(answer)
                    if answer.endswith(b"\n"):  # A whole body never ends so here: the rest is silence.
                        stop.wait(10)

        threads.append(Thread(target=serve))
        threads[-1].start()
        return f"http://127.0.0.1:{port}"

    answering.asked = asked  # type: ignore[attr-defined]
    yield answering
    stop.set()
    for thread in threads:
        thread.join()


def whole(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def ids(url: str, deadline: float = 10) -> list[str]:
    return [each.id for each in offers("lan", url, {"Authorization": "Bearer k"}, CancelToken(), deadline)]


def test_the_models_are_those_of_the_list_with_their_window_under_any_name(answering: Answering) -> None:
    rows = (
        b'[{"id":"a","max_model_len":5},{"id":"b","context_length":6},{"id":"c","context_window":7},{"id":"d","x":[]}]'
    )
    url = answering(whole(b'{"object":"list","data":' + rows + b"}"))
    found = offers("lan", url + "/api/v1", {"Authorization": "Bearer k"}, CancelToken())
    assert [(each.id, each.window) for each in found] == [("a", 5), ("b", 6), ("c", 7), ("d", 0)]
    [request] = answering.asked  # type: ignore[attr-defined]
    assert request.startswith(b"GET /api/v1/models HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nAuthorization: Bearer k\r\n" in request


@pytest.mark.parametrize(
    "answer",
    [
        whole(b'{"data":[{"id":"a"}]}'),
        b'HTTP/1.1 200 OK\r\n\r\n{"data":[{"id":"a"}]}',
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n15\r\n{"data":[{"id":"a"}]}\r\n0\r\n\r\n',
    ],
)
def test_the_list_may_be_framed_in_any_way(answering: Answering, answer: bytes) -> None:
    assert ids(answering(answer)) == ["a"]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (b"", "closed the connection without answering"),
        (whole(b"<html>hello</html>"), "does not list its models at /v1/models"),
        (whole(b'{"data":[{"name":"a"}]}'), "does not list its models at /v1/models"),
        (whole(b'{"error":{"message":"who are you?"}}', "401 Unauthorized"), "who are you?"),
        (whole(b"{}", "404 Not Found"), "404"),
        (b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"data":[', "the list of models was cut short"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "does not speak HTTP"),
    ],
)
def test_anything_else_is_said_in_words(answering: Answering, answer: bytes, sentence: str) -> None:
    with pytest.raises(ProviderError, match=r"^lan: ") as caught:
        ids(answering(answer))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 200 OK\r\n", b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"data":[\n']
)
def test_a_server_that_falls_silent_is_not_waited_for(answering: Answering, answer: bytes) -> None:
    with pytest.raises(ProviderError):
        ids(answering(answer), deadline=0.1)


def test_a_list_that_never_ends_is_cut(answering: Answering, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "LARGEST", 100)
    with pytest.raises(ProviderError, match="the list of models is larger than"):
        ids(answering(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1000))


def test_nobody_there_is_said_in_words() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ProviderError, match=f"lan: could not connect to 127.0.0.1:{port}"):
        ids(f"http://127.0.0.1:{port}")


def test_what_is_no_address_or_no_key_is_refused_and_an_abort_heard(answering: Answering) -> None:
    with pytest.raises(ConfigError, match="is not a URL"):
        ids("localhost:1")
    with pytest.raises(ConfigError, match="check the API key"):
        offers("lan", answering(b"\n"), {"Authorization": "Bearer “k”"}, CancelToken())
    gone = CancelToken()
    gone.set()
    with closing(socket.create_server(("127.0.0.1", 0))) as listener, pytest.raises(Cancelled):
        offers("lan", f"http://127.0.0.1:{listener.getsockname()[1]}", {}, gone)
