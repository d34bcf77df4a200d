"""The ASGI application: agents over HTTP, for `linnet serve`, or mounted in a backend of one's own."""

import asyncio
import atexit
import inspect
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeAlias

import msgspec
from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from linnet import logs
from linnet.errors import Closed, LinnetError
from linnet.runtime.settings.folders import home_folder
from linnet.serve.agents.doors import AgentHost
from linnet.serve.agents.host import Host, HostOptions
from linnet.serve.http.agent_routes import AgentRoutes
from linnet.serve.http.allowed import allowance
from linnet.serve.http.endpoints import Endpoint, check_query
from linnet.serve.http.event_streams import HEARTBEAT, Streams
from linnet.serve.http.guard import LOOPBACK, Guard, Limits, is_open, route_path
from linnet.serve.http.kept_sessions import KeptSessions
from linnet.serve.http.metrics import Meter
from linnet.serve.http.openapi import document
from linnet.serve.http.page_files import PageFiles
from linnet.serve.http.replies import JSON, Problem, not_allowed, problem
from linnet.serve.http.route_table import PATH_OF_FILES, endpoints
from linnet.serve.http.seen_sessions import FactorySessions, SeenSessions
from linnet.serve.http.server_routes import COOKIE, ServerRoutes
from linnet.serve.http.summary_streams import SummaryStreams
from linnet.serve.http.tokens import Role, Tokens, tokens_in
from linnet.serve.page import CSP

Authenticate: TypeAlias = Callable[[HTTPConnection], "Role | Awaitable[Role | None] | None"]
"""Returns what whoever sent a request may do, by its headers: everything, only watch, or nothing. One that is not a
coroutine may block: it is called in a worker thread.
"""
LOGGER: Final = "linnet.serve"
_UNAUTHORIZED: Final = "A token is needed."


