"""Opens connections: looks up names, passes proxies, agrees on TLS. An abort ends any of these at once."""

import os
from contextlib import suppress
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING

from linnet.core.cancel import Cancel
from linnet.errors import Cancelled, ConfigError, ProviderError, ProviderRejected, ProviderUnavailable
from linnet.providers.http import head, proxies, tls
from linnet.providers.http.urls import Url

if TYPE_CHECKING:
    import socket

_PATIENCE = 5.0  # Seconds for one address of a host, as long as there is another to try.


def dial(provider: str, url: Url, proxy: Url | None, timeout: float, cancel: Cancel) -> "socket.socket":
    """Return a connected socket, ready for a request. Raises ProviderError or Cancelled.

    Nothing can interrupt a name lookup, so a thread of its own does the work and an abort merely stops waiting for it.
    """
    attempt = _Attempt(url, proxy, timeout)
    try:
        with cancel.interrupting(attempt.abandon):
            Thread(target=attempt.run, name="linnet-dial", daemon=True).start()
            attempt.done.wait()
    except Cancelled:
        attempt.abandon()
        raise
    if attempt.sock is None:
        raise _explained(provider, attempt.failure, attempt.place, timeout)
    return attempt.sock


class _Attempt:
    """One attempt to connect, in a thread of its own.

    Invariant: a socket leaves through `sock` unless the attempt was abandoned; then it is closed, however late.
    """

    def __init__(self, url: Url, proxy: Url | None, timeout: float) -> None:
        self.done = Event()
        self.sock: socket.socket | None = None
        self.failure: Exception | None = None
        # What is being spoken to, in words: the proxy, until there is a way through it.
        self.place = url.address if proxy is None else f"the proxy {proxy.address} (see HTTPS_PROXY and its like)"
        self._url = url
        self._proxy = proxy
        self._deadline = monotonic() + timeout
        self._lock = Lock()
        self._held: socket.socket | None = None
        self._abandoned = False

    def run(self) -> None:
        """Connect, and leave the socket in `sock` or the reason in `failure`."""
        try:
            sock = self._connected()
            with self._lock:
                if not self._abandoned:
                    self.sock = sock
                    self._held = None
        except (OSError, ValueError, ConfigError) as failure:  # A name that cannot be spelled is a ValueError.
            self.failure = failure
        finally:
            self._drop()
            self.done.set()

    def abandon(self) -> None:
        """Make whoever waits for this attempt stop waiting. Any thread may call this."""
        import socket

        with self._lock:
            self._abandoned = True
            if self._held is not None:
                with suppress(OSError):  # Not connected yet, or no longer.
                    socket.socket.shutdown(self._held, socket.SHUT_RDWR)
            if self.sock is not None:
                self.sock.close()
                self.sock = None
        self.done.set()

    def _connected(self) -> "socket.socket":
        place = self._proxy or self._url
        sock = self._reached(place)
        if self._proxy is not None and self._url.secure:
            self._tunnel(sock, self._proxy)
            self.place = f"{self._url.address}, through the proxy {self._proxy.address}"
        if self._url.secure:
            context = tls.context()
            sock.settimeout(self._left())
            secured = context.wrap_socket(
                sock, server_hostname=self._url.host, do_handshake_on_connect=False, suppress_ragged_eofs=True
            )
            self._hold(secured)
            secured.do_handshake()
            sock = secured
        return sock

    def _reached(self, place: Url) -> "socket.socket":
        import socket

        # As text it would load an encoding for names; plain ones need none.
        plain = place.host.isascii() and all(0 < len(label) < 64 for label in place.host.removesuffix(".").split("."))
        host = place.host.encode("ascii") if plain else place.host
        addresses = socket.getaddrinfo(host, place.port, type=socket.SOCK_STREAM)
        failure: OSError = OSError("it has no address")
        for count, (family, kind, protocol, _, address) in enumerate(addresses, 1):
            sock = socket.socket(family, kind, protocol)
            self._hold(sock)
            try:
                sock.settimeout(self._left() if count == len(addresses) else min(self._left(), _PATIENCE))
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _notice_dead_peers(sock)
                sock.connect(address)
            except OSError as error:
                failure = error
                self._drop()
            else:
                return sock
        raise failure

    def _tunnel(self, sock: "socket.socket", proxy: Url) -> None:
        lines = [f"CONNECT {self._url.address} HTTP/1.1", f"Host: {self._url.address}"]
        if pass_ := proxies.authorization(proxy):
            lines.append(f"Proxy-Authorization: {pass_}")
        sock.settimeout(self._left())
        sock.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
        data = b""
        while not (halves := head.split(data)):
            sock.settimeout(self._left())
            piece = sock.recv(1)  # Not a byte further: what follows belongs to the server behind the proxy.
            if not piece:
                raise OSError("it hung up")
            data += piece
        status = head.parse(halves[0]).status
        if status >= 500:
            raise OSError(f"it answered http {status}")
        if status != 200:
            raise ConfigError(f"it answered http {status}")

    def _hold(self, sock: "socket.socket") -> None:
        """Let `abandon` reach this socket. Raises OSError if the attempt was abandoned before."""
        with self._lock:
            self._held = sock
            abandoned = self._abandoned
        if abandoned:
            self._drop()
            raise OSError("abandoned")

    def _drop(self) -> None:
        with self._lock:
            if self._held is not None:
                self._held.close()
                self._held = None

    def _left(self) -> float:
        """Return how many seconds are left. Raises TimeoutError if none are."""
        left = self._deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def _notice_dead_peers(sock: "socket.socket") -> None:
    """Have the system probe a silent connection, so that one whose other side is gone ends with an error."""
    import socket

    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _explained(provider: str, failure: Exception | None, place: str, timeout: float) -> ProviderError:
    if isinstance(failure, TimeoutError):
        return ProviderUnavailable(provider, f"could not connect to {place}: no answer within {timeout:g} s")
    if type(failure).__name__ == "SSLCertVerificationError":
        why = getattr(failure, "verify_message", "") or failure
        return ProviderRejected(provider, f"could not trust {place}: {why}")
    if isinstance(failure, OSError):
        return ProviderUnavailable(provider, f"could not connect to {place}: {describe(failure)}")
    return ProviderRejected(provider, f"could not connect to {place}: {failure}")


def describe(failure: OSError) -> str:
    """Return the system's words for a failure, as the middle of a sentence."""
    if failure.errno is not None and type(failure).__module__ == "builtins":
        words = os.strerror(failure.errno)
    else:  # Name lookups and TLS count in numbers of their own.
        words = failure.strerror or str(failure) or "for no known reason"
    return words[:1].lower() + words[1:]
