"""Commands in the sandbox reach hosts by name, and nothing else; servers are this machine's own, and named for it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from threading import enumerate as threads

import pytest

from linnet import Runtime
from linnet.errors import ConfigError
from linnet.processes.proxy import server as proxy
from linnet.processes.proxy.entrance import DOOR
from linnet.processes.proxy.hosts import parsed
from linnet.processes.proxy.server import Proxy, is_ours
from linnet.processes.sandbox.bubblewrap import Sandbox
from linnet.testing.agent import Agent
from linnet.testing.confined import Place
from linnet.testing.processes import wait_until


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.heard.append((self.path, dict(self.headers)))  # type: ignore[attr-defined]
        body = b"reached " + b"x" * 100_000
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        self.server.heard.append((self.path, len(self.rfile.read(size))))  # type: ignore[attr-defined]
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def site() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        server.heard = []  # type: ignore[attr-defined]
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Callable[..., Place]]:
    places: list[Place] = []

    def make(*hosts: str) -> Place:
        places.append(Place(tmp_path, hosts=hosts))
        return places[0]

    yield make
    for place in places:
        place.processes.close()
        assert not [thread for thread in threads() if thread.name == "linnet-proxy"]


PYTHON = "python3 -c 'import urllib.request; print(urllib.request.urlopen(\"{}\").read()[:7])'"
TUNNEL = "curl -sS --proxytunnel {}"


def test_programs_reach_what_is_named(inside: Callable[..., Place], site: ThreadingHTTPServer) -> None:
    place = inside("127.0.0.1")
    url = f"http://127.0.0.1:{site.server_port}/a?b"
    for command in (f"curl -sS '{url}' | head -c 7", f"{TUNNEL.format(url)} | head -c 7", PYTHON.format(url)):
        assert "reached" in place.bash(command).partition("\n\n")[2]
    heard = site.heard  # type: ignore[attr-defined]
    assert [path for path, _ in heard] == ["/a?b"] * 3
    assert heard[0][1]["Host"] == f"127.0.0.1:{site.server_port}"
    place.bash(f"head -c 3000000 /dev/zero > f; curl -sS --data-binary @f {url}")
    assert heard[-1] == ("/a?b", 3_000_000)


def test_they_reach_this_machine_by_its_name_if_that_is_named(
    inside: Callable[..., Place], site: ThreadingHTTPServer
) -> None:
    place = inside("localhost")
    for host in ("localhost", "127.0.0.1"):
        assert "reached" in place.bash(f"curl -sS http://{host}:{site.server_port}/ | head -c 7").partition("\n\n")[2]


def test_a_port_is_the_only_one_if_it_is_named(inside: Callable[..., Place], site: ThreadingHTTPServer) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as other:
        place = inside(f"127.0.0.1:{site.server_port}")
        assert (
            "reached" in place.bash(f"curl -sS http://127.0.0.1:{site.server_port}/ | head -c 7").partition("\n\n")[2]
        )
        said = place.bash(f"curl -sS http://127.0.0.1:{other.server_port}/")
    assert "is not among the hosts that commands may reach" in said


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]", "[::1]", "127.1", "0x7f000001", "2130706433"]
)
def test_this_machine_is_not_reached_unless_it_is_named(
    host: str, inside: Callable[..., Place], site: ThreadingHTTPServer
) -> None:
    place = inside("example.org", "*.example.org")
    for way in ("-x $HTTP_PROXY --noproxy ''", "-x $HTTP_PROXY --noproxy '' --proxytunnel", "--noproxy '*'"):
        assert "reached" not in place.bash(f"curl -sS {way} http://{host}:{site.server_port}/").partition("\n\n")[2]
    assert site.heard == []  # type: ignore[attr-defined]


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Names lead to the first of these, and when they are asked about again, to the next."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def answer(host: str, port: int, **options: object) -> object:
        asked.append(host)
        return real(addresses[min(len(asked), len(addresses)) - 1], port, type=socket.SOCK_STREAM)

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return asked


def test_a_name_that_leads_to_this_machine_is_refused(
    inside: Callable[..., Place], site: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = inside("*.example.org")
    asked = resolving(monkeypatch, "127.0.0.1")
    said = place.bash(f"curl -sS http://a.example.org:{site.server_port}/")
    assert "a.example.org leads to 127.0.0.1, which is this machine's or of a private network" in said
    assert "name 127.0.0.1 among the hosts, too" in said
    assert site.heard == []  # type: ignore[attr-defined]
    assert asked == ["a.example.org"]


@pytest.mark.parametrize("address", ["10.255.255.1", "169.254.169.254", "100.64.0.1", "192.168.255.254"])
def test_a_name_that_leads_to_a_private_network_is_refused(
    address: str, inside: Callable[..., Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = inside("*.example.org")
    monkeypatch.setattr(proxy, "is_ours", lambda place, family: False)
    monkeypatch.setattr(proxy, "PATIENCE", 0.5)
    resolving(monkeypatch, address)
    said = place.bash("curl -sS -m 5 http://a.example.org/")
    assert f"a.example.org leads to {address}, which is this machine's or of a private network" in said


def test_a_name_is_looked_up_once(
    inside: Callable[..., Place], site: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is connected to is what was checked, whatever the name leads to by then."""
    place = inside("a.example.org", "127.0.0.1")
    asked = resolving(monkeypatch, "127.0.0.1", "127.0.0.2")
    assert (
        "reached" in place.bash(f"curl -sS http://a.example.org:{site.server_port}/ | head -c 7").partition("\n\n")[2]
    )
    assert asked == ["a.example.org"]


