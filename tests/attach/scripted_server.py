"""A server on a unix socket that says what a test has it say, and `linnet attach` as a child process."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LAUNCHER = Path(sys.executable).with_name("linnet")
ACCEPTED: dict[str, Any] = {"type": "response", "command": "attach", "success": True, "data": {"agent": "a", "seq": 0}}


class Connection:
    """One client of the server."""

    def __init__(self, link: socket.socket) -> None:
        self.socket = link
        self.file = link.makefile("rb")

    def line(self) -> Any:
        return json.loads(self.file.readline())

    def send(self, value: object) -> None:
        self.socket.sendall(json.dumps(value).encode() + b"\n")

    def close(self) -> None:
        self.file.close()
        self.socket.close()


class Server:
    """Listens at `path`. What a client sends waits in the kernel until the test looks at it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()

    @contextmanager
    def accepted(self) -> Iterator[Connection]:
        """The next client. The connection ends with the block."""
        connection = Connection(self._socket.accept()[0])
        try:
            yield connection
        finally:
            connection.close()

    @contextmanager
    def attached(self) -> Iterator[Connection]:
        """The next client, whose first line has been answered."""
        with self.accepted() as connection:
            connection.line()
            connection.send(ACCEPTED)
            yield connection

    def close(self) -> None:
        self._socket.close()


class Attach:
    """Starts `linnet attach`, any number of times."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def __call__(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        before: Callable[[], object] | None = None,
        command: tuple[str, ...] = (str(LAUNCHER),),
        cwd: Path | None = None,
        **files: Any,
    ) -> "subprocess.Popen[bytes]":
        """`before` is called in the child just before it becomes `linnet attach` with these words."""
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **files}
        variables = {"PATH": os.environ["PATH"], "HOME": os.environ["LINNET_HOME"], **(env or {})}
        process = subprocess.Popen(
            [*command, "attach", *words], env=variables, cwd=cwd, preexec_fn=before, bufsize=0, **pipes
        )
        self._processes.append(process)
        return process

    def close(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
            for file in (process.stdin, process.stdout, process.stderr):
                if file is not None:
                    file.close()


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, str, str]:
    """The exit code, and what it wrote to stdout and stderr. Its input ends."""
    out, err = process.communicate(timeout=60)
    return process.returncode, out.decode(), err.decode()


def block_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
