"""The HTTP client against servers that are spelled out byte by byte."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from threading import Event
from typing import TYPE_CHECKING, cast

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.errors import ProviderRejected, ProviderUnavailable
from linnet.providers.http.call import HttpCall
from linnet.providers.http.client import HttpClient, HttpReply, Timeouts
from linnet.providers.http.exchange import _send
from linnet.testing.model_server import ModelServer
from tests.providers.raw import STREAM, Handler, RawServer, answers, request_of, sized
from tests.suite.hosts import deaf_host

if TYPE_CHECKING:
    from tests.providers.conftest import Talk

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


def post(client: HttpClient, *body: bytes) -> HttpReply:
    return client.post(HttpCall(client.url.path, body=body or (b"{}",)), CancelToken())


def everything(client: HttpClient, body: bytes = b"{}") -> bytes:
    reply = post(client, body)
    pieces = list(iter(reply.read, b""))
    reply.release()
    return b"".join(pieces)


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


def test_a_call_has_its_own_path_headers_and_pieces(serve: Serve) -> None:
    seen: list[bytes] = []

    def handle(connection: socket.socket) -> None:
        for _ in range(2):
            seen.append(request_of(connection))
            connection.sendall(sized(b"x"))

    client = serve(handle)
    large = bytes(range(256)) * 1000
    pieces = (b"<", bytearray(b"two"), memoryview(large), b"", b">", large[:70000], b"end")
    call = HttpCall("/other?a=b", {"content-type": "text/x", "Authorization": "Bearer se cret-word"}, pieces)
    for each in (call, HttpCall("/plain")):
        reply = client.post(each, CancelToken())
        assert reply.read() == b"x"
        reply.release()
    head, _, body = seen[0].partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /other?a=b HTTP/1.1"
    assert [line for line in lines if line.lower().startswith("content-type")] == ["content-type: text/x"]
    assert {"X-Key: k", "Authorization: Bearer se cret-word"} < set(lines)
    assert body == b"".join(pieces)
    assert seen[1].startswith(b"POST /plain HTTP/1.1\r\n")
    assert b"Content-Type: application/json\r\n" in seen[1]
    assert b"cret-word" not in seen[1]
    assert "cret-word" in client.secrets


@pytest.mark.parametrize("path", ["", "v1", "/a b", "/a\r\nX: y", "/\u00e9"])
def test_a_path_that_cannot_be_sent_is_rejected_before_anything_is(path: str) -> None:
    with pytest.raises(ProviderRejected, match="cannot be asked for"):
        HttpClient("acme", "http://127.0.0.1:1").post(HttpCall(path), CancelToken())


def test_a_header_of_a_call_that_cannot_be_sent_is_rejected_before_anything_is() -> None:
    with pytest.raises(ProviderRejected, match="the X-A header would hold"):
        HttpClient("acme", "http://127.0.0.1:1").post(HttpCall("/", {"X-A": "a\nb"}), CancelToken())


def test_signatures_of_many_calls_are_not_remembered_for_ever(serve: Serve) -> None:
    client = serve(answers(*[sized(b"x")] * 40))
    for count in range(40):
        reply = client.post(HttpCall("/", {"authorization": f"AWS4 Signature={count}"}), CancelToken())
        assert reply.read() == b"x"
        reply.release()
    assert len(client.secrets) < 20
    assert "Signature=39" in client.secrets


def test_an_api_says_which_content_types_it_takes_for_a_reply(serve: Serve) -> None:
    client = serve(answers(sized(b"{}", kind="application/json"), sized(b"{}", kind="text/plain")))
    reply = client.post(HttpCall("/"), CancelToken(), accept=lambda kind: kind == "application/json")
    assert reply.read() == b"{}"
    reply.release()
    with pytest.raises(ProviderRejected, match="expected an event stream but got text/plain"):
        client.post(HttpCall("/"), CancelToken(), accept=lambda kind: kind == "application/json")


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

    reply = post(serve(handle))
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
    post(client).release()
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
    reply = post(client)
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
    reply = post(client)
    assert reply.read() == b"one"
    reply.release()
    assert everything(client) == b"two"


def test_silence_is_reported_after_a_while(serve: Serve) -> None:
    def silent(connection: socket.socket) -> None:
        request_of(connection)
        assert connection.recv(1) == b""

    with pytest.raises(ProviderUnavailable, match=r"said nothing for 0\.05 s \(timeout\)"):
        everything(serve(silent, timeouts=Timeouts(idle=0.05)))


def test_silence_amid_a_reply_is_reported_after_a_while(serve: Serve) -> None:
    def falls_silent(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(STREAM + b"Content-Length: 10\r\n\r\nhello")
        assert connection.recv(1) == b""

    with pytest.raises(ProviderUnavailable, match=r"said nothing for 0\.05 s \(timeout\)"):
        everything(serve(falls_silent, timeouts=Timeouts(idle=0.05)))


def test_a_server_that_never_comes_to_its_answer_is_given_up_even_if_it_goes_on_talking(serve: Serve) -> None:
    def drips(connection: socket.socket) -> None:
        request_of(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        with suppress(OSError):
            while not Event().wait(0.01):
                connection.sendall(b"x")

    late = r"did not begin to answer within 0\.2 s \(first_byte_timeout\)"
    with pytest.raises(ProviderUnavailable, match=late):
        everything(serve(drips, timeouts=Timeouts(first_byte=0.2, idle=30)))


def test_once_it_answers_a_server_has_as_long_as_for_any_silence(serve: Serve) -> None:
    client = serve(answers(sized(b"one"), sized(b"two")), timeouts=Timeouts(first_byte=20, idle=30))
    for expected in (b"one", b"two"):
        reply = post(client)
        assert reply._connection.sock.gettimeout() == 30
        assert reply.read() == expected
        reply.release()


def test_a_host_that_does_not_answer_is_given_up_after_a_while(talk: "Talk") -> None:
    with deaf_host() as port:
        heard = talk(url=f"http://127.0.0.1:{port}", timeouts=Timeouts(connect=0.05)).ask("hi")
    assert isinstance(heard.error, ProviderUnavailable)
    assert str(heard.error).endswith(": no answer within 0.05 s (connect_timeout)")


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


class Closed:
    """A socket that is closed under what is being sent."""

    def sendall(self, data: object) -> None:
        raise OSError("closed")


@pytest.mark.parametrize("size", [10, 1_000_000])
def test_what_was_being_sent_when_it_broke_can_grow_while_the_error_is_kept(size: int) -> None:
    body = bytearray(b"x" * size)
    with pytest.raises(OSError, match="closed") as kept:
        _send(cast(socket.socket, Closed()), b"head", [body])
    body += b"more"
    assert kept.value.__traceback__ is not None
