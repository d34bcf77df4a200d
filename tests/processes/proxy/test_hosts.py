"""Which hosts may be reached, and at which addresses."""

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.errors import ConfigError
from linnet.processes.proxy.hosts import is_public, normal, parsed
from linnet.processes.proxy.request import END, ProxyRefused, answer
from linnet.processes.proxy.request import parsed as request


@pytest.mark.parametrize(
    ("words", "host", "port", "named"),
    [
        ("github.com", "github.com", 443, True),
        ("github.com", "GitHub.COM.", 80, True),
        ("github.com", "api.github.com", 443, False),
        ("github.com", "notgithub.com", 443, False),
        ("github.com", "github.com.evil.org", 443, False),
        ("*.example.org", "a.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 443, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "badexample.org", 443, False),
        ("github.com:443", "github.com", 443, True),
        ("github.com:443", "github.com", 22, False),
        ("127.0.0.1", "127.0.0.1", 8080, True),
        ("127.0.0.1", "[::ffff:127.0.0.1]", 8080, True),
        ("127.0.0.1", "127.0.0.2", 8080, False),
        ("127.0.0.1:80", "127.0.0.1", 8080, False),
        ("127.0.0.1", "localhost", 80, False),
        ("localhost", "localhost", 80, True),
        ("localhost", "127.0.0.1", 80, True),
        ("*.localhost", "127.0.0.1", 80, False),
        ("[::1]", "::1", 80, True),
        ("[::1]:81", "[::1]", 80, False),
        ("10.0.0.0/8", "10.1.2.3", 80, True),
        ("10.0.0.0/8", "11.1.2.3", 80, False),
        ("a.org,b.org", "b.org", 80, True),
        ("bücher.example", "xn--bcher-kva.example", 443, True),
        ("github.com", "2130706433", 80, False),
        ("github.com", "0x7f.1", 80, False),
    ],
)
def test_a_host_is_named_or_not(words: str, host: str, port: int, named: bool) -> None:
    assert parsed(words.split(",")).names(normal(host) or "", port) is named


@pytest.mark.parametrize(
    "word",
    [
        "", "*", "*.", "a b", "http://github.com", "github.com/x", "git*hub.com", "a..b", "-a.org", "127.1",
        "1.2.3.4.5", "[::1]:0", "github.com:0", "github.com:99999", "github.com:x", "10.0.0.1/8", "0.0.0.0/0",
        "::/0", "user@github.com",
        "a,b", "*.*.org", "\n",
    ],
)  # fmt: skip
def test_what_is_no_host_is_refused_in_words(word: str) -> None:
    with pytest.raises(ConfigError, match=r"--sandbox-hosts (takes names such as|is for hosts by name)"):
        parsed([word])
    with pytest.raises(ConfigError, match="names no host"):
        parsed([])


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.255.0.3", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1", "198.18.0.1", "::", "::1", "fe80::1", "fc00::1",
        "fd00:ec2::254", "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
        "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::1", "2001:db8::1", "::127.0.0.1",
    ],
)  # fmt: skip
def test_addresses_of_this_machine_and_of_private_networks(address: str) -> None:
    assert not is_public(ip_address(address))
    hosts = parsed(["github.com", "*.org"])
    assert not hosts.names(normal(address) or "", 80)
    assert not hosts.has_address(ip_address(address), 80)


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "140.82.121.3", "2606:50c0:8000::153", "::ffff:8.8.8.8", "2002:808:808::1"]
)
def test_addresses_of_everybody(address: str) -> None:
    assert is_public(ip_address(address))


@given(st.ip_addresses())
def test_every_address_has_one_spelling(address: object) -> None:
    found = normal(str(address))
    assert found is not None
    assert normal(found) == found
    assert parsed([found]).names(found, 1)


# Requests


@pytest.mark.parametrize(
    ("head", "host", "port", "sent"),
    [
        ("CONNECT github.com:443 HTTP/1.1\r\nHost: evil.org", "github.com", 443, ""),
        ("CONNECT [::1]:22 HTTP/1.1", "::1", 22, ""),
        (
            "GET http://A.org/x?y=http://b/ HTTP/1.1\r\nHost: evil.org\r\nA: b", "a.org", 80,
            "GET /x?y=http://b/ HTTP/1.1\r\nHost: a.org\r\nA: b\r\n",
        ),
        (
            "GET http://a.org HTTP/1.0\r\nProxy-Authorization: x\r\nProxy-Connection: keep-alive", "a.org", 80,
            "GET / HTTP/1.0\r\nHost: a.org\r\n",
        ),
        (
            "POST http://u:p@a.org:81/ HTTP/1.1\r\nConnection: keep-alive", "a.org", 81,
            "POST / HTTP/1.1\r\nHost: a.org:81\r\n",
        ),
        ("GET http://[::1]:8/ HTTP/1.1", "::1", 8, "GET / HTTP/1.1\r\nHost: [::1]:8\r\n"),
    ],
)  # fmt: skip
def test_what_is_asked_for(head: str, host: str, port: int, sent: str) -> None:
    found = request(head.encode() + END)
    assert (found.host, found.port, found.tunnel) == (host, port, not sent)
    assert found.head.decode() == (f"{sent}Connection: close\r\n\r\n" if sent else "")


@pytest.mark.parametrize(
    "head",
    [
        "", "GET", "GET / HTTP/1.1", "GET https://a.org/ HTTP/1.1", "CONNECT a.org HTTP/1.1",
        "CONNECT a.org:0 HTTP/1.1", "CONNECT a.org:99999 HTTP/1.1", "CONNECT http://a.org:80 HTTP/1.1",
        "GET http:/// HTTP/1.1",
        "GET http://a b/ HTTP/1.1",
        "GET http://a.org/ HTTP/2", "GET  http://a.org/ HTTP/1.1", "GET http://a.org/ HTTP/1.1\r\nA: b\r\n c", "\0",
        "CONNECT a.org%00.b.org:80 HTTP/1.1",
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused(head: str) -> None:
    with pytest.raises(ProxyRefused) as refused:
        request(head.encode() + END)
    assert refused.value.status == 400


@given(st.binary(max_size=200))
def test_anything_is_a_request_or_refused(data: bytes) -> None:
    refused: ProxyRefused | None = None
    try:
        found = request(data.replace(END, b"") + END)
    except ProxyRefused as error:
        refused = error
    else:
        assert normal(found.host) == found.host
    assert refused is None or answer(refused.status, str(refused)).startswith(b"HTTP/1.1 400 Bad Request\r\n")
