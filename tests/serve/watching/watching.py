"""A program under `linnet watch`, and clients of its page."""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from linnet.capture.record import Capture
from tests.serve.http.over_http import Client, Stream
from tests.suite import forked

LINNET = str(Path(sys.executable).with_name("linnet"))
PATIENCE = 60
# Prints a file, and ends when it is told to: with the exit code that is the second word.
REPLAY = ("sh", "-c", 'cat "$0"; cat > /dev/null; exit "$1"')


class Watching:
    """A program that is watched. What it prints is read by the test, from `stdout`."""

    def __init__(self, command: Sequence[str], flags: Sequence[str] = (), **options: Any) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = forked.Popen([LINNET, "watch", *flags, "--", *command], **{**pipes, **options})
        self.url = ""
        if options.get("stderr", subprocess.PIPE) == subprocess.PIPE:
            assert self.process.stderr
            said = self.process.stderr.readline().decode()
            assert said.startswith("linnet: the page: http://127.0.0.1:"), said
            self.url = said.split()[-1]

    @property
    def token(self) -> str:
        return self.url.partition("#token=")[2]

    @property
    def port(self) -> int:
        return int(self.url.partition("/#")[0].rpartition(":")[2])

    def client(self, headers: Mapping[str, str] | None = None) -> Client:
        """Return a client with the token, or with these headers instead."""
        return Client(self.port, {"Authorization": f"Bearer {self.token}"} if headers is None else headers)

    @property
    def agent(self) -> str:
        return str(self.client().get("/v1/about").json["agent"])

    @contextmanager
    def events(self, path: str = "?from=0", **headers: str) -> Iterator[Stream]:
        with self.client().stream(f"/v1/agents/{self.agent}/events{path}", **headers) as stream:
            yield stream

    def send(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, size: int) -> bytes:
        """Return so many bytes of what was printed. Nobody is shown more than the client of the program has taken."""
        assert self.process.stdout
        return bytes(self.process.stdout.read(size))

    def finish(self, given: bytes = b"") -> tuple[int, bytes]:
        """Send this and the end of stdin; return the exit code and all that was printed."""
        out, _ = self.process.communicate(given, PATIENCE)
        return self.process.returncode, out

    def end(self) -> None:
        self.process.kill()
        with suppress(BrokenPipeError, ValueError):
            self.process.communicate()


def printed(capture: Capture) -> bytes:
    """Return everything that the program of a capture printed, byte for byte."""
    return b"".join(each.line + (b"" if each.torn else b"\n") for each in capture.records if each.kind == "out")


def replay(folder: Path, data: bytes, code: int = 0) -> tuple[str, ...]:
    """Return a program that prints this, and ends with this code when its stdin does."""
    file = folder / "printed"
    file.write_bytes(data)
    return (*REPLAY, str(file), str(code))


def lines_of(stream: Stream, count: int) -> list[tuple[int, bytes]]:
    """Return so many lines of a stream of events with their numbers, as they were spelled."""
    found: list[tuple[int, bytes]] = []
    number = 0
    while len(found) < count:
        line = stream.response.readline()
        assert line, found[-1:]
        if line.startswith(b"id: "):
            number = int(line[4:])
        elif line.startswith(b"data: "):
            found.append((number, line[6:-1]))
    return found
