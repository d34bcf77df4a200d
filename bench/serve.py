"""`linnet serve`: a reader beside the plain pipe, an agent that is opened, a crowd of agents and watchers.

python bench/serve.py [AGENTS WORKING WATCHERS]
"""

import asyncio
import json
import math
import multiprocessing
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from statistics import median

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.measure import Running, computed
from bench.peers import Peer, linnet, linnet_pi

Row = tuple[str, str]
ROUNDS = 7
CROWD = (1_000, 200, 500)
EVERY = 0.1  # Seconds between two deltas of one model.
BEGINNING = 5.0  # Seconds in which all of them begin to work.
SECONDS = 10.0
PAUSE = 0.001  # Seconds between an idle agent's answer and the next question.
TURNS = 12  # That a stopped watcher does not read.
PING = b'{"id":"1","type":"ping"}\n'


class Connection:
    """One connection to the socket. Reads raw bytes: parsing them would measure the bench."""

    def __init__(self, path: str, first: dict[str, object]) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self._tail = b""
        self.send(json.dumps(first).encode() + b"\n")
        self.opened = json.loads(self.line())
        assert self.opened["success"], self.opened

    def send(self, line: bytes) -> None:
        self.socket.sendall(line)

    def line(self) -> bytes:
        while b"\n" not in self._tail:
            self._tail += self.socket.recv(1 << 16)
        line, _, self._tail = self._tail.partition(b"\n")
        return line

    def until(self, marker: bytes) -> None:
        """Until a line with this marker is complete."""
        while True:
            at = self._tail.find(marker)
            if at >= 0 and (end := self._tail.find(b"\n", at)) >= 0:
                self._tail = self._tail[end + 1 :]
                return
            self._tail = self._tail[at : at + len(marker)] if at >= 0 else self._tail[-len(marker) :]
            chunk = self.socket.recv(1 << 20)
            assert chunk
            self._tail += chunk

    def turn(self, peer: Peer, text: str) -> float:
        started = time.perf_counter()
        self.send(peer.prompt(text))
        self.until(peer.terminator)
        return time.perf_counter() - started


@contextmanager
def served(folder: Path, *flags: str) -> Iterator[tuple[str, int]]:
    """A server of its own; its socket, and its process."""
    path = str(folder / "s.sock")
    command = [str(Path(sys.executable).with_name("linnet")), "serve", "--socket", path, *flags]
    env = {**os.environ, "LINNET_HOME": str(folder / "home")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=folder, env=env) as process:
        assert process.stderr
        process.stderr.readline()
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield path, process.pid
        finally:
            process.terminate()
            process.send_signal(15)


def columns(url: str, folder: Path, home: Path) -> list[tuple[str, list[Row]]]:
    """Tables for `make bench`."""
    with tempfile.TemporaryDirectory() as scratch, served(Path(scratch)) as (path, pid):
        peers = [
            ("zot", linnet(url), 20_000, False),
            ("zot", linnet(url), 20_000, True),
            ("pi", linnet_pi(url, "deltas", home), 20_000, False),
            ("pi", linnet_pi(url, "full", home), 5_000, False),
        ]
        beside = [row for each in peers for row in _beside_pipe(path, pid, folder, *each)]
        opening = _opening(path, folder, url)
        stopped = _stopped(path, pid, folder, url)
    return [("one reader, and opening", [*beside, *opening, *stopped]), ("a crowd", crowd())]


