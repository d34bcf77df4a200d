"""A connection that died while it was kept is replaced, however and whenever it died, and nothing is asked twice of a
server that had begun to answer.
"""

import errno
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from threading import Event

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.errors import ProviderUnavailable
from linnet.providers.http import exchange
from linnet.providers.http.call import HttpCall
from linnet.providers.http.client import HttpClient, Timeouts
from linnet.providers.http.exchange import Broken, Connection
from linnet.testing.agent import Agent
from linnet.testing.model_server import ModelServer
from tests.providers.raw import TLS, Handler, Proxy, RawServer, answers, request_of, sized

SMALL, LARGE = b"{}", bytes(5_000_000)
Open = Callable[..., HttpClient]


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def after_the_first(then: Callable[[socket.socket], None]) -> Handler:
    """Answers one request, then does what it is told."""

    def handle(connection: socket.socket) -> None:
        answers(sized(b"one"))(connection)
        then(connection)

    return handle


def resets_after(count: int) -> Callable[[socket.socket], None]:
    def then(connection: socket.socket) -> None:
        heard = 0
        while heard < count:
            heard += len(connection.recv(min(65536, count - heard)))
        reset(connection)

    return then


def closes_after_all(connection: socket.socket) -> None:
    assert request_of(connection)


def tires_of_waiting(connection: socket.socket) -> None:
    assert request_of(connection)
    connection.sendall(sized(b"", "408 Request Timeout", more="Connection: close\r\n"))


IDLE = {"it closes": socket.socket.close, "it resets": reset}
BUSY = {
    "it resets at the first byte": resets_after(1),
    "it closes without an answer": closes_after_all,
    "it tires of waiting": tires_of_waiting,
}


