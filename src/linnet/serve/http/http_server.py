"""Runs the application on a socket of its own, in a thread of its own with its own loop.

Nobody but this machine is served unless the connection is encrypted, here or by a proxy in front: a token that is sent
in the clear is everybody's.
"""

import asyncio
import socket
import threading
from functools import partial
from ipaddress import ip_address
from typing import Any, Final, Protocol, cast

import h11
import uvicorn
from msgspec import Struct
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from linnet.errors import ConfigError
from linnet.serve.agents.doors import AgentHost
from linnet.serve.http.app import App
from linnet.serve.http.event_streams import HEARTBEAT
from linnet.serve.http.guard import LOOPBACK, SLOT, Limits, Slot
from linnet.serve.http.tokens import Tokens, tokens_in

HEADER_SECONDS: Final = 15.0
"""How long the headers of a request may take to come."""
LARGEST_HEADERS: Final = 64 * 1024
_KEEP_ALIVE: Final = 75
_GRACE: Final = 3  # Seconds for requests in flight, once the server is to stop.
_SPARE: Final = 64  # Connections beside those that are counted: they are told why they are refused.
_ANYWHERE: Final = ("0.0.0.0", "::")


class HttpOptions(Struct, frozen=True, kw_only=True):
    """What `linnet serve --http` says."""

    address: str = "127.0.0.1:0"
    state: str = ""
    """The folder that the tokens are in."""
    roots: tuple[str, ...] = ()
    open_flags: tuple[str, ...] = ()
    host_names: tuple[str, ...] = ()
    """Names that it is known by, beside those of this machine."""
    origins: tuple[str, ...] = ()
    tls_cert: str = ""
    tls_key: str = ""
    behind_proxy: bool = False
    limits: Limits = Limits()
    heartbeat: float = HEARTBEAT
    """Seconds after which a stream on which nothing comes says that it lives."""


class Application(Protocol):
    """What can be served."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None: ...

    def end_streams(self) -> None:
        """End all answers that would not end by themselves. Called by the loop."""


class HttpServer:
    """A server that runs until it is stopped."""

    def __init__(self, app: Application, listening: socket.socket, options: HttpOptions) -> None:
        name, port = listening.getsockname()[:2]
        scheme = "https" if options.tls_cert else "http"
        shown = f"[{name}]" if ":" in name else name
        self.app = app
        self.port: int = port
        self.url = f"{scheme}://{shown}:{port}"
        config = uvicorn.Config(
            app,
            interface="asgi3",
            loop="asyncio",
            http=cast("type[_Protocol]", partial(_Protocol, options.limits.unread_seconds)),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=options.behind_proxy,
            forwarded_allow_ips="*" if options.behind_proxy else None,
            limit_concurrency=options.limits.requests + options.limits.streams + _SPARE,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=_GRACE,
            h11_max_incomplete_event_size=LARGEST_HEADERS,
            ssl_certfile=options.tls_cert or None,
            ssl_keyfile=options.tls_key or None,
        )
        self._listening = listening
        self._server = _Server(config, app)
        self._thread = threading.Thread(target=self._run, name="linnet-http", daemon=True)
        self._error: BaseException | None = None

    def begin(self) -> None:
        """Return when requests are taken. Raises whatever keeps it from that."""
        self._thread.start()
        self._server.ready.wait()
        if self._error is not None:
            self._thread.join()
            raise self._error

    def stop(self) -> None:
        """End the streams, let requests in flight end, and return when the loop is closed: in a few seconds."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join()
        self._listening.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._server.serve([self._listening]))
        except SystemExit:
            self._error = ConfigError("the HTTP server could not begin; its log says why")
        except BaseException as error:
            self._error = error
        finally:
            self._server.ready.set()


def http_server(host: AgentHost, options: HttpOptions, given: socket.socket | None = None) -> HttpServer:
    """Return a server for a host's agents that listens and has not begun; `given` is a socket that listens already, if
    somebody else opened it. Raises ConfigError.
    """
    name, port = parsed(options.address)
    encrypted = bool(options.tls_cert and options.tls_key)
    if bool(options.tls_cert) != bool(options.tls_key):
        raise ConfigError("--tls-cert and --tls-key go together; give both")
    if encrypted:
        _check_certificate(options.tls_cert, options.tls_key)
    if given is not None:
        name = given.getsockname()[0]
    if not _is_loopback(name) and not encrypted and not options.behind_proxy:
        raise ConfigError(
            f"--http {name} can be reached from elsewhere, where tokens would be sent in the clear; give --tls-cert "
            "and --tls-key, or --behind-proxy if a proxy in front encrypts"
        )
    if name in _ANYWHERE and not options.host_names:
        raise ConfigError(f"--http {name} is no name to ask for; give --host-name, the one that browsers use")
    tokens = tokens_in(options.state)
    listening = given or listen(name, port)
    try:
        return HttpServer(_app(host, options, tokens, listening), listening, options)
    except BaseException:
        listening.close()
        raise