def test_this_machines_own_addresses_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_ours(("127.0.0.1", 80), socket.AF_INET)
    assert is_ours(("::1", 80, 0, 0), socket.AF_INET6)
    assert not is_ours(("192.0.2.1", 80), socket.AF_INET)


def test_an_own_address_that_looks_public_is_refused(
    inside: Callable[..., Place], site: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = inside("a.example.org")
    monkeypatch.setattr(proxy, "is_public", lambda address: True)
    resolving(monkeypatch, "127.0.0.1")
    assert "this machine's" in place.bash(f"curl -sS http://a.example.org:{site.server_port}/")


def test_nothing_is_reached_past_it(inside: Callable[..., Place], site: ThreadingHTTPServer) -> None:
    place = inside("127.0.0.1")
    said = place.bash(f"unset HTTP_PROXY http_proxy ALL_PROXY all_proxy; curl -sS http://127.0.0.1:{site.server_port}/")
    assert "reached" not in said.partition("\n\n")[2]
    assert "1" in place.bash("grep -c : /proc/net/dev")


def test_what_a_command_serves_itself_is_reached_directly(inside: Callable[..., Place]) -> None:
    place = inside("example.org")
    serve = (
        "import http.server as h; s = h.HTTPServer(('127.0.0.1', 8123), h.SimpleHTTPRequestHandler); "
        "print(1, flush=True); s.handle_request()"
    )
    said = place.bash(
        f'echo own > f; coproc python3 -c "{serve}"; read -u ${{COPROC[0]}} x; curl -sS http://localhost:8123/f'
    )
    assert "own" in said.partition("\n\n")[2]


def test_a_command_finds_its_environment_and_signals_as_they_were(
    inside: Callable[..., Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LANG", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    place = inside("example.org")
    assert "LC_CTYPE" not in place.bash("env").partition("\n\n")[2]
    ignored = int(place.bash("grep SigIgn /proc/self/status").partition("SigIgn:\t")[2].split()[0], 16)
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1)
    assert "exit 7" in place.bash("exit 7")
    assert place.bash("ls /proc/self/fd | wc -l").partition("\n\n")[2].startswith("4")


def test_what_runs_in_the_background_keeps_the_network_and_nothing_is_kept_for_long(
    inside: Callable[..., Place], site: ThreadingHTTPServer
) -> None:
    place = inside("127.0.0.1")
    assert isinstance(place.sandbox, Sandbox)
    entrances = place.sandbox._proxy._entrances  # type: ignore[union-attr]
    for _ in range(3):
        place.bash("true")
    wait_until(lambda: not entrances)
    later = f"until [ -e go ]; do sleep 0.01; done; curl -sS -o out http://127.0.0.1:{site.server_port}/"
    place.bash(f"(setsid sh -c '{later}' </dev/null >/dev/null 2>&1 &)")
    assert len(entrances) == 1
    (place.work / "go").touch()
    wait_until(lambda: site.heard != [])  # type: ignore[attr-defined]
    wait_until(lambda: not entrances)


def test_connections_end_with_the_agent(inside: Callable[..., Place]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = inside("127.0.0.1")
        place.bash(f"(setsid curl -sS http://127.0.0.1:{silent.getsockname()[1]}/ >/dev/null 2>&1 </dev/null &)")
        with closing(silent.accept()[0]) as connection:
            place.processes.close()
            connection.settimeout(10)
            while connection.recv(4096):
                pass
    wait_until(lambda: not [thread for thread in threads() if thread.name == "linnet-proxied"])


def test_it_closes_in_peace_if_its_thread_has_ended_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serving = Proxy(parsed(("127.0.0.1",)), str(tmp_path))
    write = os.write

    def late(fd: int, data: bytes) -> int:
        if fd == serving._wake:
            with socket.socket(socket.AF_UNIX) as visitor:
                visitor.connect(str(tmp_path / DOOR))
            serving._thread.join()
        return write(fd, data)

    monkeypatch.setattr(os, "write", late)
    serving.close()
    assert not serving._thread.is_alive()


def test_there_is_a_bound_to_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "MOST_CONNECTIONS", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = Place(tmp_path, hosts=("127.0.0.1",))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        place.bash(f"(setsid curl -sS {url} >/dev/null 2>&1 </dev/null &)")
        said = ""
        with closing(silent.accept()[0]):
            # The first one is in another network, of another command, and there is room for one in all.
            said = place.bash(f"curl -sS {url}")
        place.processes.close()
    assert "more than 1 connections at once" in said


@pytest.mark.parametrize("kind", ["nothing", "file", "unconnected", "garbage"])
def test_the_door_takes_nothing_but_a_socket_that_listens(kind: str, tmp_path: Path) -> None:
    held = Proxy(parsed(["127.0.0.1"]), str(tmp_path))
    with closing(held), socket.socket(socket.AF_UNIX) as door, open(os.devnull) as null, socket.socket() as loose:
        door.connect(str(tmp_path / "door"))
        if kind == "nothing":
            door.shutdown(socket.SHUT_WR)
        elif kind == "garbage":
            door.sendall(b"x" * 1000)
        else:
            socket.send_fds(door, [b"!"], [null.fileno() if kind == "file" else loose.fileno()])
        door.settimeout(10)
        with suppress(ConnectionResetError):
            assert door.recv(1) == b""


# As a whole


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--sandbox-hosts", "a.org"], "--sandbox-hosts lets commands in the sandbox reach some hosts; it goes with"),
        (["--sandbox", "--sandbox-hosts", "http://a.org"], "--sandbox-hosts takes names such as github.com"),
        (["--sandbox", "--sandbox-hosts", "a.org,,b"], "--sandbox-hosts must be names with commas between them"),
        (["--sandbox", "--sandbox-hosts", "a.org", "--sandbox-network"], "--sandbox-network and --sandbox-hosts"),
        (["--sandbox", "--sandbox-files"], "--sandbox and --sandbox-files do not go together"),
        (["--sandbox-files", "--sandbox-hosts", "a.org"], "--sandbox-hosts lets commands in the sandbox"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(
    flags: list[str], words: str, spawn: Callable[..., Agent], tmp_path: Path
) -> None:
    agent = spawn("rpc", "--provider", "scripted", *flags, env={"LINNET_HOME": str(tmp_path / "home")})
    assert agent.wait() != 0
    assert words in agent.stderr


@pytest.mark.parametrize("flags", [["rpc"], ["--mode", "rpc"]])
def test_an_agent_says_which_hosts(flags: list[str], spawn: Callable[..., Agent], tmp_path: Path) -> None:
    env = {"LINNET_HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}
    said = ("--sandbox", "--sandbox-hosts", "github.com,*.example.org", "--sandbox-hosts", "10.0.0.5")
    agent = spawn(*flags, "--provider", "scripted", *said, env=env)
    hosts = ["github.com", "*.example.org", "10.0.0.5"]
    assert agent.ask("get_state")["data"]["sandbox"] == {"engine": "bubblewrap", "network": False, "hosts": hosts}


def test_a_program_that_hosts_it_names_them(
    tmp_path: Path, site: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINNET_HOME", str(tmp_path / "home"))
    (tmp_path / "work").mkdir()
    with Runtime(provider="scripted", cwd=tmp_path / "work", sandbox=True, sandbox_hosts=["127.0.0.1"]) as runtime:
        assert "reached" in runtime.bash(f"curl -sS http://127.0.0.1:{site.server_port}/ | head -c 7").output
    with pytest.raises(ConfigError, match="sandbox_hosts takes names"):
        Runtime(provider="scripted", cwd=tmp_path / "work", sandbox=True, sandbox_hosts=["http://x"])


def test_without_hosts_nothing_of_it_is_imported() -> None:
    imported = "from linnet.processes.sandbox import bubblewrap"
    code = f"import sys; {imported}; print([name for name in sys.modules if 'proxy' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
