"""The scripted model's side of HTTP: reads requests, writes refusals, and waits such that it notices a hang-up."""

import select
import socket
from typing import TYPE_CHECKING, Any, BinaryIO

from linnet.testing.model_rules import check_anthropic, check_openai
from linnet.testing.model_script import Api, Refusal
from linnet.testing.model_wire import anthropic_refusal, openai_refusal
from linnet.testing.vendors.gemini_rules import check_gemini, model_in
from linnet.testing.vendors.gemini_wire import gemini_refusal
from linnet.testing.vendors.model_responses import check_responses

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
    ends = ("/v1/messages", "/chat/completions", "/responses", ":streamRawPredict")
    if not plain.endswith(ends) and not model_in(path):
        return Refusal(404, "not_found_error", f"there is nothing at {plain}")
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    key = bearer or headers.get("x-api-key", "") or headers.get("api-key", "")
    key = headers.get("x-goog-api-key", key) if api == "google" or plain.endswith(":streamRawPredict") else key
    if not key or key == "bad-key":
        if api == "google" and "authorization" not in headers:
            return Refusal(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid key.", "API_KEY_INVALID")
        return Refusal(401, "authentication_error", "invalid x-api-key", "invalid_api_key")
    if not isinstance(body, dict):
        return Refusal(400, "invalid_request_error", "the body is not a JSON object")
    if api == "google":
        wrong = check_gemini(body, model_in(path) or "")
        return Refusal(400, "INVALID_ARGUMENT", wrong) if wrong else None
    if api == "anthropic" and plain.endswith("/messages") and "anthropic-version" not in headers:
        return Refusal(400, "invalid_request_error", "anthropic-version: header is required")
    check = {"openai": check_openai, "responses": check_responses, "anthropic": check_anthropic}[api]
    wrong = check(body)
    return Refusal(400, "invalid_request_error", wrong) if wrong else None


def refuse(connection: socket.socket, api: Api, refusal: Refusal) -> bool:
    """Send a refusal, and return True: the connection can be used again."""
    written = {"anthropic": anthropic_refusal, "google": gemini_refusal}
    body = written.get(api, openai_refusal)(refusal)
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
