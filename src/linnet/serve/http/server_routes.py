"""What is neither an agent nor an event: sessions, models, the server itself, the cookie, the page."""

import os
from collections.abc import Mapping
from typing import Annotated, Final

from anyio import to_thread
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from linnet import __version__
from linnet.errors import ConfigError
from linnet.runtime.models.accounts import Accounts
from linnet.runtime.models.known_models import KnownModels
from linnet.runtime.models.known_providers import KnownProviders
from linnet.serve.agents.doors import AgentHost
from linnet.serve.http import bodies
from linnet.serve.http.agent_routes import page
from linnet.serve.http.allowed import Allowance
from linnet.serve.http.endpoints import Parameter, given
from linnet.serve.http.guard import Limits
from linnet.serve.http.metrics import Meter, exposition
from linnet.serve.http.replies import Problem, reply
from linnet.serve.http.seen_sessions import SeenSessions
from linnet.serve.http.tokens import Tokens, cookie

COOKIE: Final = "linnet"
_COOKIE_SECONDS: Final = 30 * 24 * 3600
METRICS: Final = "text/plain; version=0.0.4; charset=utf-8"

CWD: Final = Parameter("cwd", bodies.Word, "Only the sessions of this folder.")
LIMIT: Final = Parameter("limit", Annotated[int, Meta(ge=1, le=1000)], "At most so many, the newest; 100 unless given.")


class ServerRoutes:
    """The handlers. What blocks is called in worker threads."""

    def __init__(
        self,
        host: AgentHost,
        allowance: Allowance,
        sessions: SeenSessions,
        tokens: Tokens | None,
        meter: Meter,
        limits: Limits,
        home: str,
        environ: Mapping[str, str],
    ) -> None:
        """`tokens` is None where requests are known by other means."""
        self._host = host
        self._allowance = allowance
        self._sessions = sessions
        self._tokens = tokens
        self._meter = meter
        self._limits = limits
        self._home = home
        self._environ = environ

    async def sessions(self, request: Request) -> Response:
        cwd, most = given(request, CWD), given(request, LIMIT) or 100
        return reply(bodies.SessionList(await to_thread.run_sync(self._sessions.listed, cwd, most)))

    async def session(self, request: Request) -> Response:
        return reply(await to_thread.run_sync(self._sessions.read, request.path_params["session"]))

    async def export(self, request: Request) -> Response:
        key = await to_thread.run_sync(self._sessions.find, request.path_params["session"])
        return await page(request, self._sessions, key)

    async def about(self, request: Request) -> Response:
        limits = bodies.ServedLimits(self._limits.body, self._limits.requests, self._limits.streams)
        roots, flags = list(self._allowance.roots), self._allowance.named()
        return reply(bodies.About(__version__, request.state.role, roots, flags, limits))

    async def models(self, request: Request) -> Response:
        return reply(await to_thread.run_sync(self._models))

    def _models(self) -> bodies.ModelList:
        known = KnownModels(Accounts(KnownProviders(self._environ, self._home)))
        try:
            default = known.begin(self._environ.get("LINNET_PROVIDER"), self._environ.get("LINNET_MODEL"))
        except ConfigError:
            default = None  # There is no key yet.
        return bodies.ModelList(
            [
                bodies.ModelItem(
                    *(each.id, each.provider, each.name or each.id, each.reasoning, each.images),
                    *(each.context_window, each.max_output, bodies.prices(each)),
                    default=each == default,
                )
                for each in known.available()
            ]
        )

    async def set_cookie(self, request: Request) -> Response:
        """Let a browser show a cookie from now on, instead of the token that it was given once."""
        response = Response(status_code=204)
        if self._tokens is not None:
            token = self._tokens.drive if request.state.role == "drive" else self._tokens.watch
            secure = request.url.scheme == "https"
            response.set_cookie(
                *(COOKIE, cookie(token), _COOKIE_SECONDS),
                path=_place(request),
                secure=secure,
                httponly=True,
                samesite="strict",
            )
        return response

    async def forget_cookie(self, request: Request) -> Response:
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, _place(request), httponly=True, samesite="strict")
        return response

    async def healthy(self, request: Request) -> Response:
        return PlainTextResponse("ok")

    async def ready(self, request: Request) -> Response:
        if not self._host.ready or self._host.draining:
            raise Problem(503, "not_ready", "The server takes no agents now.")
        return PlainTextResponse("ok")

    async def metrics(self, request: Request) -> Response:
        text = await to_thread.run_sync(exposition, self._host, self._meter.values())
        return Response(text, media_type=METRICS)


def _place(request: Request) -> str:
    """Return the path that the cookie belongs to."""
    return os.path.join(request.scope.get("root_path", ""), "") or "/"
