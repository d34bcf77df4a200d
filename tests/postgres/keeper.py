"""Runs one Postgres for a process of tests, and ends with it: `python keeper.py PARENT FOLDER USER PROGRAM…`.

It reads commands from stdin, a line each, and answers each with `ok` or a sentence: `start PORT`, `kill` (no clean end
of anything), `stop`. When stdin ends, or the parent is gone however that happened, the
server is ended and the folder removed.
"""

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from time import monotonic, sleep

PATIENCE = 60.0  # Seconds until a server answers, on a machine that is very busy.


class Keeper:
    def __init__(self, folder: str, user: str, command: list[str]) -> None:
        self._log = os.path.join(folder, "log")
        self._identity = {"user": user, "group": user, "extra_groups": []} if user else {}
        self._command = command
        self._ready = [os.path.join(os.path.dirname(command[0]), "pg_isready"), "-q", "-t", "1", "-h", folder]
        self._server: subprocess.Popen[bytes] | None = None

    def obey(self, word: str, port: str = "") -> str:
        """Carry out a command, and return its answer."""
        if word == "start":
            return self.start(port)
        return self.end(signal.SIGQUIT if word == "kill" else signal.SIGINT)

    def start(self, port: str) -> str:
        if self._server is not None:
            return "it runs already"
        with open(self._log, "ab") as log:
            self._server = subprocess.Popen(
                [*self._command, "-p", port],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_dies_with_parent,
                **self._identity,  # type: ignore[call-overload]
            )
        until = monotonic() + PATIENCE
        while subprocess.run([*self._ready, "-p", port]).returncode:
            if self._server.poll() is not None or monotonic() > until:
                self.end(signal.SIGQUIT)
                with open(self._log, errors="replace") as said:
                    return "it did not start: " + " | ".join(said.read().splitlines()[-5:])
            sleep(0.02)
        return "ok"

    def end(self, number: signal.Signals) -> str:
        if self._server is not None:
            if self._server.poll() is None:
                self._server.send_signal(number)
            self._server.wait()
            self._server = None
        return "ok"


def _dies_with_parent() -> None:
    """Have the server end at once if the keeper is killed. After the change of user, which would undo it."""
    ctypes.CDLL(None).prctl(1, signal.SIGQUIT)


def main(parent: int, folder: str, user: str, command: list[str]) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # They are for the tests, which then end us.
        signal.signal(number, signal.SIG_IGN)
    keeper = Keeper(folder, user, command)
    try:
        watched = os.pidfd_open(parent)
        if os.getppid() != parent:
            return
        buffered = b""
        while True:
            readable, _, _ = select.select([0, watched], [], [])
            if watched in readable:
                return
            read = os.read(0, 4096)
            if not read:
                return
            *lines, buffered = (buffered + read).split(b"\n")
            for line in lines:
                os.write(1, keeper.obey(*line.decode().split()).encode() + b"\n")
    except BrokenPipeError:
        pass
    finally:
        keeper.end(signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
