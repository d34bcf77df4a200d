"""The scripted model's side of HTTP: reads requests, writes refusals, and waits such that it notices a hang-up."""

import select
import socket
from typing import TYPE_CHECKING, Any, BinaryIO

from linnet.testing.model_rules import check_anthropic, check_openai
from linnet.testing.model_script import Api, Refusal
from linnet.testing.model_wire import anthropic_refusal, openai_refusal

if TYPE_CHECKING:
    from ssl import SSLContext

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


class Gone(Exception):
    """The client hung up before its answer was complete."""


def tls_of(certificate: str) -> "SSLContext":
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def read_request(stream: BinaryIO) -> tuple[str, str, dict[str, str], bytes] | None:
    """Return method, path, headers by their names in lower case, and body; None if there is no whole request."""
    first = stream.readline(65536)
    if not first.strip():
        return None
    method, _, rest = first.decode("latin-1").partition(" ")
    path, _, version = rest.partition(" ")
    if not version.startswith("HTTP/1."):
        return None
    headers: dict[str, str] = {}
    while line := stream.readline(65536).strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    body = stream.read(length)
    if len(body) < length:
        return None
    return method, path, headers, body


def refusal_of(api: Api, path: str, headers: dict[str, str], body: Any) -> Refusal | None:
    """Return how the vendor would refuse a request; None if it would not."""
    plain = path.partition("?")[0]
    if not plain.endswith(("/v1/messages", "/chat/completions")):
        return Refusal(404, "not_found_error", f"there is nothing at {plain}")
    key = headers.get("authorization", "").removeprefix("Bearer ") or headers.get("x-api-key", "")
    if not key or key == "bad-key":
        return Refusal(401, "authentication_error", "invalid x-api-key", "invalid_api_key")
    if not isinstance(body, dict):
        return Refusal(400, "invalid_request_error", "the body is not a JSON object")
    if api == "anthropic" and "anthropic-version" not in headers:
        return Refusal(400, "invalid_request_error", "anthropic-version: header is required")
    wrong = check_openai(body) if api == "openai" else check_anthropic(body)
    return Refusal(400, "invalid_request_error", wrong) if wrong else None


def refuse(connection: socket.socket, api: Api, refusal: Refusal) -> bool:
    """Send a refusal, and return True: the connection can be used again."""
    body = openai_refusal(refusal) if api == "openai" else anthropic_refusal(refusal)
    connection.sendall(head(refusal.status, len(body), refusal.retry_after) + body)
    return True


def head(status: int, length: int, retry_after: str | None = None) -> bytes:
    """Return the head of a response whose body is JSON of this length."""
    wait = f"Retry-After: {retry_after}\r\n" if retry_after else ""
    reason = _REASONS.get(status, "Scripted")
    return (
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: application/json\r\n{wait}Content-Length: {length}\r\n\r\n"
    ).encode()


def wait(connection: socket.socket, seconds: float | None, ear: socket.socket | None = None) -> None:
    """Wait until the time is over, or there is something to read from `ear`. Raises Gone if the client hangs up."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    if ear is not None:
        poll.register(ear, select.POLLIN)
    ready = {number for number, _ in poll.poll(None if seconds is None else seconds * 1000)}
    if connection.fileno() in ready:
        raise Gone
