"""A host with several addresses is reached by the first of them that works."""

import socket
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.errors import Cancelled, ProviderRejected, ProviderUnavailable
from linnet.providers.http.client import Timeouts
from linnet.providers.http.dial import dial
from linnet.providers.http.urls import parse
from linnet.testing.model_server import ModelServer
from tests.providers.raw import TLS, Proxy, RawServer
from tests.suite.hosts import deaf_host, mute_host

if TYPE_CHECKING:
    from tests.providers.conftest import Talk

Resolve = Callable[..., None]
V4, V6 = socket.AF_INET, socket.AF_INET6
LONG = Timeouts(connect=6)


def at(port: int, family: int = V4) -> tuple[Any, ...]:
    address = ("127.0.0.1", port) if family == V4 else ("::1", port, 0, 0)
    return family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address


@pytest.fixture
def resolve(monkeypatch: pytest.MonkeyPatch) -> Resolve:
    """Lets every name have these addresses."""

    def set_(*addresses: tuple[Any, ...]) -> None:
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: list(addresses))

    return set_


@pytest.fixture
def refusing() -> Any:
    """A port that refuses connections, for as long as the test runs."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def test_an_address_that_never_answers_does_not_keep_others_waiting(
    talk: "Talk", server: ModelServer, resolve: Resolve
) -> None:
    """Whoever gives each address the time that is left would never come to the fourth."""
    with deaf_host() as first, deaf_host() as second, deaf_host() as third:
        resolve(at(first), at(second), at(third), at(server.port))
        assert talk(url="http://model.test", timeouts=LONG).ask("hi").stop == "end"
    assert server.connections == 1


def test_an_address_that_answers_late_still_wins_over_those_that_do_not(
    talk: "Talk", server: ModelServer, resolve: Resolve, refusing: int
) -> None:
    with deaf_host() as deaf:
        resolve(at(deaf), at(refusing), at(server.port), at(deaf))
        assert talk(url="http://model.test", timeouts=LONG).ask("hi").stop == "end"


@pytest.mark.parametrize("failure", ["no such family", "no such address", "nobody there"])
def test_a_machine_without_ipv6_uses_ipv4(talk: "Talk", server: ModelServer, resolve: Resolve, failure: str) -> None:
    place = at(1, V6)
    if failure == "no such family":
        place = (12345, *place[1:])
    elif failure == "no such address":
        place = (V6, *place[1:4], ("2001:db8::1", 1, 0, 0))
    resolve(place, at(server.port))
    assert talk(url="http://model.test", timeouts=LONG).ask("hi").stop == "end"


def test_the_two_families_take_turns(resolve: Resolve, monkeypatch: pytest.MonkeyPatch, refusing: int) -> None:
    tried: list[tuple[int, int]] = []

    class Noting(socket.socket):
        def connect_ex(self, address: Any) -> int:
            tried.append((self.family, address[1]))
            return super().connect_ex(address)

    resolve(at(1, V6), at(2, V6), at(3, V6), at(refusing), at(5))
    monkeypatch.setattr(socket, "socket", Noting)
    with pytest.raises(ProviderUnavailable, match="connection refused"):
        dial("acme", parse("http://model.test"), None, 20.0, CancelToken())
    assert tried == [(V6, 1), (V4, refusing), (V6, 2), (V4, 5), (V6, 3)]


def test_an_error_is_that_of_a_server_and_not_of_a_missing_route(resolve: Resolve, refusing: int) -> None:
    resolve(at(refusing), (12345, *at(1)[1:]))
    with pytest.raises(ProviderUnavailable, match=r"model\.test:80: connection refused$"):
        dial("acme", parse("http://model.test"), None, 20.0, CancelToken())


def test_where_none_answers_the_deadline_is_for_all_of_them(resolve: Resolve) -> None:
    with deaf_host() as first, deaf_host() as second:
        resolve(at(first), at(second))
        with pytest.raises(ProviderUnavailable, match=r"no answer within 0\.4 s \(connect_timeout\)"):
            dial("acme", parse("http://model.test"), None, 0.4, CancelToken())


def test_an_abort_ends_every_attempt(talk: "Talk", resolve: Resolve) -> None:
    with deaf_host() as first, mute_host() as (listener, port):
        resolve(at(first), at(port))
        asking = talk(url="https://model.test", timeouts=LONG).start("hi")
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1)  # One has answered, and TLS is being agreed on; the other is forgotten.
            assert isinstance(asking.abort().error, Cancelled)
            while connection.recv(65536):
                pass


def hangs_up(connection: socket.socket) -> None:
    connection.recv(1)


@pytest.mark.parametrize("through_proxy", [False, True])
def test_an_address_that_fails_in_the_tls_handshake_is_not_the_last(
    talk: "Talk", resolve: Resolve, monkeypatch: pytest.MonkeyPatch, through_proxy: bool
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "ca.pem"))
    with ExitStack() as stack:
        server = stack.enter_context(ModelServer(certificate=str(TLS / "server.pem")))
        broken = RawServer(hangs_up)
        stack.callback(broken.close)
        good = server.port
        if through_proxy:
            proxy = Proxy(server.port)
            stack.callback(proxy.close)
            good = int(proxy.address.rpartition(":")[2])
            monkeypatch.setenv("HTTPS_PROXY", "http://proxy.test:3128")
            monkeypatch.setattr(socket, "create_connection", connected)
        resolve(at(broken.port), at(good))
        conversation = talk(url="https://model.test", timeouts=LONG)
        assert conversation.ask("hi").stop == "end"
        conversation.provider.close()


def connected(place: tuple[str, int]) -> socket.socket:
    """What `create_connection` does, without looking up a name."""
    sock = socket.socket()
    sock.connect(place)
    return sock


def test_an_address_that_is_silent_in_the_tls_handshake_leaves_time_for_the_next(
    talk: "Talk", resolve: Resolve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "ca.pem"))
    with ModelServer(certificate=str(TLS / "server.pem")) as server, mute_host() as (_, mute):
        resolve(at(mute), at(server.port))
        assert talk(url="https://model.test", timeouts=Timeouts(connect=4)).ask("hi").stop == "end"


def test_of_several_failures_that_of_a_certificate_is_told(talk: "Talk", resolve: Resolve, refusing: int) -> None:
    with ModelServer(certificate=str(TLS / "server.pem")) as server:
        resolve(at(refusing), at(server.port), at(refusing))
        error = talk(url="https://model.test", timeouts=LONG).ask("hi").error
    assert isinstance(error, ProviderRejected)
    assert "could not trust model.test:443" in str(error)
