"""Opens connections: tries a host's addresses, passes proxies, agrees on TLS. An abort ends any of these at once."""

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import zip_longest
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from linnet.core.cancel import Cancel
from linnet.errors import Cancelled, ConfigError, ProviderError, ProviderRejected, ProviderUnavailable
from linnet.providers.http import head, proxies, tls
from linnet.providers.http.urls import Url

if TYPE_CHECKING:
    import socket

Place: TypeAlias = "tuple[int, int, int, str, tuple[Any, ...]]"
"""An address as `getaddrinfo` returns it."""

_HEAD_START = 0.25  # Seconds, after which another address is tried beside those that have not answered.
_NO_WAY = frozenset((errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL, errno.ENETUNREACH, errno.EHOSTUNREACH))


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
        self._held: list[socket.socket] = []
        self._abandoned = False

    def run(self) -> None:
        """Connect, and leave the socket in `sock` or the reason in `failure`."""
        try:
            sock = self._connected()
            with self._lock:
                if not self._abandoned:
                    self.sock = sock
                    self._held.remove(sock)
        except (OSError, ValueError, ConfigError) as failure:  # A name that cannot be spelled is a ValueError.
            self.failure = failure
        finally:
            for sock in list(self._held):
                self._drop(sock)
            self.done.set()

    def abandon(self) -> None:
        """Make whoever waits for this attempt stop waiting. Any thread may call this."""
        import socket

        with self._lock:
            self._abandoned = True
            for sock in self._held:
                with suppress(OSError):  # Not connected yet, or no longer.
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)
            if self.sock is not None:
                self.sock.close()
                self.sock = None
        self.done.set()

    def _connected(self) -> "socket.socket":
        """Return a socket that is ready for a request. An address that is connected to and fails then is not the last
        one that is tried.
        """
        waiting = self._addresses(self._proxy or self._url)
        failures: list[OSError] = []
        while True:
            sock = self._reached(waiting, failures)
            try:
                return self._agreed(sock, last=not waiting)
            except OSError as failure:
                failures.append(failure)
                if not waiting:
                    raise _telling(failures) from None

    def _agreed(self, sock: "socket.socket", *, last: bool) -> "socket.socket":
        """Return the socket with a way through the proxy, and with TLS, where they are needed. Drops it if it fails."""
        held = sock
        until = self._deadline if last else monotonic() + self._left() / 2
        try:
            if self._proxy is not None and self._url.secure:
                self._tunnel(sock, self._proxy, until)
                self.place = f"{self._url.address}, through the proxy {self._proxy.address}"
            if self._url.secure:
                sock.settimeout(_left(until))
                held = tls.context().wrap_socket(
                    sock, server_hostname=self._url.host, do_handshake_on_connect=False, suppress_ragged_eofs=True
                )
                self._hold(held, instead=sock)
                held.do_handshake()
        except BaseException:
            self._drop(held)
            raise
        return held

    def _addresses(self, place: Url) -> list[Place]:
        """Look up the addresses of a host. Returns them in the system's order, but with its two families in turn."""
        import socket

        # As text it would load an encoding for names; plain ones need none.
        plain = place.host.isascii() and all(0 < len(label) < 64 for label in place.host.removesuffix(".").split("."))
        host = place.host.encode("ascii") if plain else place.host
        found: Sequence[Place] = socket.getaddrinfo(host, place.port, type=socket.SOCK_STREAM)
        if not found:
            raise OSError("it has no address")
        first = [each for each in found if each[0] == found[0][0]]
        second = [each for each in found if each[0] != found[0][0]]
        return [each for pair in zip_longest(first, second) for each in pair if each is not None]

    def _reached(self, waiting: list[Place], failures: list[OSError]) -> "socket.socket":
        """Return a socket that is connected to the first of these addresses to answer.

        Each gets a head start before the next one is tried beside it. In `waiting` remain those that have not failed.
        Raises OSError if all fail.
        """
        import selectors
        import socket

        trying: dict[socket.socket, Place] = {}
        turn = 0.0  # When the next address is tried.
        with selectors.DefaultSelector() as selector:
            try:
                while waiting or trying:
                    if waiting and (not trying or monotonic() >= turn):
                        place = waiting.pop(0)
                        try:
                            sock = self._begun(place)
                        except OSError as error:
                            failures.append(error)
                            continue
                        trying[sock] = place
                        selector.register(sock, selectors.EVENT_WRITE)
                        turn = monotonic() + _HEAD_START
                    left = self._left()
                    for key, _ in selector.select(max(0.0, min(left, turn - monotonic())) if waiting else left):
                        sock = key.fileobj  # type: ignore[assignment]
                        selector.unregister(sock)
                        del trying[sock]
                        if self._abandoned:
                            raise OSError("abandoned")
                        if not (number := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)):
                            waiting.extend(trying.values())
                            return sock
                        failures.append(OSError(number, os.strerror(number)))
                        self._drop(sock)
                        turn = 0.0
            finally:
                for sock in trying:
                    self._drop(sock)
        raise _telling(failures)

    def _begun(self, place: Place) -> "socket.socket":
        """Return a socket that is being connected. Raises OSError."""
        import socket

        family, kind, protocol, _, address = place
        sock = socket.socket(family, kind, protocol)
        self._hold(sock)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _notice_dead_peers(sock)
            sock.setblocking(False)
            number = sock.connect_ex(address)
            if self._abandoned:  # Perhaps just before there was anything to shut down.
                raise OSError("abandoned")
            if number not in (0, errno.EINPROGRESS):
                raise OSError(number, os.strerror(number))
        except BaseException:
            self._drop(sock)
            raise
        return sock

    def _tunnel(self, sock: "socket.socket", proxy: Url, until: float) -> None:
        lines = [f"CONNECT {self._url.address} HTTP/1.1", f"Host: {self._url.address}"]
        if pass_ := proxies.authorization(proxy):
            lines.append(f"Proxy-Authorization: {pass_}")
        sock.settimeout(_left(until))
        sock.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
        data = b""
        while not (halves := head.split(data)):
            sock.settimeout(_left(until))
            piece = sock.recv(1)  # Not a byte further: what follows belongs to the server behind the proxy.
            if not piece:
                raise OSError("it hung up")
            data += piece
        status = head.parse(halves[0]).status
        if status >= 500:
            raise OSError(f"it answered http {status}")
        if status != 200:
            raise ConfigError(f"it answered http {status}")

    def _hold(self, sock: "socket.socket", instead: "socket.socket | None" = None) -> None:
        """Let `abandon` reach this socket, and no longer the one that it replaces. Raises OSError if the attempt was
        abandoned before.
        """
        with self._lock:
            if instead is not None:
                self._held.remove(instead)
            self._held.append(sock)
            abandoned = self._abandoned
        if abandoned:
            self._drop(sock)
            raise OSError("abandoned")

    def _drop(self, sock: "socket.socket") -> None:
        with self._lock:  # A number that was closed may already belong to another file.
            if sock in self._held:
                self._held.remove(sock)
            sock.close()

    def _left(self) -> float:
        return _left(self._deadline)


def _left(until: float) -> float:
    """Return how many seconds are left. Raises TimeoutError if none are."""
    left = until - monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _telling(failures: Sequence[OSError]) -> OSError:
    """Return the failure that says most: that of a certificate, else the first of a server, not of a missing route."""
    judged = [failure for failure in failures if type(failure).__name__ == "SSLCertVerificationError"]
    answered = [failure for failure in failures if failure.errno not in _NO_WAY]
    return (judged or answered or failures)[0]


def _notice_dead_peers(sock: "socket.socket") -> None:
    """Have the system probe a silent connection, so that one whose other side is gone ends with an error."""
    import socket

    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 4)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _explained(provider: str, failure: Exception | None, place: str, timeout: float) -> ProviderError:
    if isinstance(failure, TimeoutError):
        return ProviderUnavailable(
            provider, f"could not connect to {place}: no answer within {timeout:g} s (connect_timeout)"
        )
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
