"""Posts a request and reads the answer as it arrives. With `dial`, the only place where linnet touches a network.

An abort reaches it wherever it blocks: it shuts the socket down from the aborting thread, and the blocked call returns.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Lock
from time import monotonic, time

from msgspec import Struct

from linnet import __version__
from linnet.core.cancel import Cancel
from linnet.errors import ConfigError, ProviderRejected, ProviderUnavailable
from linnet.providers.http import head, proxies, tls, urls, vendor_errors
from linnet.providers.http.call import Bytes, HttpCall
from linnet.providers.http.chunked import BadChunk
from linnet.providers.http.dial import describe, dial
from linnet.providers.http.exchange import READ, Broken, Connection, NoAnswer, ask, silent

MAX_REPLY = 64 << 20  # Bytes, framing included.
_ERROR_BODY = 65536
_KEPT = 60.0  # Routers forget a silent connection without telling anyone.
_MOST_KEPT = 2  # Requests of one session seldom overlap, and never many of them.
_PASSES = ("authorization", "-key", "-token", "-secret", "-password")  # What their names end in.
_NOT_IN_NAMES = frozenset(' "(),/:;<=>?@[\\]{}')
_REMEMBERED = 16  # Secrets of so many calls are hidden in what is told: a signature is another one with each call.
_NOT_STREAMS = frozenset(("application/json", "text/html"))


class Timeouts(Struct, frozen=True):
    """How many seconds a server is waited for."""

    connect: float = 30.0  # From the name lookup to the end of the TLS handshake.
    idle: float = 600.0  # Between two signs of life.
    first_byte: float | None = None  # From the end of the request to the head of the answer; None: as `idle`.


def streams(kind: str) -> bool:
    """Return whether a content type may be that of a stream: anything but what errors and pages are sent as."""
    return kind not in _NOT_STREAMS


class HttpClient:
    """A client of one origin. Keeps idle connections, because a TLS handshake per step is felt.

    Invariant: a connection is used by one reply at a time. One whose reply was not read to its end is closed.
    """

    def __init__(
        self,
        provider: str,
        base_url: str,
        headers: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
        secrets: Sequence[str] = (),
    ) -> None:
        """`headers` are those of every request. Besides the keys in headers, `secrets` are hidden in what is told."""
        self.provider = provider
        self.url = urls.parse_base(base_url)
        """The origin, and the path of the base URL, from which the paths of calls are made."""
        self._timeouts = timeouts or Timeouts()
        self._headers = {**_standard(self.url), **(headers or {})}
        self._lines = _lines(self._headers)
        self._fixed_secrets = [*secrets, *_secrets(self._headers)]
        self._passing_secrets: list[str] = []
        self.max_reply = MAX_REPLY
        self.bare_overflow = False
        """A 400 without a word means that the conversation does not fit."""
        self._lock = Lock()
        self._idle: list[Connection] = []
        self._closed = False

    @property
    def secrets(self) -> list[str]:
        """Return what no error may show: the keys that were sent, to the server or to a proxy."""
        return list(dict.fromkeys((*self._fixed_secrets, *self._passing_secrets)))

    def post(self, call: HttpCall, cancel: Cancel, *, accept: Callable[[str], bool] = streams) -> "HttpReply":
        """Return the answer, once its head says that the request was accepted and that its content type is one that
        `accept` accepts. Raises ProviderError or Cancelled.
        """
        try:
            proxy = proxies.choose(self.url, os.environ)
            lines = self._lines_of(call)
        except ConfigError as error:
            raise ProviderRejected(self.provider, str(error)) from None
        passing = [*_secrets(call.headers), *(proxies.secrets(proxy) if proxy is not None else ())]
        if passing:
            with self._lock:  # Those of the latest calls come last, each once.
                others = [each for each in self._passing_secrets if each not in passing]
                self._passing_secrets = [*others, *passing][-_REMEMBERED:]
        request = self._request(proxy, call, lines)
        kept = self._reusable()
        reply = self._exchange(kept, request, call.body, cancel, fresh=False) if kept else None
        if reply is None:
            connection = Connection(dial(self.provider, self.url, proxy, self._timeouts.connect, cancel))
            reply = self._exchange(connection, request, call.body, cancel, fresh=True)
            if reply is None:
                raise ProviderUnavailable(self.provider, f"{self.url.address} closed the connection without answering")
        reply.demand_stream(accept)
        return reply

    def warm(self) -> None:
        """Do now, in whichever thread, what the first request would otherwise wait for. Connects to nothing."""
        import socket  # noqa: F401

        if self.url.secure:
            with suppress(ConfigError):  # The first request will say so.
                tls.context()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def keep(self, connection: Connection) -> None:
        """Take back a connection whose reply was read to its end, for the next request."""
        connection.since = monotonic()
        with self._lock:
            self._idle.append(connection)
            most = 0 if self._closed else _MOST_KEPT
            spare, self._idle = self._idle[: len(self._idle) - most], self._idle[len(self._idle) - most :]
        for each in spare:
            each.close()

    def _reusable(self) -> Connection | None:
        """Return the connection that was used last, if it can be used again. Those that cannot are closed."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if monotonic() - connection.since < _KEPT and connection.settled():
                return connection
            connection.close()

    def _lines_of(self, call: HttpCall) -> str:
        """Return the lines of the head that do not depend on the way. Raises ConfigError."""
        path = call.path
        if not (path.startswith("/") and path.isascii() and path.isprintable() and " " not in path):
            raise ConfigError(f"the path {path!r} cannot be asked for; check the base URL and the name of the model")
        if not call.headers and not call.without:
            return self._lines
        named = {name.lower() for name in call.headers} | call.without
        kept = {name: value for name, value in self._headers.items() if name.lower() not in named}
        return _lines({**kept, **call.headers})

    def _request(self, proxy: urls.Url | None, call: HttpCall, lines: str) -> bytes:
        target, extra = call.path, ""
        if proxy is not None and not self.url.secure:
            target = f"http://{self.url.authority}{target}"
            if pass_ := proxies.authorization(proxy):
                extra = f"Proxy-Authorization: {pass_}\r\n"
        return f"{call.method} {target} HTTP/1.1\r\n{lines}{extra}Content-Length: {call.size}\r\n\r\n".encode("latin-1")

    def _exchange(
        self, connection: Connection, request: bytes, body: Sequence[Bytes], cancel: Cancel, *, fresh: bool
    ) -> "HttpReply | None":
        """Return None if a new connection should be tried: the server closed this one without a byte of an answer, as
        it may do at any time with one that was idle.
        """
        timeouts = self._timeouts
        try:
            with cancel.interrupting(connection.interrupt):
                connection.sock.settimeout(timeouts.idle)
                if not fresh:  # A new connection would not have had more time either.
                    connection.give_up_after(timeouts.connect)
                answer = ask(connection, request, body, timeouts.first_byte or timeouts.idle)
                connection.sock.settimeout(timeouts.idle)
                if not fresh:
                    connection.give_up_after(0)
        except NoAnswer:
            connection.close()
            raise self._no_answer() from None
        except OSError as error:
            connection.close()
            if silent(error):
                raise self._silence() from None
            if not fresh:
                return None
            raise ProviderUnavailable(
                self.provider, f"lost the connection to {self.url.address}: {describe(error)}"
            ) from None
        except Broken as error:
            connection.close()
            raise ProviderUnavailable(self.provider, f"the reply was cut short: {error}") from None
        except (head.BadHead, BadChunk) as error:
            connection.close()
            raise ProviderUnavailable(self.provider, f"{self.url.address} does not speak HTTP: {error}") from None
        except BaseException:
            connection.close()
            raise
        # A server that tires of an idle connection may say so, in the moment in which we ask.
        if answer is None or (answer[0].status == 408 and not answer[0].keeps and not fresh):
            connection.close()
            return None
        return HttpReply(self, connection, *answer, cancel)

    def _no_answer(self) -> ProviderUnavailable:
        if self._timeouts.first_byte is None:
            return self._silence()
        return ProviderUnavailable(
            self.provider,
            f"{self.url.address} did not begin to answer within {self._timeouts.first_byte:g} s (first_byte_timeout)",
        )

    def _silence(self) -> ProviderUnavailable:
        return ProviderUnavailable(
            self.provider, f"{self.url.address} said nothing for {self._timeouts.idle:g} s (timeout)"
        )

    def too_large(self) -> ProviderRejected:
        """Return the error for a reply that has more bytes than it may."""
        most = self.max_reply
        size = f"{most >> 20} MiB" if most >= 1 << 20 and not most % (1 << 20) else f"{most} bytes"
        return ProviderRejected(self.provider, f"the reply is larger than {size} (max_reply); it was cut there")

    def lost(self, error: OSError) -> ProviderUnavailable:
        """Return the error for a reply that was cut short."""
        if silent(error):
            return self._silence()
        return ProviderUnavailable(self.provider, f"the reply was cut short: {describe(error)}")


