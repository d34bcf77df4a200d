"""Parses what a program asks an HTTP proxy for, and makes what the server behind it is sent. Pure."""

import re

from msgspec import Struct

from linnet.processes.proxy.hosts import normal

MOST_HEAD = 64 * 1024
END = b"\r\n\r\n"
# What is between two neighbours, and not for whoever comes after them.
_OURS = frozenset(
    (b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"host", b"te", b"upgrade")
)
_TARGET = re.compile(r"(?:[^@/]*@)?(\[[0-9a-fA-F:.]+\]|[^\[\]:/]+)(?::([0-9]{1,5}))?")


class ProxyRefused(Exception):
    """A request that is not fulfilled, with a status and a sentence for whoever asked."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class ProxyRequest(Struct, frozen=True):
    """Where a program wants to be connected to."""

    host: str
    port: int
    tunnel: bool  # Whether it was CONNECT: what follows is passed on as it is.
    head: bytes = b""  # What the server is sent first, if it was not.


def parsed(head: bytes) -> ProxyRequest:
    """Return what is asked for by a head, which ends with the empty line. Raises ProxyRefused."""
    first, *fields = head.removesuffix(END).split(b"\r\n")
    words = first.decode("latin-1").split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise ProxyRefused(400, "this is no request to a proxy")
    method, target, version = words
    if method == "CONNECT":
        host, port = _place(target, None)
        return ProxyRequest(host, port, tunnel=True)
    if not target.lower().startswith("http://"):
        raise ProxyRefused(400, "a proxy is asked for http://…, or to CONNECT")
    place, slash, path = target[len("http://") :].partition("/")
    host, port = _place(place, 80)
    shown = f"[{host}]" if ":" in host else host
    kept = [field for field in fields if field.partition(b":")[0].strip().lower() not in _OURS]
    if any(field[:1] in b" \t" for field in kept):
        raise ProxyRefused(400, "a header goes on in the next line, which is not done any more")
    lines = [
        f"{method} {slash or '/'}{path} {version}".encode("latin-1"),
        f"Host: {shown}{'' if port == 80 else f':{port}'}".encode(),
        *kept,
        b"Connection: close",
    ]
    return ProxyRequest(host, port, tunnel=False, head=b"\r\n".join(lines) + END)


def _place(text: str, default: int | None) -> tuple[str, int]:
    """Return host and port. Raises ProxyRefused."""
    found = _TARGET.fullmatch(text)
    host = normal(found[1]) if found else None
    port = int(found[2]) if found and found[2] else default
    if host is None or port is None or not 0 < port < 65536:
        raise ProxyRefused(400, "the host that is asked for has no proper name, or no port")
    return host, port


def answer(status: int, words: str) -> bytes:
    """Return the HTTP response that refuses a request."""
    reason = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway", 503: "Service Unavailable"}[status]
    body = f"linnet: {words}\n".encode()
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body