class App:
    """Agents over HTTP. Whoever runs it need not run its lifespan: then it begins with the first request.

    Invariant: only what is open to everybody is reached without a role, and nothing at all past the guard.
    """

    def __init__(
        self,
        host: AgentHost | HostOptions | None = None,
        *,
        tokens: Tokens | None = None,
        authenticate: Authenticate | None = None,
        roots: Sequence[str | os.PathLike[str]] = (),
        open_flags: Sequence[str] = (),
        host_names: Sequence[str] | None = LOOPBACK,
        origins: Sequence[str] = (),
        limits: Limits | None = None,
        heartbeat: float = HEARTBEAT,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """`host` has the agents; one that is made here, with these options or the usual ones, is begun and closed here.
        `tokens` are those of the host's state folder unless they are given, or `authenticate` says who may do what.
        Agents are opened in folders under `roots` only, with a few flags and those of `open_flags`. `host_names` are
        the names that requests are sent to; None if somebody else checks that. `origins` are those of other sites'
        pages that may use this. Raises ConfigError, without a file having been made.
        """
        if environ is None:
            environ = os.environ if host is None or isinstance(host, HostOptions) else host.environ
        self._environ = environ
        self._home = home_folder(self._environ)
        self._given = host or HostOptions(state=os.path.join(self._home, "serve"))
        self._host: AgentHost | None = None
        options = self._given if isinstance(self._given, HostOptions) else self._given.options
        self._state = options.state
        self._tokens = tokens
        self._authenticate = authenticate
        self._allowance = allowance(roots, open_flags, options.defaults)
        self._limits = limits or Limits()
        self._heartbeat = heartbeat
        self._streams = Streams(self._limits.streams)
        self._guard = Guard(self._answer, policy=CSP, limits=self._limits, host_names=host_names, origins=origins)
        self._meter = Meter(lambda: len(self._streams), lambda: self._guard.slots.taken)
        self.endpoints: tuple[Endpoint, ...] = ()
        self._router = Router()
        self._tasks: list[asyncio.Task[None]] = []
        self._starting: asyncio.Lock | None = None
        self._begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await Router(lifespan=lambda _: self.lifespan())(scope, receive, send)
        elif scope["type"] == "http":
            await self._guard(scope, receive, send)
        else:  # A websocket: there are none.
            await send({"type": "websocket.close", "code": 1000})

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Begin, and close at the end. For the lifespan of an application that this one is mounted in."""
        await self.begin()
        try:
            yield
        finally:
            await self.close()

    async def begin(self) -> None:
        """Make ready what requests need, once. Raises LinnetError."""
        if self._begun:
            return
        self._starting = self._starting or asyncio.Lock()
        async with self._starting:
            if not self._begun:
                summaries = await to_thread.run_sync(self._prepare)
                self._tasks = [asyncio.ensure_future(run()) for run in (summaries.run, self._meter.run)]
                self._begun = True

    async def _begin_late(self) -> None:
        """Begin if nobody has. Raises Problem if that cannot be done: whoever asks is not told why."""
        try:
            await self.begin()
        except (LinnetError, OSError) as error:
            logs.warn(LOGGER, f"agents cannot be served: {error}")
            raise Problem(503, "not_ready", "The server is not ready; its log says why.") from None

    async def close(self) -> None:
        """End all streams, and the host if it was made here."""
        self.end_streams()
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError):
                await task
        host, self._host, self._begun = self._host, None, False
        if host is not None and host is not self._given:
            atexit.unregister(host.close)
            await to_thread.run_sync(host.close)

    def end_streams(self) -> None:
        """End all streams of events, and open none from now on. Called by the loop."""
        self._streams.end()

    def _prepare(self) -> SummaryStreams:
        if self._tokens is None and self._authenticate is None:
            self._tokens = tokens_in(self._state)
        if isinstance(self._given, HostOptions):
            made = Host(self._given, self._environ)
            made.begin()
            atexit.register(made.close)  # For applications that never say that it is over.
            host: AgentHost = made
        else:
            host = self._given
        self._host = host
        sessions: SeenSessions
        if host.logs is None:
            sessions = KeptSessions(self._home, self._allowance, lambda: _sessions(host))
        else:
            sessions = FactorySessions(host.logs, self._allowance, lambda: _session_ids(host))
        summaries = SummaryStreams(host)
        agents = AgentRoutes(
            *(host, self._allowance, sessions, self._streams, summaries, self._environ, self._heartbeat)
        )
        server = ServerRoutes(
            *(host, self._allowance, sessions, self._tokens, self._meter, self._limits, self._home, self._environ)
        )
        self.endpoints = endpoints(agents, server, PageFiles(), self._document)
        self._described = msgspec.json.encode(document(self.endpoints))
        self._router = Router(_routes(self.endpoints), redirect_slashes=False)
        return summaries

    @property
    def host(self) -> AgentHost:
        """Return the host of the agents, which is there once this has begun. Raises Closed."""
        if self._host is None:
            raise Closed("the application has not begun, or is closed")
        return self._host

    async def _document(self, request: Request) -> Response:
        return Response(self._described, media_type=JSON)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that the guard let pass: with JSON, whatever happens."""
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._meter.answered(message["status"])
            await send(message)

        try:
            await self._begin_late()
            if not is_open(route_path(scope)):
                await self._admit(scope)
            await self._router({**scope, "app": self}, receive, sending)
        except ClientDisconnect:
            return
        except HTTPException as error:
            refused = _of_router(error)
        except Problem as error:
            refused = error
        except LinnetError as error:
            refused = problem(error)
        except Exception:  # A handler that broke: the client is told, and the log has why.
            logs.broke(LOGGER, f"{scope['method']} {scope['path']} broke")
            refused = Problem(500, "internal", "Something broke; the server's log says what.")
        else:
            return
        if begun:
            raise refused  # Too late to say so: the connection is cut.
        await refused.response()(scope, receive, sending)

    async def _admit(self, scope: Scope) -> None:
        """Note the role of whoever sent this. Raises Problem, always the same, if there is none."""
        role = await self._role(HTTPConnection(scope))
        if role not in ("drive", "watch"):
            raise Problem(401, "unauthorized", _UNAUTHORIZED, {"www-authenticate": "Bearer"})
        scope.setdefault("state", {})["role"] = role

    async def _role(self, connection: HTTPConnection) -> Role | None:
        if self._authenticate is not None:
            asking: Callable[[HTTPConnection], Any] = self._authenticate
            awaited = inspect.iscoroutinefunction(asking)
            found = asking(connection) if awaited else await to_thread.run_sync(asking, connection)
            role: Role | None = await found if inspect.isawaitable(found) else found
            return role
        assert self._tokens is not None
        scheme, _, token = connection.headers.get("authorization", "").partition(" ")
        if scheme:
            return self._tokens.role(token.strip()) if scheme.lower() == "bearer" else None
        return self._tokens.role_of_cookie(connection.cookies.get(COOKIE, ""))


def _session_ids(host: AgentHost) -> list[str]:
    """Return the ids of the agents' sessions."""
    return [each.session_id for each in host.summaries()]


def _sessions(host: AgentHost) -> list[tuple[str, str]]:
    """Return the ids and the files of the agents' sessions."""
    return [(each.session_id, each.session_file) for each in host.summaries() if each.session_file]


def _routes(table: Sequence[Endpoint]) -> list[Route]:
    """Return one route for each path, so that what is not allowed there is known from all of its methods."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in table:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    paths = {PATH_OF_FILES: PATH_OF_FILES.replace("}", ":path}")}
    return [Route(paths.get(path, path), _chosen(found), methods=[*found]) for path, found in by_path.items()]


def _chosen(found: Mapping[str, Endpoint]) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        endpoint = found["GET" if request.method == "HEAD" else request.method]
        if endpoint.access == "drive" and request.state.role != "drive":
            raise not_allowed(f"{endpoint.method} {endpoint.path} is not allowed to whoever may only watch")
        check_query(request, endpoint.parameters)
        return await endpoint.handler(request)

    return handle


def _of_router(error: HTTPException) -> Problem:
    if error.status_code == 405:
        return Problem(405, "wrong_method", "This is not done by that method.", dict(error.headers or {}))
    return Problem(error.status_code, "not_found", "There is nothing here.")
