"""Posts a request and reads the answer as it arrives. With `dial`, the only place where linnet touches a network.

An abort reaches it wherever it blocks: it shuts the socket down from the aborting thread, and the blocked call returns.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock
from time import monotonic, time
from typing import TYPE_CHECKING

from msgspec import Struct

from linnet import __version__
from linnet.core.cancel import Cancel
from linnet.errors import ConfigError, ProviderRejected, ProviderUnavailable
from linnet.providers.http import head, proxies, tls, urls, vendor_errors
from linnet.providers.http.chunked import BadChunk
from linnet.providers.http.dial import describe, dial

if TYPE_CHECKING:
    import socket

_READ = 65536
MAX_REPLY = 64 << 20  # Bytes, framing included.
_SETTLING = 16  # So many reads a kept connection may take to come to the end of its last reply.
_ERROR_BODY = 65536
_KEPT = 60.0  # Routers forget a silent connection without telling anyone.
_PASSES = frozenset(("authorization", "x-api-key"))
_NOT_STREAMS = frozenset(("application/json", "text/html"))


class Timeouts(Struct, frozen=True):
    """How many seconds a server is waited for."""

    connect: float = 30.0
    idle: float = 600.0  # Between two signs of life.


class HttpClient:
    """A client of one endpoint. Keeps one idle connection, because a TLS handshake per step is felt.

    Invariant: a connection is used by one reply at a time. One whose reply was not read to its end is closed.
    """

    def __init__(self, provider: str, url: str, headers: Mapping[str, str], timeouts: Timeouts | None = None) -> None:
        self.provider = provider
        self._url = urls.parse(url)
        self._timeouts = timeouts or Timeouts()
        self._headers = _lines(self._url, headers)
        self.secrets = _secrets(headers)
        self.max_reply = MAX_REPLY
        self._lock = Lock()
        self._idle: _Connection | None = None
        self._closed = False

    def post(self, body: bytes, cancel: Cancel) -> "HttpReply":
        """Return the answer, once its head says that the request was accepted. Raises ProviderError or Cancelled."""
        try:
            proxy = proxies.choose(self._url, os.environ)
        except ConfigError as error:
            raise ProviderRejected(self.provider, str(error)) from None
        if proxy is not None:
            self.secrets = list(dict.fromkeys((*self.secrets, *proxies.secrets(proxy))))
        request = self._request(proxy, len(body))
        kept = self._reusable()
        reply = self._exchange(kept, request, body, cancel, fresh=False) if kept else None
        if reply is None:
            sock = dial(self.provider, self._url, proxy, self._timeouts.connect, cancel)
            sock.settimeout(self._timeouts.idle)
            reply = self._exchange(_Connection(sock), request, body, cancel, fresh=True)
            if reply is None:
                raise ProviderUnavailable(self.provider, f"{self._url.address} closed the connection without answering")
        reply.demand_stream()
        return reply

    def warm(self) -> None:
        """Do now, in whichever thread, what the first request would otherwise wait for. Connects to nothing."""
        import socket  # noqa: F401

        if self._url.secure:
            tls.context()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            connection, self._idle = self._idle, None
        if connection is not None:
            connection.close()

    def keep(self, connection: "_Connection") -> None:
        """Take back a connection whose reply was read to its end, for the next request."""
        connection.since = monotonic()
        with self._lock:
            if self._closed:
                spare: _Connection | None = connection
            else:
                spare, self._idle = self._idle, connection
        if spare is not None:
            spare.close()

    def _reusable(self) -> "_Connection | None":
        with self._lock:
            connection, self._idle = self._idle, None
        if connection is None:
            return None
        if monotonic() - connection.since < _KEPT and connection.settled():
            connection.sock.settimeout(self._timeouts.idle)
            return connection
        connection.close()
        return None

    def _request(self, proxy: "urls.Url | None", length: int) -> bytes:
        target, extra = self._url.path, ""
        if proxy is not None and not self._url.secure:
            target = f"http://{self._url.authority}{target}"
            if pass_ := proxies.authorization(proxy):
                extra = f"Proxy-Authorization: {pass_}\r\n"
        return f"POST {target} HTTP/1.1\r\n{self._headers}{extra}Content-Length: {length}\r\n\r\n".encode("latin-1")

    def _exchange(
        self, connection: "_Connection", request: bytes, body: bytes, cancel: Cancel, *, fresh: bool
    ) -> "HttpReply | None":
        """Return None if the server closed without a byte, which an idle connection's server may do at any time."""
        try:
            with cancel.interrupting(connection.interrupt):
                answer = _ask(connection, request, body)
        except TimeoutError:
            connection.close()
            raise self._silence() from None
        except OSError as error:
            connection.close()
            if not fresh:
                return None
            raise ProviderUnavailable(
                self.provider, f"lost the connection to {self._url.address}: {describe(error)}"
            ) from None
        except (head.BadHead, BadChunk) as error:
            connection.close()
            raise ProviderUnavailable(self.provider, f"{self._url.address} does not speak HTTP: {error}") from None
        except BaseException:
            connection.close()
            raise
        if answer is None:
            connection.close()
            return None
        return HttpReply(self, connection, *answer, cancel)

    def _silence(self) -> ProviderUnavailable:
        return ProviderUnavailable(self.provider, f"{self._url.address} said nothing for {self._timeouts.idle:g} s")

    def too_large(self) -> ProviderRejected:
        """Return the error for a reply that has more bytes than it may."""
        most = self.max_reply
        size = f"{most >> 20} MiB" if most >= 1 << 20 and not most % (1 << 20) else f"{most} bytes"
        return ProviderRejected(self.provider, f"the reply is larger than {size} (max_reply); it was cut there")

    def lost(self, error: OSError) -> ProviderUnavailable:
        """Return the error for a reply that was cut short."""
        if isinstance(error, TimeoutError):
            return self._silence()
        return ProviderUnavailable(self.provider, f"the reply was cut short: {describe(error)}")


