"""One agent at a time, as a real child process on real pipes."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from types import TracebackType

from bench.peers import Peer

TICKS = os.sysconf("SC_CLK_TCK")


class Running:
    """A peer that has been spawned. Reads raw bytes: parsing them would measure the bench."""

    def __init__(self, peer: Peer, cwd: Path) -> None:
        self._peer = peer
        self.process = subprocess.Popen(
            peer.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env={**os.environ, **peer.env},
        )
        assert self.process.stdin
        assert self.process.stdout
        self._stdin = self.process.stdin
        self._fd = self.process.stdout.fileno()
        self._tail = b""
        self.bytes_out = 0

    def __enter__(self) -> "Running":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def send(self, line: bytes) -> None:
        self._stdin.write(line)
        self._stdin.flush()

    def until(self, marker: bytes) -> None:
        """Until a line with this marker is complete. Lines may be huge; only the end of what was read is kept."""
        while True:
            at = self._tail.find(marker)
            if at >= 0 and (end := self._tail.find(b"\n", at)) >= 0:
                self._tail = self._tail[end + 1 :]
                return
            if at >= 0:
                self._tail = self._tail[at : at + len(marker)]
            else:
                self._tail = self._tail[-len(marker) :]
            chunk = os.read(self._fd, 1 << 20)
            if not chunk:
                raise EOFError(f"{self._peer.name} ended before {marker!r}")
            self.bytes_out += len(chunk)
            self._tail += chunk

    def line(self, marker: bytes) -> bytes:
        """The next line that has this marker; those before it are dropped."""
        while True:
            head, ended, rest = self._tail.partition(b"\n")
            if ended:
                self._tail = rest
                if marker in head:
                    return head
                continue
            chunk = os.read(self._fd, 1 << 20)
            if not chunk:
                raise EOFError(f"{self._peer.name} ended before {marker!r}")
            self.bytes_out += len(chunk)
            self._tail += chunk

    def first_answer(self) -> None:
        self.send(self._peer.first)
        self.until(b'"response"')

    def turn(self, text: str) -> float:
        started = time.perf_counter()
        self.send(self._peer.prompt(text))
        self.until(self._peer.terminator)
        return time.perf_counter() - started

    def abort_while(self, text: str, marker: bytes) -> float:
        self.send(self._peer.prompt(text))
        self.until(marker)
        started = time.perf_counter()
        self.send(b'{"type":"abort"}\n')
        self.until(self._peer.terminator)
        return time.perf_counter() - started

    def memory(self, field: str = "VmRSS") -> float:
        """Megabytes."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
        raise LookupError(field)

    def computed(self) -> float:
        """Seconds that all its threads have had a processor, to the nanosecond; those that have ended do not count."""
        return computed(self.process.pid)

    def cpu(self) -> float:
        """Seconds, with those of the kernel."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICKS


def computed(pid: int) -> float:
    """Seconds that all threads of a process have had a processor; those that have ended do not count."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(each.read_text().split()[0]) for each in threads) / 1e9


def repeated(count: int, once: Callable[[], float]) -> float:
    return median(once() for _ in range(count))


def bare_python() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - started


def spawn(peer: Peer, cwd: Path) -> float:
    started = time.perf_counter()
    with Running(peer, cwd) as running:
        running.first_answer()
        return time.perf_counter() - started
