"""Runs the agent of `linnet monitor -- COMMAND…`: passes its stdout on byte for byte, and watches it on the way.

stdin and stderr are the agent's own: it inherits them, so nothing of ours is in between.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress

from linnet.monitor.stream import Stream
from linnet.monitor.tap import Tap, open_tap
from linnet.monitor.watched_child import exit_code

_PACE = 0.02  # Seconds between two looks, at least,
_LOOK = 0.001  # for which a look may last, or as long as one slice takes,
_REST = 30  # and then there is no other for so many times as long as it took. An agent that pauses is not rested from.
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


def pass_through(
    process: "subprocess.Popen[bytes]", stream: Stream, opened: Callable[[int, int], Tap] = open_tap
) -> int:
    """Pass on what the agent prints until it ends, and return its exit code. All is looked at after it was passed on.
    `opened` returns the tap from its stdout to ours.

    An agent that prints faster than can be looked at in a thirtieth of the time is looked at in samples; whenever it
    pauses, what it printed last is looked at.

    If nobody reads our stdout any more, the agent finds its own closed, as it would without us.
    """
    began = time.monotonic()
    assert process.stdout
    woken = _pass_signals(process)
    tap = opened(process.stdout.fileno(), 1)
    with suppress(BrokenPipeError):  # Whoever read has seen enough.
        _pump(process.stdout.fileno(), woken, tap, stream, began)
    while _look(tap, stream, began):
        pass
    tap.close()
    process.stdout.close()
    _close_stdout()
    _await_end(process.pid, woken)
    code = exit_code(process.wait())
    stream.finish(time.monotonic() - began, code)
    return code


def _pump(source: int, woken: int, tap: Tap, stream: Stream, began: float) -> None:
    """Pass on and look until the stream ends. Raises BrokenPipeError when our reader is gone, also in a pause."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    poll.register(woken, select.POLLIN)
    poll.register(1, 0)
    rested, paused = 0.0, False
    while True:
        wait = None if not tap.waiting else 0 if paused else _PACE * 1000
        ready = dict(poll.poll(wait))
        paused = not ready
        if woken in ready:
            os.read(woken, 4096)  # The signal is passed on before the next line.
        if source not in ready and ready.get(1, 0) & (select.POLLERR | select.POLLNVAL):
            raise BrokenPipeError
        if source in ready and not tap.forward():
            return
        now = time.monotonic()
        if tap.waiting and (paused or now >= rested):
            while _look(tap, stream, began) and time.monotonic() < now + _LOOK:
                pass
            after = time.monotonic()
            rested = after + max(_PACE, (after - now) * _REST)
        elif tap.full():
            tap.make_room()


def _look(tap: Tap, stream: Stream, began: float) -> bool:
    """Look at a slice of what went by. Return whether there is more."""
    lost, data = tap.take()
    if lost:
        stream.skip(lost)
    if data:
        stream.feed(time.monotonic() - began, data)
    return tap.waiting > 0


def _close_stdout() -> None:
    """Close our stdout, so that our reader learns of the end of the stream now, and not when the agent is gone."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _await_end(pid: int, woken: int) -> None:
    """Wait until the agent has ended, and pass on signals meanwhile."""
    try:
        ended = os.pidfd_open(pid)
    except (AttributeError, OSError):
        return  # Not every system can say it so; whoever waits next does so without.
    poll = select.poll()
    for fd in (ended, woken):
        poll.register(fd, select.POLLIN)
    while ended not in dict(poll.poll()):
        os.read(woken, 4096)
    os.close(ended)


def _pass_signals(process: "subprocess.Popen[bytes]") -> int:
    """Pass on the signals that we get to the agent, but for those that a terminal sends to both.

    Return what can be read from when there was one: one that comes just before a wait would not end that otherwise.
    """

    def pass_on(number: int, _: object) -> None:
        if number in (signal.SIGINT, signal.SIGQUIT) and _in_the_foreground():
            return
        with suppress(ProcessLookupError):
            process.send_signal(number)

    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    return woken


def _in_the_foreground() -> bool:
    """Return whether our group is the one that the terminal sends signals to."""
    for fd in (0, 2, 1):
        with suppress(OSError):
            return os.tcgetpgrp(fd) == os.getpgrp()
    return False
