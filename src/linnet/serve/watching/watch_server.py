"""Serves the page of one watched agent beside the thread that passes its bytes on, which waits for nothing here."""

import os
import select
import socket
import threading
from typing import TYPE_CHECKING, Any, Final, cast

from linnet import logs
from linnet.errors import ConfigError
from linnet.serve.watching.watched import Watched

if TYPE_CHECKING:
    from collections.abc import Callable

    from linnet.serve.watching.watch_app import WatchApp

NEEDED: Final = ("starlette", "uvicorn")
_LOOPBACK: Final = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1"}
LAST_WORDS: Final = 0.5  # Seconds for the end of the agent to reach those who look.


class WatchServer:
    """A listening socket, and the thread that answers there.

    What HTTP needs is imported when somebody comes, who waits for that: an agent that nobody looks at pays for nothing.
    """

    def __init__(self, watched: Watched, address: str = "127.0.0.1:0") -> None:
        """Raises ConfigError if it cannot be served there, or if the extra is not installed."""
        _check_installed()
        self._watched = watched
        self._token = _secret()
        self._listening = _listen(address)
        name, self.port = self._listening.getsockname()[:2]
        shown = f"[{name}]" if ":" in name else name
        self.url = f"http://{shown}:{self.port}/#token={self._token}"
        """The address of the page, with the token of this run in its fragment."""
        self._app: WatchApp | None = None

    def begin(self, say: "Callable[[str], None]", *, show: bool) -> None:
        """Serve from now on, say where, and show it in a browser if that is wanted."""
        told = threading.Thread(target=lambda: self._tell(say, show), name="linnet-watch-told", daemon=True)
        told.start()  # Not here: somebody who does not read our stderr must not keep the agent from beginning.
        threading.Thread(target=lambda: self._serve(say), name="linnet-watch", daemon=True).start()

    def end(self) -> None:
        """Return when everybody who reads has been told of the end of the agent: soon."""
        if self._app is not None:
            self._app.drain(LAST_WORDS)

    def _tell(self, say: "Callable[[str], None]", show: bool) -> None:
        say(f"the page: {self.url}")
        if show:
            from linnet.serve.http.shown_page import show as shown

            if not shown(self.url):
                say("no browser could be started")

    def _serve(self, say: "Callable[[str], None]") -> None:
        try:
            poll = select.poll()
            poll.register(self._listening, select.POLLIN)
            poll.poll()
            from linnet.serve.http.http_server import HttpOptions, HttpServer
            from linnet.serve.http.tokens import Tokens
            from linnet.serve.watching.watch_app import LIMITS, WatchApp

            # Nobody has the other token: nothing can be driven here.
            app = WatchApp(self._watched, Tokens(_secret(), self._token), self.port)
            # A server wants of an application that it can be called, and that it ends its streams.
            HttpServer(cast(Any, app), self._listening, HttpOptions(limits=LIMITS)).begin()
            self._app = app
        except Exception as error:  # The agent goes on without a page.
            logs.broke("linnet.watch", "the page cannot be served")
            say(f"there is no page: {error}")


def _secret() -> str:
    """Return a new token. It is what `secrets` would make of it, which imports more than the agent should wait for."""
    return os.urandom(32).hex()


def _check_installed() -> None:
    from importlib.util import find_spec

    for name in NEEDED:
        if find_spec(name) is None:
            raise ConfigError(
                f"linnet watch needs the extra `serve`: pip install 'linnet-agent[serve]' ({name} is missing)"
            )


def _listen(address: str) -> socket.socket:
    """Return a socket that listens there. Raises ConfigError, also for a place that others than this machine reach."""
    name, _, port = address.rpartition(":")
    name = name.strip("[]") or "127.0.0.1"
    if not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"--http must be HOST:PORT, such as 127.0.0.1:8080, not {address!r}")
    if name not in _LOOPBACK:
        raise ConfigError(f"--http {name}: linnet watch serves this machine only, such as 127.0.0.1:{port}")
    listening = socket.socket(socket.AF_INET6 if ":" in name else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((_LOOPBACK[name], int(port)))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise ConfigError(f"--http {address} cannot be listened on: {os.strerror(error.errno or 0)}") from None
    return listening