class HttpReply:
    """The answer to one request. Let it go with `release` when all of it that matters was heard, else with `close`."""

    def __init__(
        self,
        client: HttpClient,
        connection: "_Connection",
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
                    data = connection.sock.recv(max(_READ, self.heard >> 6))
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
        if self.head.keeps and not self._first:
            self._connection.body = self._body
            self._client.keep(self._connection)
        else:
            self.close()

    def close(self) -> None:
        self._connection.close()

    def demand_stream(self) -> None:
        """Raise ProviderError unless the answer is an event stream."""
        status = self.head.status
        if 200 <= status < 300 and self.head.type not in _NOT_STREAMS:
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
        raise vendor_errors.from_status(self._client.provider, status, self.head.headers, body, time())

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


class _Connection:
    """A socket that another thread may shut down while its owner reads from it."""

    def __init__(self, sock: "socket.socket") -> None:
        self.sock = sock
        self.since = 0.0
        self.body: head.Body | None = None  # The last reply's, while kept: its end may still be on the way.
        self._lock = Lock()
        self._open = True

    def interrupt(self) -> None:
        """Wake whoever sends or reads."""
        import socket

        self._shut(socket.SHUT_RDWR)

    def interrupt_reading(self) -> None:
        """Wake whoever reads. The other side hears nothing of it until the reader closes: to tell it takes longer."""
        import socket

        self._shut(socket.SHUT_RD)

    def _shut(self, how: int) -> None:
        import socket

        with self._lock:  # A number that was closed may already belong to another file.
            if self._open:
                with suppress(OSError):  # The other side was quicker.
                    socket.socket.shutdown(self.sock, how)

    def close(self) -> None:
        with self._lock:
            self._open = False
            self.sock.close()

    def settled(self) -> bool:
        """Return whether the last reply has ended and no byte follows it. Never waits."""
        body = self.body
        if body is None:
            return False
        self.sock.setblocking(False)
        for _ in range(_SETTLING):
            try:
                data = self.sock.recv(_READ)
            except OSError as error:
                waiting = isinstance(error, BlockingIOError) or type(error).__name__ == "SSLWantReadError"
                return waiting and body.finished and not body.excess
            if not data or body.finished:
                return False
            try:
                body.feed(data)
            except BadChunk:
                return False
        return False  # A server that goes on like this is not waited for.


def _secrets(headers: Mapping[str, str]) -> list[str]:
    """Return the keys in the headers: the last word of each header that lets a request in."""
    return [value.split()[-1] for name, value in headers.items() if name.lower() in _PASSES and value.strip()]


def _lines(url: urls.Url, headers: Mapping[str, str]) -> str:
    every = {
        "Host": url.authority,
        "User-Agent": f"linnet/{__version__}",
        "Accept": "application/json, text/event-stream",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        **headers,
    }
    for name, value in every.items():
        if not (value.isascii() and value.isprintable()):
            raise ConfigError(f"the {name} header would hold a character that cannot be sent; check the API key")
    return "".join(f"{name}: {value}\r\n" for name, value in every.items())


def _ask(connection: _Connection, request: bytes, body: bytes) -> "tuple[head.Head, head.Body, bytes] | None":
    """Send a request, then read to the end of the answer's head. Return the head, the body's framing, and what was read
    of the body; None if the server closed without a byte. Raises OSError, BadHead or BadChunk.
    """
    sock = connection.sock
    refused: OSError | None = None
    try:
        if len(body) < _READ:
            sock.sendall(request + body)
        else:
            sock.sendall(request)
            sock.sendall(body)
    except TimeoutError:
        raise
    except OSError as error:
        refused = error  # It may have answered before it stopped listening: a body too large, a bad key.
    data = b""
    passed = 0  # Bytes of answers that announce another one.
    while True:
        while not (halves := head.split(data)):
            try:
                piece = sock.recv(_READ)
            except OSError as error:
                raise refused or error from None
            if not piece:
                if refused is not None:
                    raise refused
                if data:
                    raise head.BadHead("it stopped within the head of its answer")
                return None
            data += piece
        answer = head.parse(halves[0])
        if answer.status < 100 or answer.status >= 200:
            framing = answer.body()
            return answer, framing, framing.feed(halves[1]) if halves[1] else b""
        data = halves[1]
        passed += len(halves[0])
        if passed > head.LIMIT:
            raise head.BadHead("it never comes to its answer")
