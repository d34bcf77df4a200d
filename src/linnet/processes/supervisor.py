"""The program, in a process of its own, that starts commands for the agent and kills whatever comes of them.

    agent ── supervisor ─┬─ reaper ── command ── whatever it starts
                         └─ reaper ── command ── whatever it starts

Every command has a reaper. Reapers and supervisor are subreapers: a process whose parent has died becomes the child of
the nearest one above it, whatever it did to its environment, its session or its group. So a reaper that has no child
left has no descendant left either, and it is always known which command a process came from.

The agent sends a byte for each command on the socket that is our standard input, and with it four descriptors: a
control socket and the command's stdin, stdout and stderr. A reaper that waits takes them. What to run follows on the
control socket: eight bytes of length, then `marshal`. The reaper answers there, in lines: `started PID REAPER`, or
`failed ERRNO WHAT`; then `exited CODE LEFT`, where LEFT is 0 if nothing is running any more. When the agent shuts its
side of the control socket, or ends, the reaper kills everything; when nothing is left, it closes its own side.

It lives as long as the agent does, so its size and the time of its start count: it imports `_signal` for `signal`,
which takes 0.8 MB and 5 ms more to give constants names, `_ctypes` for `ctypes`, and nothing that imports `typing`.
"""

# ruff: noqa: SIM105 (`contextlib` takes longer to import than all of this)

import _signal as signal  # type: ignore[import-not-found]
import _socket
import gc
import os
import select
import sys

from linnet.processes.descendants import (
    LONGEST_PAUSE,
    ChildExits,
    adopt_orphans,
    go_on_when_parent_dies,
    kill_children,
    kill_everyone,
    reap_children,
)
from linnet.processes.reaper import Reaper, receive

# Whoever sends these to everybody ends the agent too, and that is what we wait for.
POLITE = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
# Milliseconds that a command has to itself before the next reaper is forked. Many end sooner, and then none need be.
HEAD_START = 20


def main(words: list[str]) -> None:
    """Serve the agent whose process id is the first word, until it is gone."""
    go_on_when_parent_dies()
    gc.disable()  # Nothing here makes cycles, and reapers share the memory that nobody writes to.
    orders = _socket.socket(fileno=os.dup(0))
    os.dup2(1, 0)  # The null device.
    # Whoever started the agent may have blocked or ignored signals; a command finds none of it, and nor do we.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    ignored = [number for number in signal.valid_signals() if signal.getsignal(number) == signal.SIG_IGN]
    resets = [*{*ignored, *POLITE}]
    for number in POLITE:
        signal.signal(number, signal.SIG_IGN)
    Supervisor(orders, resets).run(watched(int(words[0])))
    os._exit(0)  # There is nothing to tidy up, and somebody waits.


class Supervisor:
    """Forks reapers, and kills what a reaper leaves behind that was killed itself.

    Invariant: a reaper waits for the next order, or is about to, unless the system has no room for one. A byte lies in
    the pipe `_place` while no reaper waits. A reaper that is done with its command takes it and waits again, or ends if
    it is not there; the one that waits puts it back when an order comes.
    """

    def __init__(self, orders: _socket.socket, resets: list[int]) -> None:
        self._orders = orders
        self._resets = resets  # Signals that we ignore, and commands must not.
        self._adopting = adopt_orphans()
        self._exits = ChildExits()
        self._lifeline, self._held = os.pipe()  # Reapers poll the first; only we hold the second.
        self._place = os.pipe()
        os.set_blocking(self._place[0], False)
        os.write(self._place[1], b".")
        self._reapers: set[int] = set()

    def run(self, agent: list[int]) -> None:
        """Return when the agent is gone, and everything it had us start. `agent` becomes readable when it ends."""
        orders, place, exits = self._orders.fileno(), self._place[0], self._exits.fd
        poller = select.poll()
        for fd in (exits, *agent):
            poller.register(fd, select.POLLIN)
        self._add_reaper()
        head_start = 0  # Counts while no reaper waits.
        pause = None
        while True:
            # While a reaper waits, orders are none of our business. While none does, the next one ends the head start.
            poller.register(orders, select.POLLIN if head_start else 0)
            poller.register(place, 0 if head_start else select.POLLIN)
            events = dict(poller.poll(head_start or pause))
            if events.get(orders, 0) & ~select.POLLIN or not events.keys().isdisjoint(agent):
                break
            if exits in events or pause:
                pause = LONGEST_PAUSE if self._look_after_children() else None
            if place in events:
                head_start = HEAD_START
            elif head_start and (orders in events or not events):
                head_start = 0 if self._add_reaper() else LONGEST_PAUSE
        os.close(self._held)  # Where processes cannot be seen from here, each reaper kills what it knows of.
        kill_everyone(self._exits)

    def _add_reaper(self) -> bool:
        """See that a reaper waits. Return False if the system has no room for one; then an order is refused."""
        try:
            os.read(self._place[0], 1)
        except BlockingIOError:  # There is one by now.
            return True
        try:
            pid = os.fork()
        except OSError as error:
            os.write(self._place[1], b".")
            self._refuse(error.errno or 0)
            return False
        if pid:
            self._reapers.add(pid)
            return True
        status = 1
        try:
            for fd in (self._held, *self._exits.fds):
                os.close(fd)
            Reaper(self._orders, self._place, self._lifeline, adopting=self._adopting).run(self._resets)
            status = 0
        finally:  # If it failed, what is still running becomes the supervisor's.
            os._exit(status)

    def _refuse(self, errno: int) -> None:
        """Take an order, if there is one, and answer that it failed."""
        try:
            _, fds = receive(self._orders)
        except BlockingIOError:
            return
        try:
            if fds:
                os.write(fds[0], b"failed %d command\n" % errno)
        except OSError:  # It does not want to know any more.
            pass
        for fd in fds:
            os.close(fd)

    def _look_after_children(self) -> bool:
        """Reap reapers. Kill what those left behind that were killed: all our children that are no reapers.

        Returns whether there were any.
        """
        self._exits.clear()
        ended, _ = reap_children()
        killed = [pid for pid, status in ended.items() if status and pid in self._reapers]
        self._reapers.difference_update(ended)
        left = kill_children(self._reapers)
        if len(killed) > 1 or (killed and not left):  # It seems to have been the one that waited.
            self._free_place()
        return left

    def _free_place(self) -> None:
        """See that one byte lies in the pipe: no reaper waits."""
        try:
            os.read(self._place[0], 1)
        except BlockingIOError:
            pass
        os.write(self._place[1], b".")


def watched(pid: int) -> list[int]:
    """Return a descriptor that becomes readable when this process has ended; none where the system has no such thing.

    The end of the socket tells as much, unless a process that the agent forked has a copy of it.
    """
    try:
        return [os.pidfd_open(pid)] if sys.platform == "linux" else []
    except (AttributeError, OSError):
        return []
