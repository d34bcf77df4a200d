"""`linnet watch` around real processes: every byte, signal and exit code passes, and whoever looks changes nothing."""

import fcntl
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from linnet.capture.record import Capture
from linnet.errors import ConfigError
from linnet.serve.watching.watch_server import WatchServer
from linnet.serve.watching.watched import Watched
from linnet.testing.processes import alive, wait_until
from tests.serve.watching.conftest import Watch
from tests.serve.watching.watching import LINNET, PATIENCE, Watching, lines_of, printed, replay
from tests.suite import forked

RPC = (LINNET, "rpc", "--provider", "scripted", "--no-tools")
PI_1 = (LINNET, "--mode", "rpc", "--dialect", "pi-1", "--no-session", "--provider", "scripted", "--no-tools")
ASKED = b'{"id":"1","type":"prompt","message":"go"}\n'


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


def numbered(data: bytes) -> list[tuple[int, bytes]]:
    return list(enumerate(data.removesuffix(b"\n").split(b"\n"), 1))


def test_every_byte_passes_both_ways(watch: Watch) -> None:
    data = os.urandom(3 << 20) + b"\n\r\n\xe2\x80\xa8\0" + b"x" * 100_000
    watching = watch("cat")
    assert watching.finish(data) == (0, data)


@pytest.mark.parametrize("command", [RPC, PI_1], ids=["zot", "pi-1"])
def test_an_agent_s_own_words_pass_unchanged_and_are_on_the_page(
    watch: Watch, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """What the agent prints is written to a file on the way out of it."""
    watching = watch("sh", "-c", 'log=$1; shift; "$@" | tee "$log"', "sh", str(tmp_path / "out"), *command)
    watching.send(ASKED)
    with watching.events() as stream:
        stream.until("done" if command is RPC else "agent_settled")
        code, out = watching.finish()
        assert (code, out) == (0, (tmp_path / "out").read_bytes())
    assert [line.split(b": ", 1)[1] for line in stream.raw.splitlines() if line[:5] == b"data:"] == out.splitlines()


@pytest.mark.parametrize("name", ["zot/compact_orphan", "pi-1.5/forward_1.5_writes", "pi-0.73/ext_tour", "pi-0.37/ext"])
def test_a_recorded_agent_passes_unchanged_and_is_on_the_page(
    watch: Watch, captures: dict[str, Capture], tmp_path: Path, name: str
) -> None:
    data = printed(captures[name])
    watching = watch(*replay(tmp_path, data, 3))
    count = data.count(b"\n")
    with watching.events() as stream:
        assert lines_of(stream, count) == numbered(data)[:count]
        protocol = watching.client().get("/v1/about").json["protocol"]
        assert protocol == name.split("/")[0].split("-")[0]
        assert watching.finish() == (3, data)


def test_a_client_goes_on_after_the_last_number_that_it_saw(watch: Watch, tmp_path: Path) -> None:
    data = b"".join(b'{"type":"text_delta","delta":"%d"}\n' % n for n in range(50_000))
    watching = watch(*replay(tmp_path, data))
    expected = numbered(data)
    assert watching.read(len(data)) == data
    with watching.events() as stream:
        assert lines_of(stream, 1000) == expected[:1000]
    with watching.events("?from=3", Last_Event_ID="1000") as stream:
        assert lines_of(stream, 49_000) == expected[1000:]


def test_a_client_that_asks_for_what_comes_gets_only_that(watch: Watch) -> None:
    watching = watch("cat")
    watching.send(b'{"type":"one"}\n')
    with watching.events() as stream:
        assert lines_of(stream, 1) == [(1, b'{"type":"one"}')]
    with watching.events("") as stream:
        stream.response.readline()  # It is open: what comes now is seen.
        watching.send(b'{"type":"two"}\n')
        assert lines_of(stream, 1) == [(2, b'{"type":"two"}')]


def test_what_is_not_kept_any_more_is_a_gap(watch: Watch, tmp_path: Path) -> None:
    data = b"".join(b'{"type":"text_delta","delta":"%06d"}\n' % n for n in range(20_000))
    watching = watch(*replay(tmp_path, data), flags=("--keep-bytes", "150000"))
    assert watching.read(len(data)) == data
    wait_until(lambda: watching.client().get(f"/v1/agents/{watching.agent}").json["seq"] >= 20_000)
    with watching.events("?from=5") as stream:
        (number, missing), (first, line) = lines_of(stream, 2)
        assert missing == b'{"type":"gap","after":5}'
        assert number == first - 1
        assert 5 < first < 20_000
        assert line.startswith(b'{"type":')
        last = watching.client().get(f"/v1/agents/{watching.agent}").json["seq"]
        assert lines_of(stream, last - first)[-1] == (last, data.splitlines()[-1])


def test_the_summary_changes_as_the_agent_does(watch: Watch) -> None:
    watching = watch("cat")
    about = watching.client().get("/v1/about").json
    assert (about["role"], about["single"], about["protocol"]) == ("watch", True, "")
    with watching.client().stream("/v1/agents/events") as stream:
        events = iter(stream)
        assert next(events).data["state"] == "idle"
        watching.send(b'{"type":"user_message"}\n')
        while (event := next(events)).data["state"] != "working":
            pass
        assert (event.name, event.data["dialect"], event.data["id"]) == ("agent", "zot", about["agent"])
        code, _ = watching.finish()
        assert code == 0
        assert [event.data["state"] for event in events][-1] == "gone"


def test_nothing_is_shown_without_the_token(watch: Watch) -> None:
    watching = watch("cat")
    agent = watching.agent
    paths = ["/v1/about", "/v1/agents", f"/v1/agents/{agent}", f"/v1/agents/{agent}/events", "/v1/nothing", "/v1"]
    wrong: list[dict[str, str]] = [{}, {"Authorization": "Bearer " + "0" * 64}, {"Cookie": "linnet=1"}]
    answers = {watching.client(headers).get(path)[::2] for path in paths for headers in wrong}
    assert [(status, json.loads(body)["error"]["code"]) for status, body in answers] == [(401, "unauthorized")]
    for path in ("/", "/page/main.js"):
        assert watching.client({}).get(path).status == 200


def test_a_browser_gets_a_cookie_that_is_this_page_s_alone(watch: Watch) -> None:
    watching = watch("cat")
    answer = watching.client().post("/v1/cookie")
    name, _, rest = answer.headers["set-cookie"].partition("=")
    assert (answer.status, name) == (204, f"linnet-watch-{watching.port}")
    assert watching.token not in rest
    assert {"HttpOnly", "SameSite=strict"} <= {word.strip() for word in rest.split(";")}
    assert watching.client({"Cookie": f"{name}={rest.split(';')[0]}"}).get("/v1/agents").status == 200
    assert watching.client().ask("DELETE", "/v1/cookie").status == 204


def test_other_names_and_other_sites_are_refused(watch: Watch) -> None:
    watching = watch("cat")
    client = watching.client()
    assert client.get("/v1/agents", Host="example.org").error == "wrong_host"
    assert client.get("/v1/agents", Host=f"127.0.0.1:{watching.port + 1}").error == "wrong_host"
    assert client.get("/v1/agents", Origin="http://example.org").error == "wrong_origin"
    assert client.get("/v1/agents", **{"Sec-Fetch-Site": "cross-site"}).error == "wrong_origin"


def test_it_can_be_looked_at_and_not_touched(watch: Watch) -> None:
    watching = watch("cat")
    client, agent = watching.client(), watching.agent
    assert client.command(agent, "prompt", message="go").error == "not_allowed"
    assert client.ask("DELETE", f"/v1/agents/{agent}").error == "not_allowed"
    assert client.post("/v1/agents", {"cwd": "/"}).status == 403
    assert client.get("/v1/sessions").error == client.get("/nothing").error == "not_found"
    assert client.get("/v1/agents/0123456789abcdef/events").error == "no_such_agent"
    assert client.get(f"/v1/agents/{agent}/events?from=x").error == "bad_input"
    snapshot = client.get(f"/v1/agents/{agent}/snapshot?dialect=pi-1&last=100").json
    assert snapshot == {"seq": 0, "state": None, "messages": [], "first": 0, "total": 0, "open": []}
    assert watching.finish() == (0, b"")


def test_nobody_who_looks_and_does_not_read_slows_the_agent(watch: Watch) -> None:
    watching = watch("cat")
    agent, stuck = watching.agent, []
    for _ in range(5):
        each = socket.create_connection(("127.0.0.1", watching.port))
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = f"GET /v1/agents/{agent}/events?from=0 HTTP/1.1\r\nHost: 127.0.0.1:{watching.port}\r\n"
        each.sendall(f"{request}Authorization: Bearer {watching.token}\r\n\r\n".encode())
        assert each.recv(12) == b"HTTP/1.1 200"
        stuck.append(each)
    data = b'{"type":"text_delta","delta":"0123456789"}\n' * 700_000
    code, out = watching.finish(data)
    assert (code, out == data) == (0, True)
    for each in stuck:
        each.close()


def test_a_reader_of_stderr_who_does_not_read_slows_nothing(watch: Watch) -> None:
    reads, writes = os.pipe()
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writes, b"x" * 4096)
    try:
        watching = watch("cat", stderr=writes)
        assert watching.finish(b"one\n") == (0, b"one\n")
    finally:
        os.close(reads)
        os.close(writes)