class HttpReply:
    """The answer to one request. Let it go with `release` when all of it that matters was heard, else with `close`."""

    def __init__(
        self,
        client: HttpClient,
        connection: Connection,
        answer: head.Head,
        body: head.Body,
        first: bytes,
        cancel: Cancel,
    ) -> None:
        self.head = answer
        self._client = client
        self._connection = connection
        self._body = body
        self._first = first
        self._cancel = cancel
        self.heard = 0  # So many bytes, with all that frames them.

    def read(self) -> bytes:
        """Return what one network read brought; empty at the end of the body.

        Raises ProviderError if it is cut, or if there is more of it than a reply may have.
        """
        if self._first:
            first, self._first = self._first, b""
            return first
        connection, body = self._connection, self._body
        try:
            while not body.finished:
                # A reader that is behind finds more waiting; a long reply then goes on in fewer, larger pieces.
                with self._cancel.interrupting(connection.interrupt_reading):
                    data = connection.sock.recv(max(READ, self.heard >> 6))
                self.heard += len(data)
                if self.heard > self._client.max_reply:
                    raise self._client.too_large()
                if data:
                    if piece := body.feed(data):
                        return piece
                elif isinstance(body, head.OpenBody):
                    body.finished = True
                else:
                    raise ProviderUnavailable(self._client.provider, "the reply was cut short")
        except OSError as error:
            self.close()
            raise self._client.lost(error) from None
        except BadChunk as error:
            self.close()
            raise ProviderUnavailable(self._client.provider, f"the reply was garbled: {error}") from None
        except BaseException:
            self.close()
            raise
        return b""

    def release(self) -> None:
        """Give the connection back for the next request, or close it if it cannot be used again."""
        if self.head.keeps and not self._first and self._connection.open:
            self._connection.body = self._body
            self._client.keep(self._connection)
        else:
            self.close()

    def close(self) -> None:
        self._connection.close()

    def demand_stream(self, accept: Callable[[str], bool] = streams) -> None:
        """Raise ProviderError unless the answer is a success of a content type that is accepted."""
        status = self.head.status
        if 200 <= status < 300 and accept(self.head.type):
            encoding = self.head.headers.get("content-encoding", "identity")
            if encoding == "identity":
                return
            self.close()
            raise ProviderRejected(self._client.provider, f"the reply is compressed ({encoding}), though nobody asked")
        body = self._everything()
        if 200 <= status < 300:
            text = body.decode("utf-8", "replace").strip()[:500]
            raise ProviderRejected(
                self._client.provider, f"expected an event stream but got {self.head.type}, check the base URL: {text}"
            )
        raise vendor_errors.from_status(
            self._client.provider, status, self.head.headers, body, time(), bare_overflow=self._client.bare_overflow
        )

    def _everything(self) -> bytes:
        """Return the body of an answer that is an error, or its beginning."""
        pieces: list[bytes] = []
        size = 0
        try:
            while size < _ERROR_BODY and (piece := self.read()):
                pieces.append(piece)
                size += len(piece)
        except ProviderUnavailable:
            pass  # Half an explanation is still one.
        else:
            self.release() if self._body.finished else self.close()
        return b"".join(pieces)


def _secrets(headers: Mapping[str, str]) -> list[str]:
    """Return the keys in the headers: the last word of each header that lets a request in."""
    return [value.split()[-1] for name, value in headers.items() if name.lower().endswith(_PASSES) and value.strip()]


def _standard(url: urls.Url) -> dict[str, str]:
    return {
        "Host": url.authority,
        "User-Agent": f"linnet/{__version__}",
        "Accept": "application/json, text/event-stream",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
    }


def _lines(headers: Mapping[str, str]) -> str:
    for name, value in headers.items():
        if not (name.isascii() and name.isprintable()) or set(name) & _NOT_IN_NAMES or not name:
            raise ConfigError(f"{name!r} cannot be the name of a header")
        if not (value.isascii() and value.isprintable()):
            raise ConfigError(f"the {name} header would hold a character that cannot be sent; check the API key")
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())