def _beside_pipe(path: str, pid: int, folder: Path, dialect: str, peer: Peer, count: int, cursor: bool) -> list[Row]:
    words = peer.command[1:]
    connection = Connection(
        path, {"type": "open", "dialect": dialect, "cwd": str(folder), "flags": words, "cursor": cursor}
    )
    times: list[list[float]] = [[], [], [], []]
    with Running(peer, folder) as running:
        for text in ("hi", f"!text {count}"):
            running.turn(text)
            connection.turn(peer, text)
        for _ in range(ROUNDS):
            before = running.computed(), computed(pid)
            turns = running.turn(f"!text {count}"), connection.turn(peer, f"!text {count}")
            after = running.computed(), computed(pid)
            for each, value in zip(times, (*turns, after[0] - before[0], after[1] - before[1]), strict=True):
                each.append(value)
    pipe, socket_, pipe_cpu, socket_cpu = (median(each) / count * 1e6 for each in times)
    ratio = median(on_pipe / on_socket for on_pipe, on_socket in zip(times[0], times[1], strict=True))
    rates = (
        f"{1e3 / pipe:,.0f} and {1e3 / socket_:,.0f} k/s, {ratio:.2f} ×; {pipe_cpu:.1f} and {socket_cpu:.1f} µs of CPU"
    )
    numbered = ", numbered" if cursor else ""
    return [(f"{peer.name}: {count:,} deltas on the pipe and on the socket{numbered}", rates)]


def _stopped(path: str, pid: int, folder: Path, url: str) -> list[Row]:
    """How much the server grows in some turns, and in as many with a watcher that reads nothing."""
    peer, grown = linnet(url), []
    driver = Connection(path, {"type": "open", "dialect": "zot", "cwd": str(folder), "flags": peer.command[1:]})
    for _ in range(TURNS):
        driver.turn(peer, "!text 20000")
    watchers: list[Connection] = []
    for count in (0, 1):
        watch: dict[str, object] = {"type": "attach", "agent": driver.opened["data"]["agent"], "role": "watch"}
        watchers += [Connection(path, watch) for _ in range(count)]
        before = memory_of(pid)
        for _ in range(TURNS):
            driver.turn(peer, "!text 20000")
        grown.append(memory_of(pid) - before)
    for watcher in watchers:
        watcher.socket.close()
    return [
        (
            f"{TURNS * 20_000:,} deltas, no watcher and one that is stopped: growth",
            "{:.1f} and {:.1f} MB".format(*grown),
        )
    ]


def _opening(path: str, folder: Path, url: str) -> list[Row]:
    flags = ["--provider", "anthropic", "--base-url", url, "--api-key", "x"]
    times: list[float] = []
    for _ in range(60):
        started = time.perf_counter()
        connection = Connection(path, {"type": "open", "dialect": "zot", "cwd": str(folder), "flags": flags})
        connection.send(PING)
        connection.line()
        times.append(time.perf_counter() - started)
    return [("open → first answer, warm server", f"{median(times) * 1e3:.1f} ms")]


def crowd(agents: int = CROWD[0], working: int = CROWD[1], watchers: int = CROWD[2]) -> list[Row]:
    """So many agents open, some at work with a model that speaks ten times a second, and watchers on those."""
    with tempfile.TemporaryDirectory() as scratch, _model() as url:
        folder = Path(scratch)
        (folder / "work").mkdir()
        flags = ("--awake", str(agents), "--provider", "anthropic", "--base-url", url, "--api-key", "x")
        with served(folder, *flags) as (path, pid):
            first: dict[str, object] = {"type": "open", "dialect": "pi-1", "cwd": str(folder / "work")}
            drivers = [Connection(path, first) for _ in range(agents)]
            idle = memory_of(pid)
            ids = [each.opened["data"]["agent"] for each in drivers]
            watching = [
                Connection(path, {"type": "attach", "agent": ids[at % working], "role": "watch", "cursor": True})
                for at in range(watchers)
            ]
            stopped = Connection(path, {"type": "attach", "agent": ids[0], "role": "watch"})
            with _asked(path, first) as idle_agent:
                for driver in drivers[:working]:
                    driver.send(b'{"id":"1","type":"prompt","message":"go"}\n')
                _listened(drivers, working, watching, BEGINNING)
                beginning = _answers(idle_agent)
                cpu = computed(pid)
                late = _listened(drivers, working, watching, SECONDS)
                cpu = (computed(pid) - cpu) / SECONDS
                lags = _answers(idle_agent)
            memory = memory_of(pid)
            stopped.socket.close()
            threads = len(os.listdir(f"/proc/{pid}/task"))
    return [
        (f"{agents:,} agents, idle: memory", f"{idle:,.0f} MB"),
        (f"… {working} of them at work, {watchers} watchers: memory", f"{memory:,.0f} MB, {threads} threads"),
        ("… delta → watcher, median", f"{median(late) * 1e3:.1f} ms"),
        ("… delta → watcher, 99 %", f"{_percentile(late, 0.99) * 1e3:.1f} ms ({len(late):,} deltas)"),
        ("… CPU of the server", f"{cpu:.0%} of one processor"),
        ("… an idle agent answers, median", f"{median(lags) * 1e3:.1f} ms"),
        ("… an idle agent answers, 99 %", f"{_percentile(lags, 0.99) * 1e3:.1f} ms"),
        ("… an idle agent answers, most", f"{max(lags) * 1e3:.1f} ms"),
        (f"… the same while {working} prompts begin at once", f"{max(beginning) * 1e3:.0f} ms"),
    ]