@pytest.mark.parametrize(("ending", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_it_ends_as_the_agent_ends(watch: Watch, ending: str, code: int) -> None:
    watching = watch("sh", "-c", f"echo one; printf two; read line; {ending}")
    with watching.events() as stream:
        assert lines_of(stream, 1) == [(1, b"one")]
        assert watching.finish(b"\n") == (code, b"one\ntwo")
        assert lines_of(stream, 1) == [(2, b"two")]
        assert stream.response.readline() == b"\n"
        assert stream.response.read() == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_signals_reach_the_agent_while_somebody_looks(watch: Watch, number: signal.Signals) -> None:
    code = f"""
import signal, sys, time
def heard(number, _):
    print("heard", number, flush=True)
    sys.exit(7)
signal.signal({int(number)}, heard)
print("ready", flush=True)
while True: time.sleep(0.05)
"""
    watching = watch(*python(code))
    with watching.events() as stream:
        assert lines_of(stream, 1) == [(1, b"ready")]
        watching.process.send_signal(number)
        assert lines_of(stream, 1) == [(2, b"heard %d" % number)]
        assert watching.finish() == (7, b"ready\nheard %d\n" % number)


def test_the_agent_does_not_outlive_a_watch_that_is_killed(watch: Watch) -> None:
    watching = watch(*python("import os, time; print(os.getpid(), flush=True); time.sleep(600)"))
    assert watching.process.stdout
    child = int(watching.process.stdout.readline())
    watching.process.kill()
    watching.process.wait(PATIENCE)
    wait_until(lambda: not alive(child))


def test_an_agent_whose_reader_is_gone_learns_of_it(watch: Watch) -> None:
    watching = watch("yes")
    assert watching.process.stdout
    assert watching.process.stdout.readline() == b"y\n"
    watching.process.stdout.close()
    assert watching.process.wait(PATIENCE) == 128 + signal.SIGPIPE


def test_a_token_is_for_one_run_and_stays_off_stdout_and_the_agent(watch: Watch) -> None:
    one, other = (watch(*python("import os; print(dict(os.environ)); input()")) for _ in range(2))
    assert len(one.token) == 64
    assert one.token != other.token
    assert other.client({"Authorization": f"Bearer {one.token}"}).get("/v1/agents").status == 401
    _, out = one.finish(b"\n")
    assert one.token.encode() not in out


def test_a_browser_that_is_shown_the_page_gets_nothing_of_the_agent_s(tmp_path: Path) -> None:
    """A browser in a terminal would read the client's commands, and write into the protocol."""
    browser = tmp_path / "browser"
    browser.write_text(
        '#!/bin/sh\ncat > "$0.in"\necho "into the protocol"\necho "$1" > "$0.new"\nmv "$0.new" "$0.url"\n'
    )
    browser.chmod(0o755)
    watching = Watching(("cat",), ("--open",), env={**os.environ, "BROWSER": str(browser)})
    try:
        wait_until((tmp_path / "browser.url").exists)
        shown = Path((tmp_path / "browser.url").read_text().strip().removeprefix("file://"))
        assert watching.token not in shown.name  # Everybody sees what a program is started with.
        assert stat.S_IMODE(shown.stat().st_mode) == 0o600
        assert watching.url in shown.read_text()
        assert watching.finish(b"one\n") == (0, b"one\n")
        assert (tmp_path / "browser.in").read_bytes() == b""
    finally:
        watching.end()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["watch"], "linnet: say what to watch: linnet watch -- COMMAND…\n"),
        (["watch", "--"], "linnet: a command is missing after --\n"),
        (["watch", "x", "--", "y"], "linnet: say what to watch: linnet watch -- COMMAND…\n"),
        (["watch", "--", "no-such-program"], "linnet: no-such-program: there is no such program\n"),
        (["watch", "--http", "x", "--", "cat"], "linnet: --http must be HOST:PORT, such as 127.0.0.1:8080, not 'x'\n"),
        (
            ["watch", "--http", "0.0.0.0:80", "--", "cat"],
            "linnet: --http 0.0.0.0: linnet watch serves this machine only, such as 127.0.0.1:80\n",
        ),
    ],
)
def test_a_bad_argument_gets_one_sentence(arguments: list[str], sentence: str) -> None:
    done = forked.run([LINNET, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode > 0, done.stdout, done.stderr) == (True, "", sentence)


def test_a_port_that_is_taken_is_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigError, match=f"--http {address} cannot be listened on: Address already in use"):
            WatchServer(Watched(), address)


def test_without_the_extra_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'linnet-agent\[serve\]' \(starlette is missing\)"):
        WatchServer(Watched())


def test_help_is_there() -> None:
    done = forked.run([LINNET, "watch", "--help"], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout[:13]) == (0, "linnet watch:")
    everything = forked.run([LINNET, "--help"], capture_output=True, text=True, timeout=PATIENCE)
    assert "  linnet watch " in everything.stdout
