"""What stands before every request: host names, origins, sizes, numbers. It knows no tokens, and which paths are open.

A page of another site may send requests here from the user's browser. By a name of its own that it lets lead here it
may even read the answers. So the `Host` must be a name that is served, and an `Origin` the same or one of a list.
"""

import asyncio
from collections.abc import MutableMapping, Sequence
from typing import Any, Final

from msgspec import Struct
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from linnet.serve.http.replies import Problem

LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
_OPEN: Final = ("", "/", "/healthz", "/readyz")
_FILES: Final = "/page/"
SLOT: Final = "linnet.slot"  # Where the slot of a request is, in its scope.
SAFE: Final = ("GET", "HEAD", "OPTIONS")
_PORTS: Final = {"http": ":80", "https": ":443"}
_HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}

_PREFLIGHT: Final = {
    "access-control-allow-methods": "GET, POST, DELETE",
    "access-control-allow-headers": "authorization, content-type, idempotency-key, last-event-id",
    "access-control-max-age": "600",
}


class Limits(Struct, frozen=True, kw_only=True):
    """What a server takes at once, and of one request."""

    body: int = 8 * 1024 * 1024
    """Bytes of a request's body."""
    body_seconds: float = 30.0
    """How long a body may take to come."""
    unread_seconds: float = 30.0
    """How long nothing of an answer may be taken, streams of events excepted."""
    requests: int = 256
    """Requests in flight, streams of events not counted."""
    streams: int = 1000
    """Streams of events."""


class Slot:
    """One of the requests in flight, until it is called, however often."""

    def __init__(self, slots: "Slots") -> None:
        self._slots = slots
        self.held = True
        slots.taken += 1

    def __call__(self) -> None:
        self._slots.taken -= self.held
        self.held = False


class Slots:
    """Counts the requests in flight. A stream of events gives its slot back and is counted elsewhere."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0

    def take(self) -> Slot:
        """Return what gives the slot back. Raises Problem."""
        if self.taken >= self.most:
            raise Problem(503, "too_many_requests", "Too many requests are in flight; try again.", {"retry-after": "1"})
        return Slot(self)


class Guard:
    """Wraps an application. What it refuses the application never sees."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        policy: str,
        limits: Limits,
        host_names: Sequence[str] | None = LOOPBACK,
        origins: Sequence[str] = (),
    ) -> None:
        """`host_names` are the names that requests may be sent to, with a port or for any; None if somebody else checks
        that. `origins` are those of other sites' pages that may use this one. `policy` is the CSP of what has none.
        """
        self._app = app
        self._policy = policy
        self._limits = limits
        self._names = None if host_names is None else frozenset(name.lower() for name in host_names)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        self.slots = Slots(limits.requests)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, path = Headers(scope=scope), route_path(scope)
        guarded = not is_open(path)
        body = _Body(receive, self._limits)
        sending = _Sending(send, self._policy, private=guarded)
        try:
            sending.shared_with = self._check(scope, headers, guarded=guarded)
            if sending.shared_with and scope["method"] == "OPTIONS":
                await Response(status_code=204, headers=_PREFLIGHT)(scope, receive, sending)
                return
            if (length := headers.get("content-length")) and (
                not length.isdecimal() or int(length) > self._limits.body
            ):
                raise body.too_large()
            if sending.shared_with:  # Browsers send it along from other ports of this host, and ask nobody.
                scope["headers"] = [each for each in scope["headers"] if each[0].lower() != b"cookie"]
            scope[SLOT] = give_back = self.slots.take()
            try:
                await self._app(scope, body.receive, sending)
            finally:
                give_back()
        except Problem as refused:
            if not sending.begun:
                await refused.response()(scope, receive, sending)

    def _check(self, scope: Scope, headers: Headers, *, guarded: bool) -> str:
        """Return the origin of the list that the request comes from; empty if it comes from none. Raises Problem."""
        host, scheme = headers.get("host", "").lower(), scope["scheme"]
        if len(headers.getlist("host")) > 1 or not self._serves(host, scheme):
            raise Problem(421, "wrong_host", "This server is not known by that name.")
        origin = headers.get("origin")
        listed = origin is not None and origin.lower() in self._origins
        site = headers.get("sec-fetch-site", "none")
        same = origin is None or origin.lower() == f"{scheme}://{host}"
        if not listed and (not same or (guarded and site not in ("same-origin", "none"))):
            raise Problem(403, "wrong_origin", "Requests from pages of other sites are not taken.")
        return origin if origin is not None and listed and not same and site != "same-origin" else ""

    def _serves(self, host: str, scheme: str) -> bool:
        if self._names is None:
            return True
        name, colon, port = host.rpartition(":")
        if not colon or not port.isdecimal():
            name, host = host, host + _PORTS.get(scheme, "")
        return name in self._names or host in self._names


class _Body:
    """The body of a request: it ends soon, and is not too large, whatever its headers say."""

    def __init__(self, receive: Receive, limits: Limits) -> None:
        self._receive = receive
        self._limits = limits
        self._size = 0
        self._ended = False
        self._deadline = 0.0

    def too_large(self) -> Problem:
        return Problem(413, "too_large", f"The body is over {self._limits.body} bytes.", {"connection": "close"})

    async def receive(self) -> Message:
        if self._ended:
            return await self._receive()  # That the client is gone, which may take for ever.
        self._deadline = self._deadline or asyncio.get_running_loop().time() + self._limits.body_seconds
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise Problem(408, "too_slow", "The body did not come in time.", {"connection": "close"}) from None
        self._size += len(message.get("body", b""))
        if self._size > self._limits.body:
            raise self.too_large()
        self._ended = message["type"] != "http.request" or not message.get("more_body", False)
        return message


class _Sending:
    """Adds to every answer the headers that all have."""

    def __init__(self, send: Send, policy: str, *, private: bool) -> None:
        self._send = send
        self._policy = policy
        self._private = private
        self.shared_with = ""
        self.begun = False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("content-security-policy", self._policy)
            if self.shared_with:  # Its pages have a token, and never the cookie.
                headers["access-control-allow-origin"] = self.shared_with
                del headers["set-cookie"]
                headers.add_vary_header("origin")
            if self._private:
                headers["cache-control"] = "no-store"
        await self._send(message)


def is_open(path: str) -> bool:
    """Return whether this path is for everybody. Every other one is guarded, whether there is anything or not: however
    a path is spelled, what is not known to be open is not.
    """
    return path in _OPEN or path.startswith(_FILES)


def route_path(scope: Scope) -> str:
    """Return the path below the place that the application is mounted at."""
    path, root = str(scope["path"]), str(scope.get("root_path", ""))
    inside = path == root or path.startswith(f"{root}/")
    return path[len(root) :] if root and inside else path
