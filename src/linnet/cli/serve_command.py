"""`linnet serve`: any number of agents behind a unix socket and, where that is asked for, HTTP with a page."""

import os
import sys
from collections.abc import Callable, Sequence
from threading import Thread
from typing import TYPE_CHECKING, Any

from linnet.errors import ConfigError
from linnet.flags.flags import TABLE, Flag, Program, UsageError, help_text, parse
from linnet.server.terminal import say, tell

if TYPE_CHECKING:
    from linnet.serve.agents.host import Host
    from linnet.serve.http.http_server import HttpServer
    from linnet.serve.unix.loop import Loop

USAGE = """\
linnet serve: any number of agents in one process, for any number of clients

  linnet serve                          on a unix socket; linnet attach is a client
  linnet serve --http 127.0.0.1:8080    over HTTP too, with a page; --open shows it in a browser
  linnet serve … --model M --permission ask    what every agent begins with: all flags of linnet

  SIGTERM lets the steps under way end, writes the sessions and ends; a second one ends at once.

Flags
"""


def _whole(word: str) -> int:
    if not word.isdecimal() or not 0 < int(word) < 1 << 62:
        raise ValueError("a whole number, 1 or more")
    return int(word)


def _number(word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = 0
    if not 0 < number < 1e9:
        raise ValueError("a number above 0")
    return number


def _list(word: str) -> list[str]:
    return [each for each in word.split(",") if each]


def _one(word: str) -> list[str]:
    return [word]


def _on_detach(word: str) -> str:
    if word not in ("keep", "abort"):
        raise ValueError("keep or abort")
    return word


FLAGS = (
    Flag(("--socket",), "socket", "where the unix socket is (default: in XDG_RUNTIME_DIR or LINNET_HOME)", str, "PATH"),
    Flag(("--no-socket",), "no_socket", "no unix socket: HTTP only"),
    Flag(("--http",), "http", "serve HTTP, too, such as 127.0.0.1:8080; port 0 is any that is free", str, "ADDRESS"),
    Flag(("--open",), "show", "with --http: show the page in a browser"),
    Flag(("--state",), "state", "where agents and their events are kept (default: serve in LINNET_HOME)", str, "DIR"),
    Flag(
        ("--root",),
        "roots",
        "over HTTP: agents may be opened in this folder and below; repeatable",
        _one,
        "DIR",
        repeatable=True,
    ),
    Flag(("--open-flags",), "open_flags", "over HTTP: flags that may be asked for, besides the usual", _list, "LIST"),
    Flag(
        ("--host-name",),
        "host_names",
        "a name that this is known by, besides localhost; repeatable",
        _one,
        "NAME",
        repeatable=True,
    ),
    Flag(("--origin",), "origins", "pages of this origin may use it, too; repeatable", _one, "URL", repeatable=True),
    Flag(("--tls-cert",), "tls_cert", "with --tls-key: serve HTTPS with this certificate", str, "FILE"),
    Flag(("--tls-key",), "tls_key", "the key of the certificate", str, "FILE"),
    Flag(("--behind-proxy",), "behind_proxy", "a proxy in front of this sees to encryption"),
    Flag(("--max-agents",), "max_agents", "how many agents there may be (default: 10000)", _whole, "N"),
    Flag(("--max-connections",), "max_connections", "to the socket (default: 4096)", _whole, "N"),
    Flag(("--awake",), "awake", "how many may be awake without anything to do (default: 100)", _whole, "N"),
    Flag(("--sleep-after",), "sleep_after", "seconds until one with nothing to do sleeps (default: 60)", _number, "S"),
    Flag(
        ("--on-detach",), "on_detach", "when the last driver goes, runs go on (keep) or end (abort)", _on_detach, "WHAT"
    ),
    Flag(("--agent-budget",), "agent_budget", "dollars that one agent may cost", _number, "USD"),
    Flag(("--budget",), "budget", "dollars that all agents may cost together", _number, "USD"),
    Flag(("--keep-bytes",), "keep_bytes", "bytes of events that are kept of an agent (default: 64 MiB)", _whole, "N"),
    Flag(("--keep-hours",), "keep_hours", "hours for which events are kept (default: 24)", _number, "H"),
    Flag(("--keep-all-bytes",), "keep_all_bytes", "bytes of all events that are kept (default: 4 GiB)", _whole, "N"),
    Flag(("--drain",), "drain", "seconds that SIGTERM gives the steps under way (default: 60)", _number, "S"),
    Flag(("-h", "--help"), "help", "print this"),
)
SERVE = Program("linnet serve", USAGE, FLAGS, table=())


def serve(argv: Sequence[str]) -> int:
    """Run `linnet serve`, and return the exit code. Raises LinnetError, OSError."""
    own, agents = split(argv)
    flags = parse(own, SERVE)
    if flags.help:
        tell(help_text(SERVE) + "\n\nand all flags of linnet: see linnet --help")
        return 0
    said = flags.config
    for needing in ("show", "roots", "open_flags", "host_names", "origins", "tls_cert", "tls_key", "behind_proxy"):
        if said.get(needing) and not said.get("http"):
            raise UsageError(f"{SERVE_NAMES[needing]} is for --http ADDRESS")
    if said.get("no_socket") and not said.get("http"):
        raise UsageError("--no-socket leaves nothing to serve: give --http ADDRESS")
    return _Serving(said, agents).run()


def split(argv: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the words that are for the server, and those that every agent begins with."""
    own: list[str] = []
    others: list[str] = []
    known = SERVE.by_name()
    theirs = {name: flag for flag in TABLE for name in flag.names}
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, equals, _ = word.partition("=")
        flag = known.get(name) or theirs.get(name)
        to = own if name in known or flag is None else others
        to.append(word)
        if flag is not None and flag.parse is not None and not equals and rest:
            to.append(rest.pop(0))
    if others:
        parse(others)  # What makes no sense is said now, and not to the first who opens an agent.
    return own, tuple(others)


SERVE_NAMES = {flag.field: flag.names[0] for flag in FLAGS}


class _Serving:
    """One server, from its start to its end."""

    def __init__(self, said: dict[str, Any], agents: tuple[str, ...]) -> None:
        self._said = said
        self._agents = agents
        self._signals = 0

    def run(self) -> int:
        from linnet.runtime.settings.folders import home_folder
        from linnet.serve.agents.garbage import GarbageCollection
        from linnet.serve.agents.host import Host
        from linnet.serve.unix import systemd
        from linnet.serve.unix.loop import Loop, is_own, raise_limit_of_descriptors
        from linnet.serve.unix.place import Place, peer_uid

        sys.setswitchinterval(0.001)  # So many threads share one interpreter: none waits long for its turn.
        raise_limit_of_descriptors()
        home = home_folder(os.environ)
        host = Host(self._options(home), _taken_keys(), own_process=True)
        place: Place | None = None
        try:
            listening = None
            if not self._said.get("no_socket"):
                place = Place(self._said.get("socket"), os.environ)
                listening = place.listen()
            host.begin()
            loop = Loop(host, listening, lambda each: is_own(peer_uid(each)), self._said.get("max_connections", 4096))
            loop.wakeup.on_signals()
            loop.on_signal = lambda number: self._end(number, host, loop)
            http = self._http(host, home) if self._said.get("http") else None
            self._announce(place, http, host.options.state)
            systemd.notify("READY=1")
            garbage = GarbageCollection(lambda: host.is_quiet)
            garbage.begin()
            loop.run()
            garbage.stop()
            systemd.notify("STOPPING=1")
            if http is not None:
                http.stop()
            host.close()
            loop.close()
        finally:
            if place is not None:
                place.close()
            if self._said.get("show"):
                from linnet.serve.http.shown_page import forget

                forget()
        return 0

    def _options(self, home: str) -> Any:
        from linnet.eventlog.event_log import Limits
        from linnet.serve.agents.host import HostOptions

        said = self._said
        usual = Limits()
        hours = said.get("keep_hours")
        limits = Limits(
            said.get("keep_bytes", usual.bytes), usual.milliseconds if hours is None else round(hours * 3_600_000)
        )
        chosen = ("max_agents", "awake", "sleep_after", "on_detach", "agent_budget", "budget")
        given = {name: said[name] for name in chosen if name in said}
        if "keep_all_bytes" in said:
            given["all_bytes"] = said["keep_all_bytes"]
        state = os.path.abspath(os.path.expanduser(said.get("state") or os.path.join(home, "serve")))
        return HostOptions(state=state, defaults=self._agents, limits=limits, **given)

    def _http(self, host: "Host", home: str) -> "HttpServer":
        try:
            from linnet.serve.http.http_server import HttpOptions, http_server
        except ImportError as error:
            raise ConfigError(
                f"--http needs the extra `serve`: pip install 'linnet-agent[serve]' ({error.name} is missing)"
            ) from None
        said = self._said
        options = HttpOptions(
            address=said["http"],
            state=host.options.state,
            roots=tuple(said.get("roots", ())),
            open_flags=tuple(said.get("open_flags", ())),
            host_names=tuple(said.get("host_names", ())),
            origins=tuple(said.get("origins", ())),
            tls_cert=said.get("tls_cert", ""),
            tls_key=said.get("tls_key", ""),
            behind_proxy=bool(said.get("behind_proxy")),
        )
        server = http_server(host, options)
        server.begin()
        return server

    def _announce(self, place: Any, http: "HttpServer | None", state: str) -> None:
        """Say where it is, and show the page if that is asked for."""
        if place is not None:
            say(f"serving at {place.path}")
        if http is None:
            return
        say(f"serving at {http.url}")
        from linnet.serve.http.tokens import tokens_in

        page = f"{http.url}/#token={tokens_in(state).drive}"
        if self._said.get("show"):  # Not here: some browsers end when their last window is closed.
            Thread(target=_show, args=(page,), name="linnet-browser", daemon=True).start()
        elif sys.stderr is not None and sys.stderr.isatty():
            say(f"the page: {page}")
        else:
            say("the page needs a token: drive.token or watch.token in the server's folder")

    def _end(self, number: int, host: "Host", loop: "Loop") -> None:
        """Let the steps under way end, and then the server; after a second signal, at once."""
        self._signals += 1
        if self._signals > 1:
            loop.stop()
            return
        say("ending: the steps under way are waited for; a second signal ends at once")
        patience = self._said.get("drain", 60.0)
        Thread(target=lambda: _drained(host, loop.stop, patience), name="linnet-drain", daemon=True).start()


def _show(page: str) -> None:
    from linnet.serve.http.shown_page import show

    if not show(page):
        say(f"no browser could be started; the page is {page}")


def _drained(host: "Host", then: Callable[[], None], patience: float) -> None:
    host.drain(patience)
    then()


def _taken_keys() -> dict[str, str]:
    """Return the environment; keys in it are hidden from what /proc shows."""
    from linnet.attach.command_line import KEY_VARIABLES
    from linnet.server.concealed import conceal_variables

    conceal_variables([name for name in KEY_VARIABLES if os.environ.get(name)])
    return dict(os.environ)
