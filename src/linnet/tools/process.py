"""Child processes: started in a session of their own, followed while they run, and none left behind."""

import os
import select
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from math import ceil
from pathlib import Path
from threading import Lock, Thread
from time import monotonic
from typing import Protocol

from msgspec import Struct

from linnet.core.cancel import Cancel
from linnet.errors import Cancelled, Closed
from linnet.tools import proc, tree
from linnet.tools.orphans import Orphans
from linnet.tools.watchdog import Watchdog

MARK = "LINNET_MARK"
READ_SIZE = 1 << 16
# How long a killed process may take to go. Only one that is stuck in the kernel takes longer than a moment.
PATIENCE = 1.0
BURIAL = 0.02


class Sink(Protocol):
    """Takes what a child prints."""

    def feed(self, data: bytes) -> None: ...

    def tick(self) -> float | None:
        """Called between reads. Answers in how many seconds it wants to be called again, whatever happens."""


class Finished(Struct, frozen=True):
    """`exit_code` is negative for the signal that ended the child, and None when the time ran out."""

    exit_code: int | None
    timed_out: bool = False


class Processes:
    """Starts commands, any number at once, and knows all that came of them.

    Invariant: after `close`, and also after the death of this process, nothing that a command started is running.
    What a command puts in the background outlives the command, but not the keeper.

    Three things tell a command's offspring: descent, the session, and a mark in the environment that names the keeper
    and the command. With `adopt_orphans` this process also becomes the parent of orphaned descendants, which makes a
    search of them complete and cheap. That changes the process as a whole: it is for a process that is ours alone.
    """

    def __init__(self, hidden: Iterable[str] = ("ZOTCORE_RPC_TOKEN",), *, adopt_orphans: bool = False) -> None:
        self._hidden = frozenset(hidden)
        self._mark = os.urandom(8).hex()
        self._watchdog = Watchdog(f"{self._mark}.")
        self._lock = Lock()
        self._closed = False
        self._started = 0
        self._active: dict[int, _Call | None] = {}  # By number; None while it is being started.
        self._background: set[int] = set()  # Groups that outlived their command.
        self._drains: list[Thread] = []
        self._orphans = Orphans(f"{self._mark}.") if adopt_orphans else None
        self._stuck: list[subprocess.Popen[bytes]] = []

    def run(
        self, argv: Sequence[str], *, cwd: Path, sink: Sink, cancel: Cancel, timeout: float | None = None
    ) -> Finished:
        """Wait until the command itself has exited; its children in the background are not waited for.

        An abort kills the command and its offspring at once and raises Cancelled; so does `close`.
        """
        cancel.check()
        call = self._start(argv, cwd)
        try:
            with cancel.interrupting(call.kill):
                timed_out = call.follow(sink, timeout)
                if call.killed and not timed_out:
                    raise Cancelled
        except BaseException:
            call.kill()
            raise
        finally:
            self._end(call)
        return Finished(None if timed_out else call.process.returncode, timed_out)

    def reap(self) -> None:
        """Take leave of adopted orphans that have ended. Happens by itself whenever a command ends."""
        with self._lock:
            self._stuck = [process for process in self._stuck if process.poll() is None]
            if self._orphans:
                self._orphans.bury(self._active)

    def close(self) -> None:
        """Kill whatever is still running."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            calls = [call for call in self._active.values() if call]
            background, self._background = self._background, set()
            drains = list(self._drains)
        for call in calls:
            call.kill()
        dead: set[int] = set()
        for group in background:
            dead |= tree.strike(group)
        if self._started:
            own = f"{self._mark}.".encode()
            tree.sweep(proc.everyone, lambda pid: own in proc.environment(pid), dead)
        if self._orphans:
            tree.sweep(self._known_orphans, lambda pid: True, dead)
            tree.bury(dead - {call.pid for call in calls}, PATIENCE)
            self.reap()
        for drain in drains:
            drain.join(PATIENCE)
        self._watchdog.close()

    def _known_orphans(self) -> set[int]:
        with self._lock:
            return self._orphans.look(self._active) if self._orphans else set()

    def _start(self, argv: Sequence[str], cwd: Path) -> "_Call":
        number = self._take_number()
        try:
            self._watchdog.start()
            call = _Call(argv, cwd, self._environment(number), number)
        except BaseException:
            with self._lock:
                del self._active[number]
            raise
        self._watchdog.watch(call.pid)
        with self._lock:
            self._active[number] = call
            closed = self._closed
        if closed:  # Too late for `close` to have seen it.
            call.kill()
        return call

    def _take_number(self) -> int:
        with self._lock:
            if self._closed:
                raise Closed
            if self._orphans and not self._started:
                self._orphans.adopt()
            self._started += 1
            self._active[self._started] = None
            return self._started

    def _end(self, call: "_Call") -> None:
        dead: set[int] = set()
        if call.killed:
            mark = f"{self._mark}.{call.number};".encode()
            dead = {call.pid} | call.struck
            tree.sweep(
                self._candidates,
                lambda pid: _belongs(pid, call.pid, mark),
                dead,
                until_still=self._orphans is not None,
            )
        exited = call.release()
        left = tree.bury(dead - {call.pid}, BURIAL) if self._orphans else set()
        drain = call.drain()
        with self._lock:
            del self._active[call.number]
            if not exited:
                self._stuck.append(call.process)
            if self._orphans:
                self._orphans.add(left)
            self._drains = [thread for thread in self._drains if thread.is_alive()]
            if drain:
                self._drains.append(drain)
            if not call.killed:
                self._background.add(call.pid)
        self.reap()
        with self._lock:
            gone = {group for group in self._background if not _group_exists(group)}
            self._background -= gone
        for group in gone | ({call.pid} if call.killed else set()):
            self._watchdog.forget(group)

    def _environment(self, number: int) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name not in self._hidden}
        # Appended: what an agent inside an agent starts belongs to both.
        return {**inherited, MARK: f"{inherited.get(MARK, '')}{self._mark}.{number};"}

    def _candidates(self) -> list[int]:
        return proc.descendants(os.getpid()) if self._orphans else proc.everyone()


class _Call:
    """One command. Invariant: nothing is sent to its ids once `release` has given them back to the system."""

    def __init__(self, argv: Sequence[str], cwd: Path, env: dict[str, str], number: int) -> None:
        self.number = number
        self.killed = False
        self.struck: set[int] = set()
        self._lock = Lock()
        self._released = False
        self._at_end = False
        with ExitStack() as undo:
            # One pipe for both streams keeps their order. A pipe and not a file: a script that says `> /dev/stderr`
            # opens what is behind it again, and would truncate a file.
            self._output, write_end = _pipe(undo)
            self._woken, self._wake = _pipe(undo)
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
            self.pid = self.process.pid
            undo.callback(self.process.wait)
            undo.callback(tree.strike, self.pid)
            self._exited = _exit_fd(self.process)
            undo.pop_all()
        os.close(write_end)
        os.set_blocking(self._output, False)

    def kill(self) -> None:
        with self._lock:
            if self.killed or self._released:
                return
            self.killed = True
            self.struck = tree.strike(self.pid)
            os.write(self._wake, b"!")

    def follow(self, sink: Sink, timeout: float | None) -> bool:
        """Wait for the end, natural or not. True if it came because the time ran out."""
        deadline = None if timeout is None else monotonic() + timeout
        poller = select.poll()
        for fd in (self._output, self._woken, self._exited):
            poller.register(fd, select.POLLIN)
        timed_out = False
        while True:
            waits = (sink.tick(), None if deadline is None else deadline - monotonic())
            wait = min((wait for wait in waits if wait is not None), default=None)
            # An hour at most: a larger number of milliseconds may not fit.
            ready = {fd for fd, _ in poller.poll(None if wait is None else ceil(max(0, min(wait, 3600)) * 1000))}
            if self._output in ready:
                self._read(sink, READ_SIZE)
                if self._at_end:
                    poller.unregister(self._output)
            if self._exited in ready:
                break
            if self._woken in ready:
                _ready(self._exited, PATIENCE)
                break
            if deadline is not None and monotonic() >= deadline:
                timed_out = True
                deadline = None
                self.kill()
        # All that was printed before the end is in the pipe, and one read empties it: pipes are not larger. Reading on
        # until nothing comes could take for ever, if something in the background never stops printing. The second
        # read is there to see the end of the pipe.
        for size in (1 << 20, READ_SIZE):
            if not self._at_end:
                self._read(sink, size)
        return timed_out

    def release(self) -> bool:
        """Give the ids back. False if the process is still there, though killed: the kernel is not done with it."""
        with self._lock:
            self._released = True
        gone = _ready(self._exited, PATIENCE if self.killed else None)
        if gone:
            self.process.wait()
        for fd in (self._woken, self._wake, self._exited):
            os.close(fd)
        return gone

    def drain(self) -> Thread | None:
        """Close the pipe. If a child in the background still holds it, go on reading instead: were the pipe to close
        or to fill up, the next thing it prints would kill or stop it."""
        if self._at_end or self.killed:
            os.close(self._output)
            return None
        os.set_blocking(self._output, True)
        thread = Thread(target=_discard, args=(self._output,), name=f"drain-{self.pid}", daemon=True)
        thread.start()
        return thread

    def _read(self, sink: Sink, size: int) -> None:
        try:
            data = os.read(self._output, size)
        except BlockingIOError:
            return
        if data:
            sink.feed(data)
        else:
            self._at_end = True


def _belongs(pid: int, root: int, mark: bytes) -> bool:
    session = proc.session(pid)
    return session == root or (session != 0 and mark in proc.environment(pid))


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _pipe(undo: ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        undo.callback(os.close, end)
    return ends


def _exit_fd(process: subprocess.Popen[bytes]) -> int:
    """Readable once the process has exited."""
    if hasattr(os, "pidfd_open"):
        return os.pidfd_open(process.pid)
    read_end, write_end = os.pipe()

    def wait() -> None:
        process.wait()
        os.close(write_end)

    Thread(target=wait, name=f"wait-{process.pid}", daemon=True).start()
    return read_end


def _ready(fd: int, seconds: float | None) -> bool:
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(None if seconds is None else seconds * 1000))


def _discard(fd: int) -> None:
    while os.read(fd, READ_SIZE):
        pass
    os.close(fd)