def _listened(
    drivers: Sequence[Connection], working: int, watching: Sequence[Connection], seconds: float
) -> list[float]:
    """Read what the crowd is told for so many seconds, and return how late watchers hear of deltas."""
    with selectors.DefaultSelector() as selector:
        for each in [*watching, *drivers[:working]]:
            each.socket.setblocking(False)
            selector.register(each.socket, selectors.EVENT_READ, each in watching)
        late: list[float] = []
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            for key, _ in selector.select(0.05):
                chunk = os.read(key.fd, 1 << 18)
                now = time.perf_counter()
                if key.data:
                    for piece in chunk.split(b'"delta":"t')[1:]:
                        late.append(now - int(piece.partition(b" ")[0]) / 1e9)
    return late


@contextmanager
def _asked(path: str, first: dict[str, object]) -> Iterator[Pipe]:
    """An idle agent that is asked all the time. In a process of its own: the crowd's readers would hold it up."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_ask, args=(path, first, theirs), daemon=True)
    process.start()
    ours.recv()
    try:
        yield ours
    finally:
        process.kill()


def _ask(path: str, first: dict[str, object], told: Pipe) -> None:
    connection = Connection(path, first)
    taken: list[float] = []
    told.send("asking")
    while True:
        started = time.perf_counter()
        connection.send(b'{"id":"1","type":"get_state"}\n')
        connection.line()
        taken.append(time.perf_counter() - started)
        if told.poll(PAUSE):
            told.recv()
            told.send(taken)
            taken = []


def _answers(asked: Pipe) -> list[float]:
    """How long each answer took since this was asked last."""
    asked.send("now")
    answers: list[float] = asked.recv()
    return answers


@contextmanager
def _model() -> Iterator[str]:
    """A model that says the time, ten times a second, to whoever asks, for as long as they listen. In a process of its
    own.
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_serve_model, args=(theirs,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.kill()


def _serve_model(told: Pipe) -> None:
    async def serve() -> None:
        server = await asyncio.start_server(_speak, "127.0.0.1", 0, backlog=1024)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(serve())


async def _speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    size = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
    await reader.readexactly(size)
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": {}}
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
    writer.write(_event({"type": "message_start", "message": message}))
    writer.write(_event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}))
    try:
        while True:
            said = {"type": "text_delta", "text": f"t{time.perf_counter_ns()} "}
            writer.write(_event({"type": "content_block_delta", "index": 0, "delta": said}))
            await writer.drain()
            await asyncio.sleep(EVERY)
    except OSError:
        writer.close()


def _event(data: dict[str, object]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def memory_of(pid: int) -> float:
    """Megabytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def _percentile(values: Sequence[float], part: float) -> float:
    return sorted(values)[math.ceil(len(values) * part) - 1]


if __name__ == "__main__":
    for name, value in crowd(*map(int, sys.argv[1:])):
        print(f"{name:<70}{value}")
