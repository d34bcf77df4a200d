"""Runs an agent with a script of requests, and records both directions without their secrets."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from threading import Condition, Thread
from typing import IO

from linnet.capture import script
from linnet.capture.pending import Pending
from linnet.capture.record import Capture, Kind, Record
from linnet.capture.split_secrets import mended
from linnet.core.text.known_secrets import Value
from linnet.core.text.redact import Redactor
from linnet.monitor.watched_child import exit_code, start
from linnet.wire.jsonl import Lines, Overlong

_CHUNK = 1 << 16
_DIRECTIONS: tuple[Kind, ...] = ("in", "out", "err")
_PATIENCE = 2.0  # Seconds that pipes may stay open once the program is gone: something it started may hold them.


class Drive:
    """One run of an agent. Three threads send, and read its stdout and stderr; all they share is under one lock."""

    def __init__(self, command: Sequence[str], secrets: tuple[Value, ...], date: str, deadline: float) -> None:
        self._redactors = {kind: Redactor(secrets) for kind in _DIRECTIONS}
        self._secrets = secrets
        self._deadline = deadline
        self._changed = Condition()  # Its lock is for all below.
        self._pending = Pending()
        self._records: list[Record] = []
        self._splitters = {kind: Lines() for kind in _DIRECTIONS}
        self._heard = Lines()
        self._finished = False  # The capture is made: what comes now is dropped.
        self._silent = False  # Its stdout has ended: nothing can be waited for.
        self._working = 0  # How many threads are taking something in.
        self._command = command
        self._date = date
        self._began = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._interrupted = False
        self._late = False

    def run(self, steps: Sequence[script.Step]) -> bool:
        """Run it, and return whether it came to its end by itself, before the deadline.

        Raises ConfigError if it cannot be started.
        """
        process = start(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._began = time.monotonic()
        self._process = process
        assert process.stdin
        assert process.stdout
        assert process.stderr
        threads = [
            Thread(target=self._read, args=(process.stdout, "out"), daemon=True),
            Thread(target=self._read, args=(process.stderr, "err"), daemon=True),
            Thread(target=self._send, args=(process.stdin, steps), daemon=True),
        ]
        for thread in threads:
            thread.start()
        if self._interrupted:
            self._kill()
        in_time = self._wait(process)
        self._kill()
        code = exit_code(process.wait())
        self._join(*threads)
        with self._changed:
            for kind in _DIRECTIONS:
                self._end(kind)
            self._finished = True
            self._records.append(Record(self._now(), "exit", code=code))
        return in_time

    def interrupt(self) -> None:
        """End the run now; what came is kept. For a signal's handler, so it takes no lock."""
        self._interrupted = True
        self._kill()

    def _kill(self) -> None:
        """Kill the agent, and what it started in its group."""
        if self._process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    @property
    def capture(self) -> Capture:
        """Everything that came, without secrets, also after an interrupt or when the deadline has passed."""
        redactor = Redactor(self._secrets)
        argv = [redactor.whole(os.fsencode(word)).decode(errors="replace") for word in self._command]
        with self._changed:
            return Capture(self._date, argv, mended(self._records, redactor))

    def _now(self) -> float:
        return time.monotonic() - self._began

    def _wait(self, process: subprocess.Popen[bytes]) -> bool:
        """Wait for the end of the agent, or the deadline; return whether it came to its end by itself."""
        try:
            process.wait(max(0.0, self._deadline - self._now()))
        except subprocess.TimeoutExpired:
            self._late = True
            self._note(f"it was ended after {self._deadline:g} s, the deadline{self._undone()}")
            return False
        if self._interrupted:
            self._note("it was interrupted")
        return not self._interrupted

    def _join(self, *threads: Thread) -> None:
        """Wait until the threads have taken in what is left; not for ever on a pipe that somebody else holds open."""
        patience = self._now() + _PATIENCE
        for thread in threads:
            while thread.is_alive() and (self._working or self._now() < patience):
                thread.join(0.05)

    def _undone(self) -> str:
        """Return the end of a sentence that says so if what was asked is not over."""
        with self._changed:
            return "" if self._pending.over(self._now()) else "; what was asked was not over"

    def _send(self, stdin: IO[bytes], steps: Sequence[script.Step]) -> None:
        """Carry out the script, and close the agent's stdin. Runs in its own thread."""
        try:
            for step in steps:
                match step:
                    case script.Send(line):
                        with self._changed:
                            self._pending.said(line)
                            self._take("in", line + b"\n")
                        _write(stdin, line + b"\n")
                    case script.WaitFor(seconds):
                        with self._changed:
                            self._changed.wait_for(lambda: self._finished or self._silent, seconds)
                    case script.WaitDone():
                        self._wait_until_over()
            with self._changed:
                self._records.append(Record(self._now(), "end"))
        except BrokenPipeError:
            if not (self._interrupted or self._late):
                self._note("it closed its stdin before everything was sent")
        finally:
            with suppress(OSError):
                stdin.close()

    def _wait_until_over(self) -> None:
        """Wait until what was asked is over, or nothing more can come."""
        with self._changed:
            while not (self._finished or self._silent) and not self._pending.over(self._now()):
                left = self._pending.quiet_until - self._now()
                self._changed.wait(left if left > 0 else None)

    def _read(self, pipe: IO[bytes], kind: Kind) -> None:
        """Take in what the agent prints, to the end of the pipe. Runs in its own thread."""
        while chunk := os.read(pipe.fileno(), _CHUNK):
            with self._changed:
                self._working += 1
                self._take(kind, chunk)
                if kind == "out":
                    for line in self._heard.feed(chunk):
                        if isinstance(line, bytes):
                            self._pending.heard(self._now(), line)
                self._working -= 1
                self._changed.notify_all()
        with self._changed:
            if not self._finished:  # Else something that it started held the pipe, and the capture is made.
                self._end(kind)
            self._silent = self._silent or kind == "out"
            self._changed.notify_all()
        pipe.close()

    def _end(self, kind: Kind) -> None:
        """Record what was held back, and a last line without its LF. Idempotent. With the lock held."""
        self._add(kind, self._splitters[kind].feed(self._redactors[kind].finish()))
        self._add(kind, self._splitters[kind].finish(), torn=True)

    def _take(self, kind: Kind, data: bytes) -> None:
        """Record the lines that are whole now, without secrets. With the lock held."""
        if not self._finished:
            self._add(kind, self._splitters[kind].feed(self._redactors[kind].feed(data)))

    def _add(self, kind: Kind, lines: Sequence[bytes | Overlong], torn: bool = False) -> None:
        for line in lines:
            if isinstance(line, Overlong):
                self._note(f"a line of {line.size:,} bytes was left out")
            else:
                self._records.append(Record(self._now(), kind, line, torn))

    def _note(self, text: str) -> None:
        with self._changed:
            self._records.append(Record(self._now(), "note", text.encode()))


def _write(stdin: IO[bytes], data: bytes) -> None:
    """Write all of it: an unbuffered pipe takes what it has room for."""
    view = memoryview(data)
    while view:
        view = view[os.write(stdin.fileno(), view) :]
