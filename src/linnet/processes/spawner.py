"""The agent's side of the supervisor: starts it, sends it commands, and reads what became of them.

What is sent is described in `supervisor`; what is done when a command attacks the supervisor, in `keepers`.
"""

import _socket
import marshal
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from errno import EIO, ETIMEDOUT
from select import POLLIN, poll
from signal import SIGKILL
from threading import Lock, Thread
from time import monotonic, sleep

from linnet.errors import Closed
from linnet.processes.lookup import own_program

# How long a killed process may take to go. Only one that is stuck in the kernel takes longer than a moment.
PATIENCE = 1.0
# How long to wait for a report that a process has started, which takes a few milliseconds.
START = 10.0
# How long it may take until a process that has closed its descriptors is seen to have ended.
DYING = 0.2


class Spawner:
    """A supervisor, and the socket that takes its orders. Any thread may use it.

    Invariant: whatever `spawn` started ends with this process, however this one ends. There is a supervisor from the
    first command on, or from `warm`; if somebody kills it, the next command starts a new one.
    """

    def __init__(self, *, adopts: bool = False) -> None:
        """`adopts` says that this process is the agent's own. Then it becomes the parent of what a command leaves
        behind that kills supervisor and reaper at once, and kills it. A program that hosts the agent may have other
        plans for its orphans.
        """
        self._adopts = adopts
        self._lock = Lock()  # For all below. It is held while a supervisor is started or dismissed, so there is one.
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: _socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """The supervisor's process id; None if there is none."""
        return self._process.pid if self._process else None

    def warm(self) -> None:
        """Start the supervisor, and do not wait until it is ready."""
        with self._lock:
            if self._orders is None and not self._closed:
                self._launch()

    def spawn(self, control: _socket.socket, streams: tuple[int, int, int]) -> int:
        """Hand over the other end of a control socket, and stdin, stdout and stderr. Return the supervisor's id.

        Raises Closed, and OSError if no supervisor can be started.
        """
        fds = b"".join(fd.to_bytes(4, sys.byteorder) for fd in (control.fileno(), *streams))
        ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fds)]
        with self._lock:
            if self._closed:
                raise Closed
            if self._process and self._process.poll() is not None:  # Somebody killed it.
                self._dismiss()
            orders = self._orders or self._launch()
            assert self._process
            with suppress(ConnectionError):  # Killed just now; the end of the control socket says so.
                orders.sendmsg([b"!"], ancillary)
            return self._process.pid

    def has_lost(self, supervisor: int) -> bool:
        """Return whether the supervisor with this id has ended, or is just ending."""
        with self._lock:
            process = self._process
        # Without the lock: this may wait a moment, and others need not.
        return process is None or process.pid != supervisor or _has_ended(process, DYING)

    def resume(self) -> None:
        """Have the supervisor and the reapers go on, in case somebody stopped them."""
        from linnet.processes.keepers import resume

        # Without the lock: whoever holds it may be waiting for a supervisor that is stopped.
        process = self._process
        if process is not None and process.returncode is None:
            resume(process.pid)

    def close(self) -> None:
        """End the supervisor, and with it everything that is still running; wait for that. Nothing is started later."""
        with self._lock:
            self._closed = True
            self._dismiss()

    def _launch(self) -> _socket.socket:
        """Start a supervisor, with the lock held, and return the socket for its orders. Raises OSError."""
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        with ExitStack() as undo:
            undo.callback(ours.close)
            try:
                self._process = subprocess.Popen(
                    own_program("processes.supervisor", str(os.getpid())),
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    # Nothing of the agent's that is not needed to find libraries: every command can read it.
                    env={name: value for name, value in os.environ.items() if name.startswith(("LD_", "DYLD_"))},
                    start_new_session=True,
                )
            finally:
                theirs.close()
            undo.pop_all()
        self._orders = ours
        if self._adopts:
            self._adopt(self._process)
        return ours

    def _adopt(self, process: "subprocess.Popen[bytes]") -> None:
        """Become a subreaper, and start a thread that kills what comes to us if this supervisor is killed."""
        from linnet.processes.descendants import adopt_orphans
        from linnet.processes.keepers import kill_adopted, wait_for_end

        def watch() -> None:
            over = not wait_for_end(process.pid)
            while not over:
                # With the lock, so that no other supervisor is started meanwhile: it would not be spared. Nothing is
                # left to do if this one was dismissed.
                with self._lock:
                    over = self._process is not process or kill_adopted(process.pid, PATIENCE)
                if not over:
                    sleep(PATIENCE)

        if adopt_orphans():
            with suppress(RuntimeError):  # No room for a thread: then it is noticed when the next command is started.
                Thread(target=watch, name="linnet-keepers", daemon=True).start()

    def _dismiss(self) -> None:
        """End the supervisor, if there is one, with the lock held. Its process is reaped unless it cannot be killed."""
        process, self._process = self._process, None
        orders, self._orders = self._orders, None
        if process is None or orders is None:
            return
        from linnet.processes.keepers import kill_adopted, kill_below, resume

        orders.close()  # It takes this as our end, and kills everything.
        resume(process.pid)
        # If it has not ended, somebody stops it again and again. What is below it is killed first: it is the subreaper
        # that keeps that together.
        if not _has_ended(process, PATIENCE) and kill_below(process.pid, PATIENCE):
            process.kill()
        # If it does not end, something cannot be killed, and it stays to try again.
        if _has_ended(process, PATIENCE):
            process.wait()
        if self._adopts and process.returncode != 0:  # Killed: somebody else's children may be ours now.
            kill_adopted(None, PATIENCE)


