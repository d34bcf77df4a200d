"""Where a server listens, and under which conditions."""

import socket
import ssl
import subprocess
from contextlib import suppress
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from linnet.errors import ConfigError
from linnet.serve.http import http_server as http_server_module
from linnet.serve.http.guard import Limits
from linnet.serve.http.http_server import HttpOptions, http_server, parsed
from linnet.testing.processes import wait_until
from tests.serve.http.conftest import Serve
from tests.serve.http.over_http import Served


@pytest.mark.parametrize(
    ("address", "where"),
    [
        ("127.0.0.1:80", ("127.0.0.1", 80)),
        ("[::1]:0", ("::1", 0)),
        (":8080", ("127.0.0.1", 8080)),
        ("8080", ("127.0.0.1", 8080)),
        ("localhost:1", ("localhost", 1)),
    ],
)
def test_an_address_is_a_name_and_a_port(address: str, where: tuple[str, int]) -> None:
    assert parsed(address) == where


@pytest.mark.parametrize("address", ["", "localhost", "::1:80", "localhost:70000", "localhost:http", "localhost:-1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="must be HOST:PORT"):
        parsed(address)


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.org:0"])
def test_what_can_be_reached_from_elsewhere_is_encrypted_or_refused(address: str, served: Served) -> None:
    with pytest.raises(ConfigError, match="would be sent in the clear"):
        http_server(served.host, HttpOptions(address=address, state=str(served.state)))


def test_an_address_without_a_name_needs_one(served: Served) -> None:
    with pytest.raises(ConfigError, match="give --host-name"):
        http_server(served.host, HttpOptions(address="0.0.0.0:0", state=str(served.state), behind_proxy=True))


def test_a_port_that_is_taken_is_said_in_a_sentence(served: Served) -> None:
    taken = f"127.0.0.1:{served.server.port}"
    with pytest.raises(ConfigError, match=f"{taken} cannot be listened on"):
        http_server(served.host, HttpOptions(address=taken, state=str(served.state)))


def test_tokens_that_others_know_keep_it_from_starting(serve: Serve, tmp_path: Path) -> None:
    served = serve()
    (served.state / "drive.token").chmod(0o644)
    with pytest.raises(ConfigError, match="may be known to others"):
        http_server(served.host, HttpOptions(state=str(served.state)))


def test_behind_a_proxy_that_encrypts_the_cookie_is_sent_encrypted_only(serve: Serve) -> None:
    drive = serve(behind_proxy=True, host_names=("agents.example",)).client("drive")
    forwarded = {"Host": "agents.example", "X-Forwarded-Proto": "https", "Origin": "https://agents.example"}
    assert "; Secure" in drive.ask("POST", "/v1/cookie", None, forwarded).headers["set-cookie"]


def test_nobody_is_believed_who_says_to_be_a_proxy(serve: Serve) -> None:
    drive = serve(host_names=("agents.example",)).client("drive")
    forwarded = {"Host": "agents.example", "X-Forwarded-Proto": "https", "Origin": "https://agents.example"}
    assert drive.ask("POST", "/v1/cookie", None, forwarded).error == "wrong_origin"


def test_it_speaks_tls_itself(serve: Serve, tmp_path: Path) -> None:
    cert, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "1"]
    subprocess.run([*made, "-subj", "/CN=localhost"], check=True, capture_output=True)

    served = serve(tls_cert=cert, tls_key=key)

    assert served.server.url.startswith("https://127.0.0.1:")
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname = False
    trusting.load_verify_locations(cert)
    connection = HTTPSConnection("127.0.0.1", served.server.port, timeout=60, context=trusting)
    connection.request("POST", "/v1/cookie", None, {"Authorization": f"Bearer {served.token('drive')}"})
    response = connection.getresponse()
    assert response.status == 204
    assert "; Secure" in response.headers["set-cookie"]
    connection.close()


def test_a_certificate_without_its_key_is_refused(served: Served) -> None:
    with pytest.raises(ConfigError, match="go together"):
        http_server(served.host, HttpOptions(state=str(served.state), tls_cert="x"))


@pytest.mark.parametrize("name", ["absent.pem", "words.pem"])
def test_what_is_no_certificate_is_named_in_a_sentence(name: str, served: Served, tmp_path: Path) -> None:
    (tmp_path / "words.pem").write_text("no certificate")
    file = str(tmp_path / name)
    options = HttpOptions(state=str(served.state), tls_cert=file, tls_key=file)
    with pytest.raises(ConfigError, match=f"--tls-cert .*{name} and --tls-key .*{name} are no certificate"):
        http_server(served.host, options)


def test_a_server_that_was_stopped_answers_no_more_and_its_port_is_free(serve: Serve) -> None:
    served = serve()
    served.server.stop()
    with pytest.raises(ConnectionRefusedError):
        served.client("drive").get("/healthz")
    again = http_server(served.host, HttpOptions(address=f"127.0.0.1:{served.server.port}", state=str(served.state)))
    again.begin()
    assert served.client("drive").get("/healthz").body == b"ok"
    again.stop()


def test_answers_that_nobody_reads_keep_nobody_else_out(serve: Serve) -> None:
    served = serve(limits=Limits(requests=1, unread_seconds=2))
    nobody = served.client("nobody")
    request = f"GET /page/conversation.js HTTP/1.1\r\nHost: 127.0.0.1:{served.server.port}\r\n\r\n".encode()
    with socket.socket() as unread:
        unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        unread.connect(("127.0.0.1", served.server.port))
        unread.sendall(request * 700)  # Their answers are more than all buffers between here and there hold.
        wait_until(lambda: nobody.get("/healthz").status == 503)
        wait_until(lambda: nobody.get("/healthz").status == 200)


def test_a_body_that_nobody_waits_for_keeps_no_connection(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server_module, "HEADER_SECONDS", 0.2)
    served = serve()
    with socket.create_connection(("127.0.0.1", served.server.port), 60) as raw:
        head = f"POST /v1/agents HTTP/1.1\r\nHost: 127.0.0.1:{served.server.port}\r\nContent-Length: 1000000\r\n\r\n"
        raw.sendall(head.encode())
        answer = raw.recv(100)
        assert answer.startswith(b"HTTP/1.1 401 ")
        with suppress(ConnectionError):
            while raw.recv(4096):
                raw.sendall(b"x")
