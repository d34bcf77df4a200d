"""Starts the agent's process, waits for it and ends it. What goes over its pipes is not known here."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

CHUNK = 256 * 1024  # Bytes that are read or written at once.
KEPT = 256 * 1024  # Bytes of the end of stderr.


def linnet(*words: str) -> list[str]:
    """Return the command that starts this very linnet. `-P`: nothing is imported from the folder it works in."""
    return [sys.executable, "-P", "-m", "linnet", *words]


class Tail:
    """The end of what was printed."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def add(self, chunk: bytes) -> None:
        """Append what was printed, and keep the end."""
        self._kept += chunk
        del self._kept[:-KEPT]

    def text(self, most: int = KEPT) -> str:
        """Return the last bytes as text, at most so many."""
        return self._kept[-most:].decode("utf-8", "replace")


def read(file: int) -> bytes | None:
    """Return what there is to read; empty at the end, None if there is nothing after all."""
    try:
        return os.read(file, CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        return b""


class Child:
    """A process in a session of its own, so that Ctrl-C in a terminal reaches us alone, with three pipes that never
    block.
    """

    def __init__(self, command: Sequence[str], cwd: str | Path | None, env: Mapping[str, str | None] | None) -> None:
        """Start it. `env` is added to our environment; None takes a variable away. Raises OSError."""
        environment = {**os.environ, **(env or {})}
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={name: value for name, value in environment.items() if value is not None},
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin
        assert self._process.stdout
        assert self._process.stderr
        self._files = [self._process.stdin, self._process.stdout, self._process.stderr]
        self.stdin, self.stdout, self.stderr = (file.fileno() for file in self._files)
        for file in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(file, False)
        self.pid = self._process.pid
        self.exit_code: int | None = None
        """None until it has exited; negative for a signal. Set by the thread that watches it."""

    def watch(self, exited: Callable[[], None]) -> None:
        """Call a function, in a thread of its own, when the process has exited."""

        def wait() -> None:
            self.exit_code = self._process.wait()
            exited()

        Thread(target=wait, name="linnet-client-wait", daemon=True).start()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process; SIGKILL to all that it started, too."""
        if self.exit_code is not None:
            return
        with suppress(OSError):
            if number == signal.SIGKILL:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)

    def close_stdin(self) -> None:
        """End the input of the process."""
        self._files[0].close()

    def close(self) -> None:
        """Close the pipes."""
        for file in self._files:
            file.close()

    def kill_now(self) -> None:
        """Kill the process and wait for its end, before anybody watches it."""
        self.signal(signal.SIGKILL)
        self.exit_code = self._process.wait()
        self.close()
