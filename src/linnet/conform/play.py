"""One run of the program: sends what a scene says, waits for what it waits for, and takes everything down.

Theory of operation. A thread reads stdout, and all that it shares is under one lock. Whoever waits does so until the
deadline of the scene, until stdout ends, or until more was printed than is taken: then the scene is stuck, and says at
what. Whatever happens, nothing that the program started is running afterwards.
"""

import json
import os
import select
import time
from collections.abc import Callable
from pathlib import Path
from signal import Signals
from threading import Condition, Thread
from typing import Any

from msgspec import DecodeError
from msgspec.json import decode

from linnet.conform.check import Dialect, Scene, brief
from linnet.conform.seen import Frame, Line, Seen
from linnet.conform.stage import Stage
from linnet.processes.child import Child
from linnet.processes.spawner import Spawner
from linnet.testing.model_server import ModelServer
from linnet.wire.jsonl import Lines

MOST_BYTES = 8 * 1024 * 1024  # Of stdout. What no scene needs is a flood.
MOST_LINES = 20_000
GRACE = 5.0  # Seconds that it has to exit when its stdin has ended and the deadline has not passed, at least.
LEAVING = 2.0  # Seconds that what it started may need to notice its end.
PAUSE = 0.005  # Seconds between two looks at what announces nothing, such as a file.


class Stuck(Exception):
    """A scene cannot go on; the words say why."""