class Spawned:
    """One process, and whatever it starts, as its reaper reports on it. Nothing happens before `launch`.

    One thread at a time calls `launch`, `receive` and what waits; any may `kill`.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cwd: str | os.PathLike[str],
        env: Mapping[bytes, bytes],
        opened: Mapping[int, str] | None = None,
    ) -> None:
        """`opened` are files that it can read from these descriptors. Raises ValueError for what cannot be started."""
        self._order = _order(argv, cwd, env, opened or {})
        self._refused = {b"folder": str(cwd), b"command": argv[0]}  # What to name if one of them is refused.
        self._spawner: Spawner | None = None
        self._reaper = 0
        self.pid: int | None = None
        """None before it has started."""
        self.exit_code: int | None = None
        """None before it has ended; negative for the signal that ended it."""
        self.left = True
        """Whether anything that it had started was running when it ended."""
        self.gone = False
        """Whether nothing is running any more."""
        self.killed = False
        """Whether `kill` was called, or it was refused."""
        self._lock = Lock()  # Keeps `kill` from a control socket that `_reopen` or `close` is about to close.
        self._closed = False
        self._line = b""  # The beginning of a report that has not arrived whole.
        self._control, self._theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)

    def fileno(self) -> int:
        """Return the descriptor that is readable when there is something to `receive`."""
        return self._control.fileno()

    def launch(self, spawner: Spawner, streams: tuple[int, int, int]) -> None:
        """Start it; return when it has started, or was killed before that. Raises OSError if it cannot be started."""
        self._spawner = spawner
        for last in (False, True):
            supervisor = self._send(spawner, streams)
            self._await_start()
            # A supervisor that was killed before it took the order has not begun with it; the next one may.
            if self.pid is not None or self.killed or last or not spawner.has_lost(supervisor):
                break
            self._reopen()
        if self.pid is None and not self.killed:
            raise OSError(EIO, "the process that starts commands was killed")

    def receive(self) -> None:
        """Wait for a report, and take it. Raises OSError if the report is that the process cannot be started."""
        try:
            data = self._control.recv(4096)
        except ConnectionError:
            data = b""
        if not data:
            self.gone = True
            self.left = False
            if self.exit_code is None:  # Killed: by us, or because somebody killed whoever watched it.
                self.exit_code = -SIGKILL
                self._resume()
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            self._take(*line.split())

    def wait_until_gone(self, seconds: float) -> bool:
        """Take reports until nothing is running any more, or none came for so many seconds. Return `gone`."""
        while not self.gone and readable(self.fileno(), seconds):
            with suppress(OSError):
                self.receive()
        return self.gone

    def kill(self) -> bool:
        """Have it killed, with all it started; `gone` follows. Return False if it was killed or closed before."""
        with self._lock:
            if self.killed or self._closed:
                return False
            self.killed = True
            with suppress(OSError):  # It ended by itself.
                self._control.shutdown(_socket.SHUT_WR)  # The order to kill; our other half still reads.
        self._resume()  # A reaper that is stopped could not obey.
        return True

    def see_killed(self) -> bool:
        """Wait, after `kill`, until nothing is left of it, and return whether that is so.

        If the reaper does not kill it in time, it is killed from here.
        """
        if self.wait_until_gone(PATIENCE):
            return True
        self.force()
        return self.wait_until_gone(PATIENCE)

    def force(self) -> None:
        """Kill it from here, and its reaper; nothing happens if it is gone."""
        if not self._reaper or self.gone:  # As long as the reaper has not let go of it, its process id is its own.
            return
        from linnet.processes.keepers import kill_below

        kill_below(self._reaper, PATIENCE)  # First: without its reaper nothing keeps it together.
        with suppress(OSError):
            os.kill(self._reaper, SIGKILL)
        self._resume()

    def _resume(self) -> None:
        if self._spawner is not None:
            self._spawner.resume()

    def close(self) -> None:
        """Close the control socket; what is still running is killed."""
        with self._lock:
            self._closed = True
        self._control.close()
        self._theirs.close()

    def _send(self, spawner: Spawner, streams: tuple[int, int, int]) -> int:
        """Give the order to a supervisor, and return its id; 0 if the connection broke before it was known."""
        supervisor = 0
        try:
            with suppress(ConnectionError):  # It was killed meanwhile, or there is a report that says why it ended.
                # All of it, unless it is very long: the reaper that is given the socket then need not wait. What does
                # not fit into the socket follows when somebody reads there.
                sent = self._control.send(self._order, _socket.MSG_DONTWAIT)
                supervisor = spawner.spawn(self._theirs, streams)
                self._theirs.close()  # Now: if the reaper dies, the next line must fail and not wait for ever.
                self._control.sendall(self._order[sent:])
        finally:
            self._theirs.close()
        return supervisor

    def _await_start(self) -> None:
        """Take reports until it has started, is gone, or was killed. Raises OSError; TimeoutError if none comes."""
        deadline = monotonic() + START
        while self.pid is None and not self.gone:
            if readable(self.fileno(), PATIENCE):
                self.receive()
            elif self.killed:
                return
            elif monotonic() <= deadline:
                self._resume()
            else:
                raise TimeoutError(ETIMEDOUT, "the process that starts commands does not answer")

    def _reopen(self) -> None:
        """Begin anew with another control socket, unless it was killed."""
        with self._lock:
            if not self.killed:
                self._control.close()
                self._control, self._theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
                self.gone, self.left, self.exit_code, self._line = False, True, None, b""

    def _take(self, verb: bytes, number: bytes, rest: bytes = b"") -> None:
        """Take the words of one report. Raises OSError for `failed`."""
        if verb == b"started":
            self.pid = int(number)
            self._reaper = int(rest)
        elif verb == b"exited":
            self.exit_code = int(number)
            self.left = rest != b"0"
        else:
            self.killed = True
            raise OSError(int(number), os.strerror(int(number)), self._refused[rest])


def _has_ended(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for its end, so long at most, and return whether it came. It is not reaped where the system has pidfds."""
    try:  # `Popen.wait` would look every few milliseconds.
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    except (AttributeError, OSError):  # Not on this system, or not now.
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        return process.returncode is not None
    try:
        return readable(fd, seconds)
    finally:
        os.close(fd)


def readable(fd: int, seconds: float | None) -> bool:
    """Wait until there is something to read, so long at most, and return whether there is. None is for ever."""
    poller = poll()
    poller.register(fd, POLLIN)
    return bool(poller.poll(None if seconds is None else seconds * 1000))


def _order(
    argv: Sequence[str], cwd: str | os.PathLike[str], env: Mapping[bytes, bytes], opened: Mapping[int, str]
) -> bytes:
    """Return the bytes that tell a reaper what to run. Raises ValueError for what no program can be given."""
    words = [os.fsencode(word) for word in argv]
    if not words:
        raise ValueError("a command has at least a name")
    folder = os.fsencode(os.path.abspath(cwd))
    if any(b"\0" in text for text in (*words, folder, *env.keys(), *env.values())):
        raise ValueError("embedded null byte")
    if any(b"=" in name for name in env):
        raise ValueError("illegal environment variable name")
    body = marshal.dumps((words, folder, dict(env), {fd: os.fsencode(path) for fd, path in opened.items()}))
    return len(body).to_bytes(8, "big") + body