def _app(host: AgentHost, options: HttpOptions, tokens: Tokens, listening: socket.socket) -> App:
    name, port = listening.getsockname()[:2]
    own = f"[{name}]" if ":" in name else name
    return App(
        host,
        tokens=tokens,
        roots=options.roots,
        open_flags=options.open_flags,
        host_names=(*(f"{each}:{port}" for each in (*LOOPBACK, own)), *options.host_names),
        origins=options.origins,
        limits=options.limits,
        heartbeat=options.heartbeat,
    )


def parsed(address: str) -> tuple[str, int]:
    """Return the name and the port of HOST:PORT, [HOST]:PORT, or PORT on this machine. Raises ConfigError."""
    name, _, port = address.rpartition(":")
    if not port.isdecimal() or int(port) > 65535 or (":" in name and not (name[0] == "[" and name[-1] == "]")):
        raise ConfigError(f"--http must be HOST:PORT, such as 127.0.0.1:8080, not {address!r}")
    return name.strip("[]") or "127.0.0.1", int(port)


def listen(name: str, port: int) -> socket.socket:
    """Return a socket that listens there; port 0 is any that is free. Raises ConfigError."""
    try:
        kind, *_, where = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.socket(kind, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(where)
            listening.listen(1024)
        except BaseException:
            listening.close()
            raise
    except OSError as error:
        raise ConfigError(f"--http {name}:{port} cannot be listened on: {error.strerror or error}") from None
    return listening


def _check_certificate(certificate: str, key: str) -> None:
    """Raise ConfigError if connections cannot be encrypted with these files."""
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, lambda: "")  # Nobody is asked.
    except OSError as error:  # Those of TLS, too.
        raise ConfigError(
            f"--tls-cert {certificate} and --tls-key {key} are no certificate and its key without a passphrase: "
            f"{error.strerror or error}"
        ) from None


def _is_loopback(name: str) -> bool:
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


class _Server(uvicorn.Server):
    """Says when it is ready, and waits for nobody who does not read."""

    def __init__(self, config: uvicorn.Config, app: Application) -> None:
        super().__init__(config)
        self._app = app
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.end_streams()
        for connection in list(self.server_state.connections):
            if isinstance(connection, _Protocol):
                connection.give_up_if_stuck()
        await super().shutdown(sockets)


class _Protocol(H11Protocol):
    """Closes a connection on which a request takes too long to come, or on which an answer is not read: uvicorn would
    wait for ever, and with it the slot of the request. Streams may wait: they are counted by themselves.
    """

    def __init__(self, unread_seconds: float, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._unread_seconds = unread_seconds
        self._waiting: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        self._stop_watching_answer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if (self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]) or self._has_idle_body:
            self._watch_request()
        else:
            self._stop_watching()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._has_idle_body:
            self._watch_request()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_answer()

    def resume_writing(self) -> None:
        self._stop_watching_answer()
        super().resume_writing()

    def give_up_if_stuck(self) -> None:
        """Cut the connection if what was sent is not taken."""
        if self.flow.write_paused:
            self.transport.abort()

    @property
    def _has_idle_body(self) -> bool:
        """Return whether a request was answered whose body has not come, and is of no use any more."""
        return self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY

    @property
    def _is_stream(self) -> bool:
        slot = self.scope.get(SLOT)
        return isinstance(slot, Slot) and not slot.held and not self.cycle.response_complete

    def _watch_request(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_watching(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _watch_answer(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._unread = self.loop.call_later(self._unread_seconds, self._look_at_answer, left)

    def _look_at_answer(self, before: int) -> None:
        if self.transport.get_write_buffer_size() >= before and not self._is_stream:
            self.transport.abort()
        else:
            self._watch_answer()

    def _stop_watching_answer(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
