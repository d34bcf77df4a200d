"""What stands before every request: names, origins, sizes, numbers."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from linnet.serve.http.guard import SLOT, Guard, Limits, route_path

POLICY = "default-src 'self'"


class Answer:
    """What came back: a status, headers, a body."""

    def __init__(self, messages: list[Message]) -> None:
        self.status = messages[0]["status"]
        self.headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
        self.body = b"".join(message.get("body", b"") for message in messages[1:])


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that returns what it was sent."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def asked(guard: Guard, headers: dict[str, str], bodies: Sequence[bytes] = (b"",), **scope: Any) -> Answer:
    """Return the answer to a request whose body comes in these pieces; then nothing more comes, and no end."""
    pieces = [{"type": "http.request", "body": each, "more_body": True} for each in bodies]
    pieces[-1]["more_body"] = scope.pop("endless", False)
    sent: list[Message] = []

    async def receive() -> Message:
        if not pieces:
            await asyncio.Event().wait()
        return pieces.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    spelled = [(name.encode(), value.encode()) for name, value in headers.items()]
    whole = {"type": "http", "method": "GET", "path": "/v1/agents", "scheme": "http", "headers": spelled, **scope}
    await guard(whole, receive, send)
    return Answer(sent)


def guard(**options: Any) -> Guard:
    return Guard(echo, **{"policy": POLICY, "limits": Limits(), **options})


def status(headers: dict[str, str], options: dict[str, Any] | None = None, **scope: Any) -> int:
    return int(asyncio.run(asked(guard(**options or {}), headers, **scope)).status)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "[::1]", "[::1]:8080"])
def test_names_of_this_machine_are_served(host: str) -> None:
    assert status({"host": host}) == 200


@pytest.mark.parametrize(
    "host", ["", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "localhost:x", "::1", "[::1]x"]
)
def test_other_names_are_not_served_on_any_path(host: str) -> None:
    assert {status({"host": host}, path=path) for path in ("/", "/healthz", "/v1/agents", "/page/x")} == {421}


def test_without_a_name_nothing_is_served() -> None:
    assert status({}) == 421


def test_a_name_with_a_port_is_served_on_that_port_only() -> None:
    options = {"host_names": ("localhost:8080", "agents.example:443")}
    assert status({"host": "localhost:8080"}, options) == 200
    assert status({"host": "localhost:8081"}, options) == 421
    assert status({"host": "agents.example"}, options, scheme="https") == 200
    assert status({"host": "agents.example"}, options, scheme="http") == 421


def test_somebody_else_may_check_the_names() -> None:
    assert status({"host": "any.example"}, {"host_names": None}) == 200


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126)))
def test_no_name_but_those_of_the_list_is_served(host: str) -> None:
    name = host.lower().rpartition(":")[0] if host.rpartition(":")[2].isdecimal() and ":" in host else host.lower()
    assert (status({"host": host}) == 200) == (name in ("localhost", "127.0.0.1", "[::1]"))


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize(
    "origin",
    ["null", "http://evil.example", "http://localhost:9999", "https://localhost:8080", "http://localhost", "file://"],
)
def test_pages_of_other_origins_are_refused(method: str, origin: str) -> None:
    assert status({"host": "localhost:8080", "origin": origin}, method=method) == 403


def test_a_page_of_the_same_origin_is_served() -> None:
    headers = {"host": "localhost:8080", "origin": "http://localhost:8080", "sec-fetch-site": "same-origin"}
    assert status(headers, method="POST") == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_what_a_browser_says_comes_from_another_site_reaches_no_data(site: str) -> None:
    headers = {"host": "localhost", "sec-fetch-site": site}
    assert {status(headers, path=path) for path in ("/v1/agents", "/metrics")} == {403}
    assert status(headers, path="/") == 200  # A link that leads to the page.


def test_a_page_of_a_listed_origin_may_read_and_needs_a_token_of_its_own() -> None:
    listed = guard(origins=("https://chat.example",))
    headers = {"host": "localhost", "origin": "https://chat.example", "sec-fetch-site": "cross-site"}

    answer = asyncio.run(asked(listed, headers))
    asked_first = asyncio.run(asked(listed, headers, method="OPTIONS"))

    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, "https://chat.example")
    assert "access-control-allow-credentials" not in answer.headers
    assert (asked_first.status, "authorization" in asked_first.headers["access-control-allow-headers"]) == (204, True)


def test_a_page_of_a_listed_origin_acts_by_its_token_and_never_by_the_users_cookie() -> None:
    seen: list[tuple[bytes, bytes]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend(scope["headers"])
        await Response(headers={"set-cookie": "linnet=x"})(scope, receive, send)

    listed = Guard(app, policy="p", limits=Limits(), origins=("http://localhost:3000", "https://own.example"))
    headers = {"host": "localhost:8080", "cookie": "linnet=x"}
    other = {**headers, "origin": "http://localhost:3000", "sec-fetch-site": "same-site"}
    answer = asyncio.run(asked(listed, other, method="POST"))
    assert (answer.status, "set-cookie" in answer.headers) == (200, False)
    assert b"cookie" not in dict(seen)

    behind_a_proxy = {**headers, "origin": "https://own.example", "sec-fetch-site": "same-origin"}
    answer = asyncio.run(asked(listed, behind_a_proxy, method="POST"))
    assert (answer.status, answer.headers["set-cookie"]) == (200, "linnet=x")
    assert dict(seen)[b"cookie"] == b"linnet=x"


def test_a_body_is_bounded_whatever_its_headers_say() -> None:
    small = guard(limits=Limits(body=10))
    host = {"host": "localhost"}

    said = asyncio.run(asked(small, {**host, "content-length": "11"}, [b"x" * 11]))
    chunked = asyncio.run(asked(small, host, [b"xxxxxx", b"xxxxx"], endless=True))
    fits = asyncio.run(asked(small, {**host, "content-length": "10"}, [b"x" * 10]))

    assert [said.status, chunked.status, fits.status] == [413, 413, 200]
    assert b'"too_large"' in said.body
    assert b'"too_large"' in chunked.body
    assert status({**host, "content-length": "-1"}) == status({**host, "content-length": "x"}) == 413


def test_a_body_that_does_not_end_is_not_waited_for() -> None:
    answer = asyncio.run(asked(guard(limits=Limits(body_seconds=0.01)), {"host": "localhost"}, endless=True))
    assert (answer.status, b'"too_slow"' in answer.body) == (408, True)


def test_requests_in_flight_are_bounded_and_a_slot_is_given_back_once() -> None:
    async def story() -> list[int]:
        async def nested(scope: Scope, receive: Receive, send: Send) -> None:
            inner.append((await asked(full, {"host": "localhost"})).status)
            scope[SLOT]()
            scope[SLOT]()
            inner.append(full.slots.taken)
            await echo(scope, receive, send)

        inner: list[int] = []
        full = Guard(nested, policy=POLICY, limits=Limits(requests=1))
        inner.append((await asked(full, {"host": "localhost"})).status)
        return [*inner, full.slots.taken]

    assert asyncio.run(story()) == [503, 0, 200, 0]


def test_every_answer_has_the_headers_that_keep_browsers_from_guessing() -> None:
    for headers in ({"host": "localhost"}, {"host": "evil.example"}):
        answer = asyncio.run(asked(guard(), headers))
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"


@pytest.mark.parametrize(
    ("path", "root", "below"),
    [("/v1/x", "", "/v1/x"), ("/a/v1/x", "/a", "/v1/x"), ("/ab/v1", "/a", "/ab/v1"), ("/v1/x", "/a", "/v1/x")],
)
def test_a_path_is_taken_below_the_place_that_the_application_is_mounted_at(path: str, root: str, below: str) -> None:
    assert route_path({"path": path, "root_path": root}) == below
