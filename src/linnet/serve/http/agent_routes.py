"""Agents over HTTP: opened, listed, driven, followed."""

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Annotated, Any, Final

import msgspec
from anyio import to_thread
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from linnet.core import commands
from linnet.core.messages import ToolCall
from linnet.decoding import decoder_of
from linnet.serve.agents import dialects
from linnet.serve.agents.doors import AgentHost, ServedAgent
from linnet.serve.agents.host import OpenRequest
from linnet.serve.http import bodies
from linnet.serve.http.allowed import Allowance
from linnet.serve.http.endpoints import Parameter, given
from linnet.serve.http.event_streams import EventStream, Streams, Wakeup
from linnet.serve.http.guard import SLOT
from linnet.serve.http.openings import Openings, reused
from linnet.serve.http.replies import JSON, Problem, not_allowed, reply
from linnet.serve.http.seen_sessions import SeenSessions, exported
from linnet.serve.http.summary_streams import SummaryStreams
from linnet.wire.dialect import Asked, Dialect

CLIENT: Final = "http"
"""Who the commands with an `Idempotency-Key` come from, whatever connection they come on."""
LONGEST_KEY: Final = 256
# What an exported page says about itself holds, too; in this one it is nobody's page: it has no cookies and no origin.
PAGE_POLICY: Final = (
    "sandbox allow-scripts allow-popups; default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

DIALECT: Final = Parameter(
    "dialect", bodies.DialectName, "The dialect of commands and events; pi-1 unless it is given."
)
FROM: Final = Parameter("from", Annotated[int, Meta(ge=0)], "The last number that was seen; 0 is everything.")
LAST: Final = Parameter("last", Annotated[int, Meta(ge=0, le=100_000)], "So many messages, the last ones.")
BEFORE: Final = Parameter("before", Annotated[int, Meta(ge=0)], "Only messages before the one with this index.")
DOWNLOAD: Final = Parameter("download", str, "If it is there, a browser saves the page instead of showing it.")
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")  # In a header, and in the name of a file.
_decode = decoder_of(bodies.OpenAgent).decode


class AgentRoutes:
    """The handlers. What blocks is called in worker threads."""

    def __init__(
        self,
        host: AgentHost,
        allowance: Allowance,
        sessions: SeenSessions,
        streams: Streams,
        summaries: SummaryStreams,
        environ: Mapping[str, str],
        heartbeat: float,
    ) -> None:
        self._host = host
        self._allowance = allowance
        self._sessions = sessions
        self._streams = streams
        self._summaries = summaries
        self._environ = environ
        self._heartbeat = heartbeat
        self._openings = Openings()

    async def list(self, request: Request) -> Response:
        return reply(bodies.AgentList(await to_thread.run_sync(self._host.summaries)))

    async def open(self, request: Request) -> Response:
        body = await request.body()
        try:
            asked = _decode(body)
        except msgspec.DecodeError as error:
            raise Problem(400, "bad_input", f"The body is not an agent to open: {error}.") from None
        key, digest = _key(request), sha256(body).hexdigest()
        opened = await self._openings.once(key, digest, lambda: to_thread.run_sync(self._open, asked, key, digest))
        place = f"{request.scope.get('root_path', '')}/v1/agents/{opened.agent.id}"  # It may be mounted somewhere.
        return reply(opened, 201, {"location": place})

    def _open(self, asked: bodies.OpenAgent, key: str, digest: str) -> bodies.AgentOpened:
        if key and (before := self._host.opened_by(key)) is not None:
            agent, opening = before
            if opening.digest != digest:
                raise reused()
            return bodies.AgentOpened(agent.summary(), list(opening.remarks))
        cwd = self._allowance.folder(asked.cwd)
        flags = self._allowance.words(asked.words(), cwd, self._environ, self._sessions.find)
        dialect = asked.dialect or "pi-1"
        opened = self._host.open(
            OpenRequest(
                dialect=dialect, cwd=cwd, flags=flags, env={}, program="linnet", keep=True, key=key, digest=digest
            )
        )
        return bodies.AgentOpened(opened.agent.summary(), list(opened.remarks))

    async def show(self, request: Request) -> Response:
        return reply(self._agent(request).summary())

    async def remove(self, request: Request) -> Response:
        await to_thread.run_sync(self._host.remove, self._agent(request).id)
        return Response(status_code=204)

    async def command(self, request: Request) -> Response:
        agent, dialect = self._agent(request), self._dialect(request)
        line = (await request.body()).replace(b"\n", b" ").replace(b"\r", b" ")
        line = await to_thread.run_sync(self._checked, line, dialect, agent, request.state.role)
        key = _key(request)
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[bytes] = loop.create_future()

        def send(response: bytes) -> None:
            with suppress(RuntimeError):  # The loop is closed: nobody waits for it any more.
                loop.call_soon_threadsafe(_resolve, answered, response)

        def perform() -> None:
            agent.perform(line, dialect, send, role=request.state.role, client=CLIENT if key else "", key=key)

        await to_thread.run_sync(perform)
        response = (await _unless_gone(request, answered)).strip()
        if not response:
            return Response(status_code=204)  # The dialect has no answers.
        return Response(response, _status(response), media_type=JSON)

    def _checked(self, line: bytes, dialect: Dialect, agent: ServedAgent, role: str) -> bytes:
        """Return the line to carry out. Raises Problem if it must not be asked for."""
        asked = dialect.decode(line)
        if not isinstance(asked, Asked):
            return line  # It will be answered that it is no command.
        if role != "drive" and not isinstance(asked.command, commands.Query):
            raise not_allowed(f"{asked.name} is not allowed to whoever may only watch")
        self._allowance.check(asked.command, agent.cwd, self._environ)
        if isinstance(asked.command, commands.Bash):
            call = ToolCall("", "bash", {"command": asked.command.command})
            if agent.denies(call):
                raise not_allowed("bash is not allowed over HTTP where the agent may not run that itself")
        if isinstance(asked.command, commands.SwitchSession):
            # A word that looks like an id may be the name of a file in the agent's folder, too.
            said: dict[str, Any] = msgspec.json.decode(line)
            return msgspec.json.encode({**said, "sessionPath": self._sessions.find(asked.command.session)})
        return line

    async def events(self, request: Request) -> Response:
        agent, dialect = self._agent(request), self._dialect(request)
        after = given(request, FROM)
        if (seen := request.headers.get("last-event-id")) is not None:
            if not seen.isdecimal() or len(seen) > 18:
                raise Problem(400, "bad_input", "Last-Event-ID is not the number of an event.")
            after = int(seen)
        if request.method == "HEAD":
            return Response(media_type=EventStream.media_type)
        self._streams.check()
        wakeup = Wakeup()

        def attach() -> Any:
            return agent.attach(dialect, framing="sse", after=after, role="watch", wake=wakeup)

        source = await to_thread.run_sync(attach)
        return self._stream(request, source, wakeup)

    async def summaries(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type=EventStream.media_type)
        self._streams.check()
        wakeup = Wakeup()
        return self._stream(request, await self._summaries.source(wakeup), wakeup)

    def _stream(self, request: Request, source: Any, wakeup: Wakeup) -> EventStream:
        return EventStream(self._streams, source, wakeup, request.scope[SLOT], self._heartbeat)

    async def snapshot(self, request: Request) -> Response:
        agent, dialect = self._agent(request), self._dialect(request)
        last, before = given(request, LAST), given(request, BEFORE)
        return Response(await to_thread.run_sync(agent.snapshot, dialect, last, before), media_type=JSON)

    async def export(self, request: Request) -> Response:
        key = self._agent(request).session_key
        if key is None:
            raise Problem(404, "no_such_session", "This agent has no session on disk yet.")
        return await page(request, self._sessions, key)

    def _agent(self, request: Request) -> ServedAgent:
        return self._host.find(request.path_params["agent"])

    def _dialect(self, request: Request) -> Dialect:
        return dialects.made(given(request, DIALECT) or "pi-1")


async def page(request: Request, sessions: SeenSessions, key: str) -> Response:
    """Return a session as a page. Raises SessionError if it cannot be read."""
    pieces = exported(await to_thread.run_sync(sessions.opened, key))
    first = await to_thread.run_sync(next, pieces, b"")
    headers = {"content-security-policy": PAGE_POLICY}
    if DOWNLOAD.name in request.query_params:
        name = _UNSAFE.sub("-", os.path.basename(key).removesuffix(".jsonl"))
        headers["content-disposition"] = f'attachment; filename="linnet-session-{name}.html"'

    def all() -> Iterator[bytes]:
        yield first
        yield from pieces

    return StreamingResponse(all(), 200, headers, "text/html")


def _key(request: Request) -> str:
    """Return the name that the client has given what it asks for; empty if none. Raises Problem."""
    key = request.headers.get("idempotency-key", "")
    if len(key) > LONGEST_KEY:
        raise Problem(400, "bad_input", f"The Idempotency-Key is over {LONGEST_KEY} characters.")
    return key


async def _unless_gone(request: Request, answered: "asyncio.Future[bytes]") -> bytes:
    """Return the response to a command. Raises Problem if the client goes before it comes."""
    gone = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait((answered, gone), return_when=asyncio.FIRST_COMPLETED)
        if answered.done():
            return answered.result()
    finally:
        gone.cancel()
        answered.cancel()
    raise Problem(499, "gone", "The client is gone.")


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _resolve(answered: "asyncio.Future[bytes]", response: bytes) -> None:
    if not answered.done():
        answered.set_result(response)


class _Outcome(msgspec.Struct):
    success: bool = True


_outcome = decoder_of(_Outcome).decode


def _status(response: bytes) -> int:
    return 200 if _outcome(response).success else 400
