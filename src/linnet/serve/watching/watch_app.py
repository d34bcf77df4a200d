"""The ASGI application of `linnet watch`: one agent that can be looked at and not touched, and the page that shows it.

Of what `linnet serve` has over HTTP these are the paths that the page needs to show one agent. It stands behind the
same guard, and admits whoever has the token of this run.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send

from linnet import __version__, logs
from linnet.serve.http.event_streams import HEARTBEAT, EventStream, Source, Streams, Wakeup
from linnet.serve.http.guard import LOOPBACK, SAFE, SLOT, Guard, Limits, is_open, route_path
from linnet.serve.http.page_files import PageFiles
from linnet.serve.http.replies import Problem, not_allowed, reply
from linnet.serve.http.tokens import Tokens, cookie
from linnet.serve.page import CSP
from linnet.serve.watching.watched import Watched
from linnet.serve.watching.watched_lines import as_events
from linnet.wire.jsonl import encode_value

LIMITS: Final = Limits(body=64 * 1024, requests=64, streams=100)
PACE: Final = 0.1  # Seconds between two summaries.
LOGGER: Final = "linnet.watch"
_LONGEST_NUMBER: Final = 18


class WatchApp:
    """Invariant: only the page is reached without the token, and nothing at all past the guard."""

    def __init__(self, watched: Watched, tokens: Tokens, port: int, heartbeat: float = HEARTBEAT) -> None:
        """`port` is where it is served. Browsers send the cookies of all ports of a host to each of them, so that it is
        in the name of this one: several agents can be watched at once.
        """
        self._watched = watched
        self._tokens = tokens
        self._cookie = f"linnet-watch-{port}"
        self._heartbeat = heartbeat
        self._streams = Streams(LIMITS.streams)
        watched.watchers = lambda: len(self._streams)
        names = [f"{name}:{port}" for name in LOOPBACK]
        self._guard = Guard(self._answer, policy=CSP, limits=LIMITS, host_names=names)
        self._news = _News()
        self._router = Router(self._routes(), redirect_slashes=False)
        self._loop: asyncio.AbstractEventLoop | None = None

    def _routes(self) -> list[Route]:
        files = PageFiles()
        return [
            Route("/v1/about", self._about),
            Route("/v1/agents", self._list),
            Route("/v1/agents/events", self._summaries),
            Route("/v1/agents/{agent}", self._show),
            Route("/v1/agents/{agent}/events", self._events),
            Route("/v1/agents/{agent}/snapshot", self._snapshot),
            Route("/v1/cookie", self._set_cookie, methods=["POST", "DELETE"]),
            Route("/", files.index),
            Route("/page/{name:path}", files.file),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await Router(lifespan=lambda _: self.lifespan())(scope, receive, send)
        elif scope["type"] == "http":
            await self._guard(scope, receive, send)
        else:  # A websocket: there are none.
            await send({"type": "websocket.close", "code": 1000})

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Tell of the agent for as long as this lasts."""
        self._loop = asyncio.get_running_loop()
        telling = asyncio.ensure_future(self._tell())
        try:
            yield
        finally:
            telling.cancel()
            with suppress(asyncio.CancelledError):
                await telling

    def end_streams(self) -> None:
        """End all streams, and open none from now on. Called by the loop."""
        self._streams.end()

    def drain(self, seconds: float) -> None:
        """Wait until everybody has been told of the end of the agent, at most so long. Called in any thread but the
        loop's.
        """
        if self._loop is None:
            return
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._drained(), self._loop).result(seconds)

    async def _drained(self) -> None:
        while len(self._streams):
            await asyncio.sleep(0.01)

    async def _tell(self) -> None:
        """Pass on what is new of the agent, at most ten times a second."""
        wakeup = Wakeup()
        self._watched.listen(wakeup)
        try:
            while not self._news.over:
                wakeup.clear()
                over = self._watched.ended
                self._news.put(encode_value(self._watched.summary()), over=over)
                await asyncio.sleep(0 if over else PACE)
                await wakeup.wait(self._heartbeat)
        finally:
            self._watched.unlisten(wakeup)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that the guard let pass: with JSON, whatever happens."""
        try:
            if not is_open(route_path(scope)):
                self._admit(HTTPConnection(scope))
            await self._router({**scope, "app": self}, receive, send)
        except ClientDisconnect:
            return
        except HTTPException:
            await self._nothing_there(scope).response()(scope, receive, send)
        except Problem as refused:
            await refused.response()(scope, receive, send)
        except Exception:  # The client finds its connection cut, and the log has why.
            logs.broke(LOGGER, f"{scope['method']} {scope['path']} broke")
            raise

    def _nothing_there(self, scope: Scope) -> Problem:
        if scope["method"] not in SAFE:
            return not_allowed("This agent is watched, and driven by the program that started it.")
        return Problem(404, "not_found", "There is nothing here.")

    def _admit(self, connection: HTTPConnection) -> None:
        """Raise Problem, always the same, unless whoever sent this may watch."""
        scheme, _, token = connection.headers.get("authorization", "").partition(" ")
        if scheme:
            role = self._tokens.role(token.strip()) if scheme.lower() == "bearer" else None
        else:
            role = self._tokens.role_of_cookie(connection.cookies.get(self._cookie, ""))
        if role is None:
            raise Problem(401, "unauthorized", "A token is needed.", {"www-authenticate": "Bearer"})

    async def _about(self, request: Request) -> Response:
        limits = {"body": LIMITS.body, "requests": LIMITS.requests, "streams": LIMITS.streams}
        watched = {"single": True, "agent": self._watched.id, "protocol": self._watched.protocol}
        return reply({"version": __version__, "role": "watch", "roots": [], "flags": [], "limits": limits, **watched})

    async def _list(self, request: Request) -> Response:
        return reply({"agents": [self._watched.summary()]})

    async def _show(self, request: Request) -> Response:
        self._check(request)
        return reply(self._watched.summary())

    async def _snapshot(self, request: Request) -> Response:
        """Say that nothing is known but what the events say, from the first on."""
        self._check(request)
        return reply({"seq": 0, "state": None, "messages": [], "first": 0, "total": 0, "open": []})

    async def _events(self, request: Request) -> Response:
        self._check(request)
        after = _number(request.headers.get("last-event-id") or request.query_params.get("from"))
        return self._stream(request, lambda wakeup: LineSource(self._watched, wakeup, after))

    async def _summaries(self, request: Request) -> Response:
        return self._stream(request, lambda wakeup: NewsSource(self._news, wakeup))

    async def _set_cookie(self, request: Request) -> Response:
        response = Response(status_code=204)
        if request.method == "DELETE":
            response.delete_cookie(self._cookie, httponly=True, samesite="strict")
        else:  # It lasts as long as the browser: the token is good for one run only.
            response.set_cookie(self._cookie, cookie(self._tokens.watch), httponly=True, samesite="strict")
        return response

    def _check(self, request: Request) -> None:
        if request.path_params["agent"] != self._watched.id:
            raise Problem(404, "no_such_agent", "There is no such agent.")

    def _stream(self, request: Request, source: Callable[[Wakeup], Source]) -> Response:
        if request.method == "HEAD":
            return Response(media_type=EventStream.media_type)
        self._streams.check()
        wakeup = Wakeup()
        return EventStream(self._streams, source(wakeup), wakeup, request.scope[SLOT], self._heartbeat)


class LineSource:
    """The lines of the agent for one client, from where it wants them. It costs a place among them, and no copy."""

    def __init__(self, watched: Watched, wakeup: Wakeup, after: int | None) -> None:
        self._watched, self._wakeup = watched, wakeup
        self._next = watched.reader(after)
        watched.listen(wakeup)
        self._over = False

    @property
    def ended(self) -> bool:
        return self._over

    def take(self) -> bytes | None:
        over = self._watched.ended  # Before looking: what came before it ended is looked at.
        taken = self._next()
        self._over = over and taken is None
        return as_events(taken) if taken else None

    def close(self) -> None:
        self._watched.unlisten(self._wakeup)


class _News:
    """The newest summary. Used by the loop, but for `newest`, which is replaced whole."""

    def __init__(self) -> None:
        self.newest: tuple[int, bytes] = (0, b"")
        self.over = False
        self.wakeups: set[Wakeup] = set()

    def put(self, summary: bytes, *, over: bool) -> None:
        self.newest = (self.newest[0] + 1, b"event: agent\ndata: %b\n\n" % summary)
        self.over = over
        for wakeup in list(self.wakeups):  # Others go meanwhile, in other threads.
            wakeup()


class NewsSource:
    """The news of one client: the newest summary, unless it has it."""

    def __init__(self, news: _News, wakeup: Wakeup) -> None:
        self._news, self._wakeup = news, wakeup
        self._seen = 0
        self._over = False
        news.wakeups.add(wakeup)

    @property
    def ended(self) -> bool:
        return self._over

    def take(self) -> bytes | None:
        over = self._news.over
        number, frame = self._news.newest
        self._over = over and number == self._seen
        if number == self._seen:
            return None
        self._seen = number
        return frame

    def close(self) -> None:
        self._news.wakeups.discard(self._wakeup)


def _number(said: str | None) -> int | None:
    """Return the number of the last line that a client saw; None if it wants only what comes. Raises Problem."""
    if said is None:
        return None
    if not said.isdecimal() or not said.isascii() or len(said) > _LONGEST_NUMBER:
        raise Problem(400, "bad_input", "That is not the number of a line.")
    return int(said)
