"""Servers that must be trusted, and proxies that must be passed."""

import socket
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from linnet.errors import Cancelled, ProviderRejected, ProviderUnavailable
from linnet.testing.model_server import ModelServer
from tests.providers.raw import TLS, Proxy

if TYPE_CHECKING:
    from tests.providers.conftest import Talk


@pytest.fixture
def secure() -> Iterator[ModelServer]:
    with ModelServer(certificate=str(TLS / "server.pem")) as server:
        yield server


@pytest.fixture
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "ca.pem"))


@pytest.mark.usefixtures("trusted")
def test_a_server_with_a_trusted_certificate_is_spoken_to(talk: "Talk", secure: ModelServer) -> None:
    conversation = talk(url=secure.url)
    assert conversation.ask("!text 5000").text.endswith("w4999 ")
    assert conversation.ask("!split").stop == "tool_use"
    assert secure.connections == 1


@pytest.mark.usefixtures("trusted")
def test_an_abort_reaches_an_encrypted_stream(talk: "Talk", secure: ModelServer) -> None:
    asking = talk(url=secure.url).start("!gate never")
    asking.begun.wait(10)
    assert isinstance(asking.abort().error, Cancelled)
    secure.wait_for(disconnects=1)


def test_a_certificate_that_nobody_vouches_for_is_rejected(talk: "Talk", secure: ModelServer) -> None:
    error = talk(url=secure.url, attempts=4).ask("hi").error
    assert isinstance(error, ProviderRejected)
    assert str(error).startswith(f"anthropic: could not trust 127.0.0.1:{secure.port}: ")
    assert not secure.requests


@pytest.mark.parametrize(
    ("variable", "name", "why"),
    [
        ("SSL_CERT_FILE", "missing.pem", "is not there"),
        ("SSL_CERT_FILE", "empty.pem", "has no certificates that can be read"),
        ("SSL_CERT_DIR", "empty.pem", "is no folder"),
    ],
)
def test_certificates_that_cannot_be_read_are_named_and_not_passed_over(
    talk: "Talk",
    secure: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    variable: str,
    name: str,
    why: str,
) -> None:
    (tmp_path / "empty.pem").touch()
    monkeypatch.setenv(variable, str(tmp_path / name))
    conversation = talk(url=secure.url, attempts=4)
    conversation.provider.warm()
    error = conversation.ask("hi").error
    assert isinstance(error, ProviderRejected)
    assert f"{variable} names {tmp_path / name}, which {why}" in str(error)
    assert not secure.requests


@pytest.mark.usefixtures("trusted")
def test_a_certificate_for_another_name_is_rejected(
    talk: "Talk", secure: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", secure.port))]
    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", lambda *_, **__: place)
        error = talk(url=f"https://other.test:{secure.port}").ask("hi").error
    assert isinstance(error, ProviderRejected)
    assert "other.test" in str(error)


def test_a_server_without_tls_is_reported(talk: "Talk", server: ModelServer) -> None:
    error = talk(url=server.url.replace("http:", "https:")).ask("hi").error
    assert isinstance(error, ProviderUnavailable)
    assert "could not connect" in str(error)


@pytest.fixture
def proxies() -> Iterator[list[Proxy]]:
    started: list[Proxy] = []
    yield started
    for proxy in started:
        proxy.close()


@pytest.mark.usefixtures("trusted")
def test_https_goes_through_a_tunnel(
    talk: "Talk", secure: ModelServer, proxies: list[Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxies.append(proxy := Proxy(secure.port))
    monkeypatch.setenv("HTTPS_PROXY", f"http://us%65r:p%40ss@{proxy.address}")
    conversation = talk(url="https://model.test")
    assert conversation.ask("!text 1000").stop == "end"
    assert conversation.ask("hi").stop == "end"
    conversation.provider.close()
    (head,) = proxy.heads
    assert head.startswith("CONNECT model.test:443 HTTP/1.1\r\nHost: model.test:443")
    assert f"Proxy-Authorization: Basic {b64encode(b'user:p@ss').decode()}" in head
    assert "test-key" not in head
    assert "proxy-authorization" not in secure.requests[0].headers


def test_http_is_asked_of_the_proxy_by_its_whole_url(
    talk: "Talk", server: ModelServer, proxies: list[Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxies.append(proxy := Proxy(server.port))
    monkeypatch.setenv("http_proxy", f"user:pass@{proxy.address}")
    conversation = talk(url="http://model.test:8080/base")
    assert conversation.ask("hi").stop == "end"
    conversation.provider.close()
    head = proxy.heads[0]
    assert head.startswith("POST http://model.test:8080/base/v1/messages HTTP/1.1\r\nHost: model.test:8080\r\n")
    assert "Proxy-Authorization: Basic dXNlcjpwYXNz" in head


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", ProviderRejected),
        (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", ProviderUnavailable),
        (b"HTTP/1.1 200", ProviderUnavailable),
        (b"nonsense\r\n\r\n", ProviderRejected),
    ],
)
def test_a_proxy_that_refuses_is_reported(
    talk: "Talk", proxies: list[Proxy], monkeypatch: pytest.MonkeyPatch, answer: bytes, kind: type[Exception]
) -> None:
    proxies.append(proxy := Proxy(0, answer))
    monkeypatch.setenv("ALL_PROXY", f"http://{proxy.address}")
    error = talk(url="https://model.test").ask("hi").error
    assert type(error) is kind
    assert f"could not connect to the proxy {proxy.address} (see HTTPS_PROXY and its like): " in str(error)


@pytest.mark.parametrize("url", ["https://model.test", "http://model.test"])
def test_a_proxy_that_is_down_is_named_as_a_proxy(talk: "Talk", monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{port}")
    error = talk(url=url).ask("hi").error
    assert isinstance(error, ProviderUnavailable)
    place = f"the proxy 127.0.0.1:{port} (see HTTPS_PROXY and its like)"
    assert str(error) == f"anthropic: could not connect to {place}: connection refused"


def test_a_server_behind_a_proxy_that_is_not_trusted_is_named_with_it(
    talk: "Talk", secure: ModelServer, proxies: list[Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    proxies.append(proxy := Proxy(secure.port))
    monkeypatch.setenv("ALL_PROXY", f"http://{proxy.address}")
    error = talk(url="https://other.test").ask("hi").error
    assert isinstance(error, ProviderRejected)
    assert f"could not trust other.test:443, through the proxy {proxy.address}: " in str(error)


def test_a_proxy_that_cannot_be_used_is_not_gone_around(talk: "Talk", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    assert isinstance(talk(url="http://model.test").ask("hi").error, ProviderRejected)


def test_a_server_on_this_machine_needs_no_proxy(talk: "Talk", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert talk().ask("hi").stop == "end"
