"""Runs linnet as a child process, for tests: sends commands, waits for frames, and shows all when a wait is in vain."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from linnet.wire.jsonl import Lines

Frame = dict[str, Any]
PATIENCE = 60.0  # Seconds. To be seen to hang, not to be fast: a machine may be busy.


class Agent:
    """One process on a pair of real pipes. It is killed when the context is left."""

    _popen: "type[subprocess.Popen[bytes]]" = subprocess.Popen

    def __init__(
        self,
        *flags: str,
        cwd: Path,
        env: Mapping[str, str] | None = None,
        pass_fds: tuple[int, ...] = (),
        program: str = "linnet",
    ) -> None:
        """Start it in this folder, where `.linnet-home` is its home, with few variables of ours besides `env`."""
        executable = Path(sys.executable).parent / program
        base = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed on exit)
        self.process = self._popen(
            [str(executable), *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=cwd,
            env={**base, **_homes(str(cwd / ".linnet-home")), **(env or {})},
            pass_fds=pass_fds,
        )
        assert self.process.stdin
        assert self.process.stdout
        self._stdin = self.process.stdin
        self._stdout = self.process.stdout
        self._lines = Lines()
        self._ready: list[Frame] = []
        self.seen: list[Frame] = []
        """All frames that were read, in the order they came."""

    def __enter__(self) -> "Agent":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        for file in (self._stdin, self._stdout, self._errors):
            with suppress(BrokenPipeError):
                file.close()

    @property
    def stderr(self) -> str:
        """Everything that it has printed on stderr."""
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")

    def send(self, *commands: Frame) -> None:
        """Send commands, all of them in one write."""
        self.send_bytes(b"".join(json.dumps(command).encode() + b"\n" for command in commands))

    def send_bytes(self, data: bytes) -> None:
        """Write to its stdin."""
        self._stdin.write(data)
        self._stdin.flush()

    def read(self, timeout: float = PATIENCE) -> Frame | None:
        """Return the next frame; None at the end of stdout. Raises TimeoutError, which shows the last frames."""
        deadline = time.monotonic() + timeout
        while not self._ready:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._stdout], [], [], left)[0]:
                raise TimeoutError(self._report(f"nothing more came within {timeout} s"))
            chunk = os.read(self._stdout.fileno(), 1 << 20)
            lines = self._lines.feed(chunk) if chunk else self._lines.finish()
            assert all(isinstance(line, bytes) for line in lines)
            self._ready += [json.loads(line) for line in lines if isinstance(line, bytes)]
            if not chunk and not self._ready:
                return None
        frame = self._ready.pop(0)
        self.seen.append(frame)
        return frame

    def until(self, wanted: str | Callable[[Frame], bool], timeout: float = PATIENCE) -> list[Frame]:
        """Return the frames up to and including the first that has this `type` or satisfies this condition.

        Raises TimeoutError, and EOFError if stdout ends before.
        """
        frames: list[Frame] = []
        while True:
            frame = self.read(timeout)
            if frame is None:
                raise EOFError(self._report(f"stdout ended before {wanted}"))
            frames.append(frame)
            if frame["type"] == wanted if isinstance(wanted, str) else wanted(frame):
                return frames

    def ask(self, type: str, id: Any = "ask", **fields: Any) -> Frame:
        """Send a command and return its response."""
        self.send({"id": id, "type": type, **fields})
        return self.until(lambda frame: frame["type"] == "response" and frame.get("id") == id)[-1]

    def prompt(self, message: str, id: Any = "p", **fields: Any) -> list[Frame]:
        """Send a prompt and return its frames up to zot's `done`."""
        self.send({"id": id, "type": "prompt", "message": message, **fields})
        return self.until("done")

    def end_input(self) -> None:
        """Close its stdin."""
        self._stdin.close()

    def end(self) -> list[Frame]:
        """Close its stdin, and return everything that still comes."""
        self.end_input()
        frames: list[Frame] = []
        while (frame := self.read()) is not None:
            frames.append(frame)
        return frames

    def wait(self, timeout: float = PATIENCE) -> int:
        """Wait for its end, and return the exit code. Raises TimeoutError."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise TimeoutError(self._report(f"it did not exit within {timeout} s")) from None

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def close_stdout(self) -> None:
        """Stop reading: what it prints from now on breaks its pipe."""
        self._stdout.close()

    def _report(self, what: str) -> str:
        frames = "\n".join(json.dumps(frame)[:300] for frame in self.seen[-40:])
        return f"{what}; the last frames were:\n{frames}\nand stderr:\n{self.stderr[-2000:]}"


def _homes(home: str) -> dict[str, str]:
    """Return the variables that lead away from what whoever runs the tests has at home."""
    elsewhere = ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "PI_CODING_AGENT_DIR")
    return {"LINNET_HOME": home, **{name: os.path.join(home, name.lower()) for name in elsewhere}}


def types(frames: list[Frame]) -> list[str]:
    """Return the `type` of each frame."""
    return [frame["type"] for frame in frames]
