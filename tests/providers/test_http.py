"""The HTTP client against servers that are spelled out byte by byte."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.errors import ProviderRejected, ProviderUnavailable
from linnet.providers.http.client import HttpClient, Timeouts
from linnet.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.providers.conftest import Talk

Handler = Callable[[socket.socket], None]
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


def request_of(connection: socket.socket) -> bytes:
    """One whole request, or nothing if the client hung up."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return b""
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


class RawServer:
    """Gives each connection to the next handler. Whatever a handler raises fails the test."""

    def __init__(self, *handlers: Handler) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._handlers = handlers
        self._failures: list[BaseException] = []
        self._thread = Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._thread.join(10)
        assert not self._thread.is_alive()
        self._listener.close()
        assert not self._failures

    def _run(self) -> None:
        for handler in self._handlers:
            connection, _ = self._listener.accept()
            with connection:
                try:
                    handler(connection)
                except BaseException as failure:
                    self._failures.append(failure)


Serve = Callable[..., HttpClient]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with ExitStack() as stack:

        def started(*handlers: Handler, timeouts: Timeouts | None = None) -> HttpClient:
            server = RawServer(*handlers)
            stack.callback(server.close)
            client = HttpClient("acme", server.url + "/v1/x", {"X-Key": "k"}, timeouts)
            stack.callback(client.close)
            return client

        yield started


def answers(*answers: bytes) -> Handler:
    """Answers one request after the other on the same connection, then hangs up."""

    def handle(connection: socket.socket) -> None:
        for answer in answers:
            assert request_of(connection)
            connection.sendall(answer)

    return handle


def everything(client: HttpClient, body: bytes = b"{}") -> bytes:
    reply = client.post(body, CancelToken())
    pieces = list(iter(reply.read, b""))
    reply.release()
    return b"".join(pieces)