@pytest.fixture(params=["http", "https", "http through a proxy", "https through a proxy"])
def opened(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens a client of a server with these handlers, each way there is."""
    secure, proxied = request.param.startswith("https"), request.param.endswith("proxy")
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "ca.pem"))
    with ExitStack() as stack:

        def open_(*handlers: Handler) -> HttpClient:
            server = RawServer(*handlers, secure=secure)
            stack.callback(server.close)
            url = server.url
            if proxied:
                proxy = Proxy(server.port)
                stack.callback(proxy.close)
                monkeypatch.setenv("ALL_PROXY", f"http://{proxy.address}")
                url = "https://model.test" if secure else "http://model.test"
            client = HttpClient("acme", url, timeouts=Timeouts(connect=10, idle=10))
            stack.callback(client.close)
            return client

        yield open_


def ask(client: HttpClient, body: bytes) -> bytes:
    reply = client.post(HttpCall("/v1/x", body=(body,)), CancelToken())
    pieces = list(iter(reply.read, b""))
    reply.release()
    return b"".join(pieces)


def hears(bodies: list[bytes]) -> Handler:
    def handle(connection: socket.socket) -> None:
        bodies.append(request_of(connection).partition(b"\r\n\r\n")[2])
        connection.sendall(sized(b"two"))

    return handle


@pytest.mark.parametrize("body", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("death", IDLE)
def test_one_that_dies_before_it_is_asked_is_replaced(opened: Open, death: str, body: bytes) -> None:
    read, done = Event(), Event()
    bodies: list[bytes] = []

    def dies(connection: socket.socket) -> None:
        assert read.wait(10)  # A reset would take back what was not read.
        IDLE[death](connection)
        done.set()

    client = opened(after_the_first(dies), hears(bodies))
    assert ask(client, body) == b"one"
    read.set()
    assert done.wait(10)
    assert ask(client, body) == b"two"
    assert bodies == [body]


@pytest.mark.parametrize("body", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("death", BUSY)
def test_one_that_dies_while_it_is_asked_is_replaced(opened: Open, death: str, body: bytes) -> None:
    bodies: list[bytes] = []
    client = opened(after_the_first(BUSY[death]), hears(bodies))
    assert ask(client, body) == b"one"
    assert ask(client, body) == b"two"
    assert bodies == [body]


def test_one_that_dies_in_the_middle_of_a_body_is_replaced(opened: Open) -> None:
    bodies: list[bytes] = []
    client = opened(after_the_first(resets_after(1_000_000)), hears(bodies))
    assert ask(client, SMALL) == b"one"
    assert ask(client, LARGE) == b"two"
    assert bodies == [LARGE]


@pytest.mark.parametrize("begun", [b"HT", b"HTTP/1.1 200 OK\r\nConte", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_a_server_that_had_begun_to_answer_is_not_asked_again(opened: Open, begun: bytes) -> None:
    def begins(connection: socket.socket) -> None:
        assert request_of(connection)
        connection.sendall(begun)

    client = opened(after_the_first(begins))
    assert ask(client, SMALL) == b"one"
    with pytest.raises(ProviderUnavailable, match="stopped within the head"):
        ask(client, SMALL)


class Played(socket.socket):
    """A socket on which pieces arrive, and then a reset. A real one may take back the pieces with the reset."""

    def __init__(self, *pieces: bytes) -> None:
        super().__init__()
        self.pieces = list(pieces)

    def sendall(self, data: object, flags: int = 0) -> None: ...

    def recv(self, size: int, flags: int = 0) -> bytes:
        if not self.pieces:
            raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
        return self.pieces.pop(0)


@pytest.mark.parametrize(
    ("pieces", "failure"),
    [
        ([], ConnectionResetError),
        ([b"HT"], Broken),
        ([b"HTTP/1.1 100 Continue\r\n\r\n"], Broken),
    ],
)
def test_a_reset_is_told_apart_by_whether_an_answer_had_begun(pieces: list[bytes], failure: type[Exception]) -> None:
    with Played(*pieces) as sock, pytest.raises(failure):
        exchange.ask(Connection(sock), b"x", (), 1.0)


def test_one_that_a_router_has_forgotten_is_given_up_and_replaced() -> None:
    """Nobody tells the client; here, because nobody reads what it sends."""
    over = Event()

    def forgets(connection: socket.socket) -> None:
        assert over.wait(20)

    server = RawServer(after_the_first(forgets))
    other = RawServer(answers(sized(b"two")))
    client = HttpClient("acme", server.url, timeouts=Timeouts(connect=0.3, idle=20))
    try:
        assert ask(client, SMALL) == b"one"
        client.url = HttpClient("acme", other.url).url  # The server behind the router is one and the same.
        assert ask(client, LARGE) == b"two"
    finally:
        over.set()
        client.close()
        server.close()
        other.close()


def test_two_connections_are_kept_where_requests_overlap_and_the_third_is_closed() -> None:
    closed = Event()

    def third(connection: socket.socket) -> None:
        answers(sized(b"one"))(connection)
        assert connection.recv(1) == b""
        closed.set()

    servers = [RawServer(answers(sized(b"one"), sized(b"two"))) for _ in range(2)]
    servers.append(RawServer(third))
    client = HttpClient("acme", servers[0].url)
    try:
        replies = []
        for server in (servers[2], *servers[:2]):
            client.url = HttpClient("acme", server.url).url
            replies.append(client.post(HttpCall("/"), CancelToken()))
        for reply in replies:
            assert reply.read() == b"one"
            reply.release()
        assert closed.wait(10)
        replies = [client.post(HttpCall("/"), CancelToken()) for _ in range(2)]
        assert [reply.read() for reply in replies] == [b"two", b"two"]
        for reply in replies:
            reply.release()
    finally:
        client.close()
        for server in servers:
            server.close()


def test_a_run_of_fifty_steps_uses_one_connection(zot: Callable[..., Agent], server: ModelServer) -> None:
    agent = zot()
    frames = agent.prompt('!loop 49 bash {"command":"true"}')
    assert frames[-1]["type"] == "done"
    assert len(server.requests) == 50
    agent.prompt("hello")
    assert len(server.requests) == 51
    assert server.connections == 1