class Play:
    """A program that is running, and what a scene does with it."""

    def __init__(
        self, stage: Stage, scene: Scene, dialect: Dialect, server: ModelServer, spawner: Spawner, seconds: float
    ) -> None:
        """Start the program. Raises OSError if it cannot be started."""
        self.dialect = dialect
        self.server = server
        self.folder = stage.folder
        self.root = stage.folder.parent
        self.home = stage.home
        self.seen = Seen()
        self.scene = scene
        self._changed = Condition()  # Its lock is for all below, and for `seen` while the program runs.
        self._lines = Lines(MOST_BYTES)
        self._bytes = 0
        self._ended = False  # Nothing more comes from stdout.
        self._flooded = ""
        self._at = 0  # The first frame that `until` looks at.
        self._sent_at: dict[str, int] = {}  # How many frames had come when the command with this id was sent.
        self._number = 0
        self._began = time.monotonic()
        self._deadline = self._began + seconds
        self._seconds = seconds
        env = {os.fsencode(name): os.fsencode(value) for name, value in stage.env.items()}
        self._child = Child(stage.argv, stage.folder, env, spawner)
        self._thread = Thread(target=self._read, name="conform-read", daemon=True)
        self._thread.start()

    # What a scene does.

    def send(self, *frames: Frame) -> None:
        """Send commands, all of them in one write."""
        with self._changed:
            for frame in frames:
                if isinstance(frame.get("id"), str):
                    self._sent_at[frame["id"]] = len(self.seen.frames)
                    self.seen.spans[frame["id"]] = (len(self.seen.frames), len(self.seen.frames))
        if self.dialect == "pi-legacy":  # Its commands have no ids: they are names of ours.
            frames = tuple({name: value for name, value in frame.items() if name != "id"} for frame in frames)
        self.send_bytes(b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))

    def send_bytes(self, data: bytes) -> None:
        """Write to its stdin. Raises Stuck if it does not read."""
        for line in data.splitlines():
            self._say("in", line.decode(errors="backslashreplace"))
        left = memoryview(data)
        while left:
            try:
                left = left[self._child.offer(left) :]
            except OSError:
                raise Stuck("it closed its stdin, or exited, while it was written to") from None
            if left:
                self._check("room in its stdin")
                poller = select.poll()
                poller.register(self._child.stdin or 0, select.POLLOUT)
                poller.poll(50)

    def ask(self, type: str, id: str | None = None, **fields: Any) -> Frame:
        """Send a command and wait for its response, which is returned."""
        self._number += 1
        name = id or f"{type}-{self._number}"
        self.send({"id": name, "type": type, **fields})
        return self.response(name)

    def response(self, id: str) -> Frame:
        """Wait for the response to a command that was sent, and return it."""
        start = self._sent_at[id]
        return self._wait(
            f"a response to {id!r}", lambda frame: frame.get("type") == "response" and frame.get("id") == id, start
        )[1]

    def until(self, wanted: str | Callable[[Frame], object], what: str = "") -> Frame:
        """Wait for the next event that has this type, or that is wanted, after the last that was waited for."""
        if isinstance(wanted, str):
            name = wanted
            return self._until(lambda frame: frame.get("type") == name, what or f"`{name}`")
        return self._until(wanted, what or "an event")

    def prompt(self, id: str, message: str, **fields: Any) -> list[Frame]:
        """Send a prompt, and wait until it is over; return its events."""
        self.send({"id": id, "type": "prompt", "message": message, **fields})
        return self.over(id)

    def over(self, id: str) -> list[Frame]:
        """Wait until what this command began is over; return its events."""
        try:
            self._until(self._is_over, f"the end of {id!r}")
        finally:
            with self._changed:
                end = self._at if self._over_seen else len(self.seen.frames)
                self.seen.spans[id] = (self._sent_at.get(id, 0), end)
        return self.seen.of(id)

    def wait_for_file(self, name: str) -> str:
        """Wait until a file is in the folder and has something in it; return that."""
        path = self.folder / name
        while not (path.exists() and path.stat().st_size):
            self._check(f"the file {name}, which a tool was to write")
            time.sleep(PAUSE)
        return path.read_text()

    def wait_for_requests(self, count: int) -> None:
        """Wait until the model was asked so many times."""
        while len(self.server.requests) < count:
            self._check(f"request {count} to the model")
            time.sleep(PAUSE)

    def wait_for_exit(self) -> None:
        """Wait until it has exited and stdout has ended."""
        while self._child.wait(0.05) is None:
            self._check("its exit", ended=False)
        with self._changed:
            self._changed.wait_for(lambda: self._ended, max(0.0, self._deadline - time.monotonic()))

    def barrier(self) -> None:
        """Wait until everything has come that was already on its way: a command is answered after it."""
        self.ask("ping" if self.dialect == "zot" else "get_state")

    def end(self) -> None:
        """Close its stdin, and wait for its exit."""
        self._say("note", "stdin ends")
        self._child.end_input()
        self.wait_for_exit()

    def signal(self, number: Signals) -> None:
        """Send it a signal."""
        self._say("note", f"it is sent {number.name}")
        os.kill(self._child.pid, number)

    def note(self, **facts: Any) -> None:
        """Keep what checks ask about besides frames."""
        self.seen.facts.update(facts)

    # What the judge does.

    def finish(self, stuck: str) -> Seen:
        """Take everything down, and return what was seen. `stuck` says why the scene did not come to its end."""
        self._child.end_input(0)
        if not stuck:
            self._child.wait(max(GRACE, self._deadline - time.monotonic()))
        seen = self.seen
        code = self._child.wait(0)
        seen.left_running = code is not None and not self._child.wait_until_gone(LEAVING)
        self._child.kill()
        self._thread.join(GRACE)
        seen.stderr = self._child.stderr
        self._child.close()
        with self._changed:
            seen.exit_code = code
            seen.stuck = stuck
            seen.torn = b"".join(each for each in self._lines.finish() if isinstance(each, bytes))[:2000]
            for recorded in self.server.requests:
                seen.requests.append(recorded.body)
                seen.headers.append(recorded.headers)
            for line in seen.stderr.splitlines()[-20:]:
                self._say("note", f"stderr: {line}")
            ending = "it had to be killed" if code is None else f"it exited with {code}"
            self._say("note", ending)
        return seen

    def kill(self) -> None:
        """End it now; the scene is stuck then. For whoever has no more patience."""
        self._child.kill()

    # The rest is ours.

    _over_seen = False

    def _is_over(self, frame: Frame) -> bool:
        if self.dialect == "zot":
            return frame.get("type") in ("done", "compact_done")
        return frame.get("type") == ("agent_settled" if self.dialect in ("pi-0.87", "pi-1") else "agent_end")

    def _until(self, wanted: Callable[[Frame], object], what: str) -> Frame:
        self._over_seen = False
        index, frame = self._wait(what, lambda each: each.get("type") != "response" and wanted(each), self._at)
        self._at = index + 1
        self._over_seen = True
        return frame

    def _wait(self, what: str, wanted: Callable[[Frame], object], start: int) -> tuple[int, Frame]:
        """Wait for a frame, and return it with its place. Raises Stuck."""
        with self._changed:
            while True:
                frames = self.seen.frames
                for index in range(start, len(frames)):
                    if wanted(frames[index]):
                        return index, frames[index]
                start = len(frames)
                self._check(what)
                self._changed.wait(max(0.0, self._deadline - time.monotonic()))

    def _check(self, what: str, *, ended: bool = True) -> None:
        """Raise Stuck if it makes no sense to wait any longer."""
        if self._flooded:
            raise Stuck(f"{self._flooded}, and {what} had not come")
        if ended and self._ended:
            raise Stuck(f"its stdout ended, and {what} had not come")
        if time.monotonic() >= self._deadline:
            raise Stuck(f"{what} had not come after {self._seconds:g} s")

    def _say(self, kind: Any, text: str) -> None:
        at = (time.monotonic() - self._began) * 1000
        with self._changed:
            self.seen.lines.append(Line(round(at, 1), kind, text[:MOST_BYTES]))

    def _read(self) -> None:
        """Take in what it prints, until the end or too much of it. Runs in a thread of its own."""
        asked = 0
        while chunk := self._chunk():
            with self._changed:
                self._bytes += len(chunk)
                for recorded in self.server.requests[asked:]:  # In their place among the lines, as far as that is seen.
                    self._say("request", brief(recorded.body, 2000))
                    asked += 1
                for line in self._lines.feed(chunk):
                    self._take(line if isinstance(line, bytes) else b"")
                if self._bytes > MOST_BYTES or len(self.seen.lines) > MOST_LINES:
                    self._flooded = f"it printed more than {self._bytes >> 20} MiB or {MOST_LINES} lines"
                self._changed.notify_all()
                if self._flooded:
                    break
        with self._changed:
            self._ended = True
            self._changed.notify_all()
        if self._flooded:
            self._child.kill()

    def _chunk(self) -> bytes:
        try:
            return os.read(self._child.stdout.fileno(), 1 << 16)
        except (OSError, ValueError):
            return b""

    def _take(self, line: bytes) -> None:
        """Keep a line. With the lock held."""
        self._say("out", line[:LONGEST].decode(errors="backslashreplace"))
        frame = parsed(line)
        if isinstance(frame, dict):
            self.seen.frames.append(frame)
            self.seen.raw.append(line)
        else:
            self.seen.bad_lines.append(line[:200].decode(errors="backslashreplace"))


LONGEST = 8000  # Bytes of a line that are kept for transcripts.


def parsed(line: bytes) -> Any:
    """Return what a line of JSON says; None if it is none."""
    try:
        return decode(line)
    except (DecodeError, ValueError, RecursionError):  # What is no UTF-8 is a ValueError.
        pass
    try:
        return json.loads(line)  # It takes half a surrogate pair, which JSON can spell.
    except (ValueError, RecursionError):
        return None


def files_below(folder: Path) -> list[Path]:
    """Return the files in a folder and all below it, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
