"""`linnet monitor -- COMMAND…`: the agent's stdout passed on byte for byte, and watched on the way.

stdin and stderr are the agent's own: it inherits them, so nothing of ours is in between.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from linnet.monitor.child import exit_code, start
from linnet.monitor.stream import Stream

_CHUNK = 1 << 20
_ROOM = 1 << 20  # Asked of the kernel for the pipes: with little room, an agent at full speed waits for every read.
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def pass_through(command: Sequence[str], stream: Stream) -> int:
    """Run it to its end and return its exit code. Whatever it prints is passed on first and looked at afterwards.

    If nobody reads our stdout any more, the agent finds its own closed, as it would without us.
    """
    process = start(command, stdout=subprocess.PIPE, bufsize=0)
    began = time.monotonic()
    assert process.stdout
    source = process.stdout.fileno()
    _pass_signals(process)
    for pipe in (source, 1):
        _widen(pipe)
    with suppress(BrokenPipeError):  # Whoever read has seen enough.
        while chunk := _read(source):
            _write(chunk)
            stream.feed(time.monotonic() - began, chunk)
    process.stdout.close()
    _close_stdout()
    code = exit_code(process.wait())
    stream.finish(time.monotonic() - began, code)
    return code


def _read(source: int) -> bytes:
    """What it printed; nothing at the end. Raises BrokenPipeError if our reader goes away while we wait."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    poll.register(1, 0)
    ready = dict(poll.poll())
    if source not in ready and ready.get(1, 0) & (select.POLLERR | select.POLLNVAL):
        raise BrokenPipeError
    return os.read(source, _CHUNK)


def _close_stdout() -> None:
    """Our reader learns of the end of the stream now, and not only when the agent is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _write(chunk: bytes) -> None:
    written = os.write(1, chunk)
    while written < len(chunk):
        written += os.write(1, memoryview(chunk)[written:])


def _widen(pipe: int) -> None:
    if sys.platform == "linux":
        from fcntl import F_SETPIPE_SZ, fcntl

        with suppress(OSError):  # It is no pipe, or the system allows no more.
            fcntl(pipe, F_SETPIPE_SZ, _ROOM)


def _pass_signals(process: "subprocess.Popen[bytes]") -> None:
    """What is sent to us reaches the agent; what a terminal sends, it sends to both."""

    def pass_on(number: int, _: object) -> None:
        if number in (signal.SIGINT, signal.SIGQUIT) and _in_the_foreground():
            return
        with suppress(ProcessLookupError):
            process.send_signal(number)

    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)


def _in_the_foreground() -> bool:
    for fd in (0, 2, 1):
        with suppress(OSError):
            return os.tcgetpgrp(fd) == os.getpgrp()
    return False