def sized(body: bytes, status: str = "200 OK", kind: str = "text/event-stream", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{more}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.mark.parametrize(
    "answer",
    [
        sized(b"hello"),
        STREAM + b"\r\nhello",
        STREAM + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + sized(b"hello"),
        b"HTTP/1.1 200\r\nCONTENT-LENGTH:5\r\nX-A: 1\r\nx-a: 2\r\n\r\nhello",
    ],
)
def test_a_body_may_be_framed_in_any_way(serve: Serve, answer: bytes) -> None:
    assert everything(serve(answers(answer))) == b"hello"


def test_a_head_may_arrive_byte_by_byte(serve: Serve) -> None:
    def handle(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        request_of(connection)
        for byte in sized(b"hello"):
            connection.sendall(bytes([byte]))

    assert everything(serve(handle)) == b"hello"


def test_the_request_is_what_a_server_expects(serve: Serve) -> None:
    seen: list[bytes] = []

    def handle(connection: socket.socket) -> None:
        seen.append(request_of(connection))
        connection.sendall(sized(b"x"))

    client = serve(handle)
    everything(client, b'{"a":1}')
    head, _, body = seen[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /v1/x HTTP/1.1"
    assert {"X-Key: k", "Content-Length: 7", "Accept-Encoding: identity", "Content-Type: application/json"} < set(lines)
    assert lines[1].startswith("Host: 127.0.0.1:")
    assert body == b'{"a":1}'


@pytest.mark.parametrize(
    "answer",
    [
        STREAM + b"Content-Length: 10\r\n\r\nhello",
        STREAM + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        STREAM + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
    ],
)
def test_a_body_that_ends_too_early_was_cut(serve: Serve, answer: bytes) -> None:
    with pytest.raises(ProviderUnavailable, match="cut short"):
        everything(serve(answers(answer)))


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000,
        b"HTTP/1.1 200 OK\r\nX: stops he",
        STREAM + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_not_http_is_reported(serve: Serve, answer: bytes) -> None:
    with pytest.raises(ProviderUnavailable, match=r"does not speak HTTP|garbled"):
        everything(serve(answers(answer)))


def test_garbage_between_chunks_is_reported(serve: Serve) -> None:
    heard = Event()

    def handle(connection: socket.socket) -> None:
        answers(STREAM + b"Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n")(connection)
        heard.wait(10)
        connection.sendall(b"nonsense\r\n")

    reply = serve(handle).post(b"{}", CancelToken())
    assert reply.read() == b"one"
    heard.set()
    with pytest.raises(ProviderUnavailable, match="garbled"):
        reply.read()


def test_a_page_instead_of_a_stream_is_reported_with_its_words(serve: Serve) -> None:
    with pytest.raises(ProviderRejected, match=r"expected an event stream but got text/html.*Welcome"):
        everything(serve(answers(sized(b"<h1>Welcome</h1>", kind="text/html; charset=utf-8"))))


def test_a_compressed_reply_is_refused(serve: Serve) -> None:
    with pytest.raises(ProviderRejected, match="gzip"):
        everything(serve(answers(sized(b"x", more="Content-Encoding: gzip\r\n"))))


def test_a_redirect_is_not_followed(serve: Serve) -> None:
    answer = sized(b"", "308 Permanent Redirect", more="Location: https://elsewhere.example/\r\n")
    with pytest.raises(ProviderRejected, match=r"308.*https://elsewhere\.example/"):
        everything(serve(answers(answer)))


def test_an_answer_that_comes_before_the_request_was_read_is_heard(serve: Serve) -> None:
    def handle(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(sized(b"too large", "413 Payload Too Large", "text/plain"))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(1 << 20):
            pass

    with pytest.raises(ProviderRejected, match="http 413: too large"):
        everything(serve(handle), b"x" * 5_000_000)


def test_the_connection_is_kept_for_the_next_request(serve: Serve) -> None:
    chunked = STREAM + b"Transfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n"
    client = serve(answers(sized(b"one"), chunked, sized(b"three")))
    assert [everything(client) for _ in range(3)] == [b"one", b"two", b"three"]


def test_an_error_does_not_cost_the_connection(serve: Serve) -> None:
    client = serve(answers(sized(b"busy", "503 Busy", "text/plain"), sized(b"fine")))
    with pytest.raises(ProviderUnavailable, match="http 503: busy"):
        everything(client)
    assert everything(client) == b"fine"


@pytest.mark.parametrize(
    "answer",
    [
        sized(b"one", more="Connection: close\r\n"),
        STREAM + b"\r\none",
        b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\none",
        sized(b"one") + b"excess",
    ],
)
def test_a_connection_that_cannot_be_kept_is_not(serve: Serve, answer: bytes) -> None:
    client = serve(answers(answer), answers(sized(b"two")))
    assert everything(client) == b"one"
    assert everything(client) == b"two"


def stays(answer: bytes, later: bytes = b"", *, asked: Event | None = None, done: Event | None = None) -> Handler:
    """Answers, says `later` when it is asked to, and waits until the client hangs up without another request."""

    def handle(connection: socket.socket) -> None:
        assert request_of(connection)
        connection.sendall(answer)
        if asked is not None and done is not None:
            assert asked.wait(10)
            connection.sendall(later)
            done.set()
        assert connection.recv(1) == b""

    return handle


SMUGGLED = sized(b"smuggled")


@pytest.mark.parametrize(
    "answer",
    [
        sized(b"one", more="Connection: close\r\n"),
        sized(b"one") + SMUGGLED,
        STREAM + b"Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n" + SMUGGLED,
    ],
)
def test_nothing_is_asked_on_a_connection_on_which_more_came_than_the_reply(serve: Serve, answer: bytes) -> None:
    client = serve(stays(answer), answers(sized(b"two")))
    assert everything(client) == b"one"
    assert everything(client) == b"two"


def test_nothing_is_asked_on_a_connection_that_spoke_while_it_was_kept(serve: Serve) -> None:
    asked, done = Event(), Event()
    client = serve(stays(sized(b"one"), SMUGGLED, asked=asked, done=done), answers(sized(b"two")))
    assert everything(client) == b"one"
    asked.set()
    assert done.wait(10)
    assert everything(client) == b"two"


def test_a_reply_released_with_bytes_that_nobody_read_costs_the_connection(serve: Serve) -> None:
    client = serve(stays(sized(b"one")), answers(sized(b"two")))
    client.post(b"{}", CancelToken()).release()
    assert everything(client) == b"two"


def test_a_kept_connection_that_the_server_closed_is_replaced(serve: Serve) -> None:
    client = serve(answers(sized(b"one")), answers(sized(b"two")))
    assert everything(client) == b"one"
    assert everything(client) == b"two"


def test_a_kept_connection_that_dies_under_the_request_is_replaced(serve: Serve) -> None:
    def dies(connection: socket.socket) -> None:
        answers(sized(b"one"))(connection)
        request_of(connection)

    client = serve(dies, answers(sized(b"two")))
    assert everything(client) == b"one"
    assert everything(client) == b"two"


def test_a_fresh_connection_that_dies_is_not_asked_twice(serve: Serve) -> None:
    def dies(connection: socket.socket) -> None:
        request_of(connection)

    with pytest.raises(ProviderUnavailable, match="without answering"):
        everything(serve(dies))


def test_a_reply_released_before_its_end_keeps_the_connection_if_the_end_follows(serve: Serve) -> None:
    def handle(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(STREAM + b"Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        released.wait(10)
        connection.sendall(b"0\r\n\r\n")
        ended.set()
        answers(sized(b"two"))(connection)

    released, ended = Event(), Event()
    client = serve(handle)
    reply = client.post(b"{}", CancelToken())
    assert reply.read() == b"one"
    reply.release()
    released.set()
    ended.wait(10)
    assert everything(client) == b"two"


def test_a_reply_released_whose_end_never_follows_costs_the_connection(serve: Serve) -> None:
    def handle(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(STREAM + b"Transfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        assert connection.recv(1) == b""

    client = serve(handle, answers(sized(b"two")))
    reply = client.post(b"{}", CancelToken())
    assert reply.read() == b"one"
    reply.release()
    assert everything(client) == b"two"


def test_silence_is_reported_after_a_while(serve: Serve) -> None:
    def silent(connection: socket.socket) -> None:
        request_of(connection)
        assert connection.recv(1) == b""

    with pytest.raises(ProviderUnavailable, match=r"said nothing for 0\.05 s"):
        everything(serve(silent, timeouts=Timeouts(idle=0.05)))


def test_silence_amid_a_reply_is_reported_after_a_while(serve: Serve) -> None:
    def falls_silent(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(STREAM + b"Content-Length: 10\r\n\r\nhello")
        assert connection.recv(1) == b""

    with pytest.raises(ProviderUnavailable, match=r"said nothing for 0\.05 s"):
        everything(serve(falls_silent, timeouts=Timeouts(idle=0.05)))


def test_a_host_that_does_not_answer_is_given_up_after_a_while(talk: "Talk") -> None:
    with socket.socket() as listener, ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(3):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        heard = talk(url=url, timeouts=Timeouts(connect=0.05)).ask("hi")
    assert isinstance(heard.error, ProviderUnavailable)
    assert str(heard.error).endswith(": no answer within 0.05 s")


def test_a_port_where_nobody_listens_is_reported_in_plain_words(talk: "Talk") -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        heard = talk(url=f"http://127.0.0.1:{port}").ask("hi")
    assert isinstance(heard.error, ProviderUnavailable)
    assert str(heard.error) == f"anthropic: could not connect to 127.0.0.1:{port}: connection refused"


def test_a_name_that_does_not_exist_is_reported_in_plain_words(talk: "Talk", monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> list[object]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    heard = talk(url="http://model.test").ask("hi")
    assert isinstance(heard.error, ProviderUnavailable)
    assert str(heard.error) == "anthropic: could not connect to model.test:80: name or service not known"


def test_a_name_that_cannot_be_one_is_rejected(talk: "Talk") -> None:
    assert isinstance(talk(url=f"http://{'a' * 70}.test").ask("hi").error, ProviderRejected)


def test_a_second_address_is_tried_when_the_first_refuses(
    talk: "Talk", server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        places = [taken.getsockname(), ("127.0.0.1", server.port)]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]
        with monkeypatch.context() as patch:
            patch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
            assert talk(url="http://model.test").ask("hi").stop == "end"


def test_steps_of_a_conversation_share_a_connection(talk: "Talk", server: ModelServer) -> None:
    for vendor in ("anthropic", "openai"):
        conversation = talk(vendor)
        for _ in range(3):
            assert conversation.ask("!text 100").stop == "end"
    assert server.connections == 2


def test_two_requests_at_once_use_two_connections(talk: "Talk", server: ModelServer) -> None:
    conversation = talk()
    first, second = conversation.start("!gate a"), conversation.start("!gate b")
    server.wait_for(requests=2)
    server.release("b")
    server.release("a")
    assert first.end().text == second.end().text == "before after"
    assert server.connections == 2
    assert conversation.ask("hi").stop == "end"
    assert server.connections == 2


def test_after_close_nothing_is_kept(talk: "Talk", server: ModelServer) -> None:
    conversation = talk()
    asking = conversation.start("!gate a")
    server.wait_for(requests=1)
    conversation.provider.close()
    server.release("a")
    assert asking.end().stop == "end"


def test_warming_connects_to_nothing(talk: "Talk", server: ModelServer) -> None:
    talk().provider.warm()
    talk(url="https://model.test").provider.warm()
    assert server.connections == 0
