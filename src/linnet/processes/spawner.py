"""The agent's side of the supervisor: start it, give it commands, learn what became of them."""

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
    """Invariant: whatever `spawn` started ends with this process, however this one ends.

    There is a supervisor from the first command on, or from `warm`; if somebody kills it, the next command starts a new
    one.
    """

    def __init__(self, *, adopts: bool = False) -> None:
        """`adopts`: this process is the agent's own, and is given what a command leaves behind that kills supervisor
        and reaper at once. A program that hosts the agent may have other plans for its orphans.
        """
        self._adopts = adopts
        self._lock = Lock()
        self._closed = False
        self._process: subprocess.Popen[bytes] | None = None
        self._orders: _socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """Of the supervisor."""
        return self._process.pid if self._process else None

    def warm(self) -> None:
        """Start the supervisor, and do not wait until it is ready."""
        with self._lock:
            if self._orders is None and not self._closed:
                self._launch()

    def spawn(self, control: _socket.socket, streams: tuple[int, int, int]) -> int:
        """Hand over the other end of a control socket, and stdin, stdout and stderr. Returns the supervisor's id."""
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
        """Whether the supervisor with this id is no more, or is just ending."""
        with self._lock:
            process = self._process
        return process is None or process.pid != supervisor or _has_ended(process, DYING)

    def resume(self) -> None:
        """Somebody may have stopped the supervisor, or a reaper: have them go on."""
        from linnet.processes.keepers import resume

        process = self._process
        if process is not None and process.returncode is None:
            resume(process.pid)

    def close(self) -> None:
        """Have everything killed that is still running, and wait until it is."""
        with self._lock:
            self._closed = True
            self._dismiss()

    def _launch(self) -> _socket.socket:
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
        from linnet.processes.descendants import adopt_orphans
        from linnet.processes.keepers import kill_adopted, wait_for_end

        def watch() -> None:
            over = not wait_for_end(process.pid)
            while not over:
                with self._lock:  # Nothing is left to do if it was dismissed.
                    over = self._process is not process or kill_adopted(process.pid, PATIENCE)
                if not over:
                    sleep(PATIENCE)

        if adopt_orphans():
            with suppress(RuntimeError):  # No room for a thread: then it is noticed when the next command is started.
                Thread(target=watch, name="linnet-keepers", daemon=True).start()

    def _dismiss(self) -> None:
        process, self._process = self._process, None
        orders, self._orders = self._orders, None
        if process is None or orders is None:
            return
        from linnet.processes.keepers import kill_adopted, kill_below, resume

        orders.close()
        resume(process.pid)
        if not _has_ended(process, PATIENCE) and kill_below(
            process.pid, PATIENCE
        ):  # Somebody stops it again and again.
            process.kill()
        # If it does not end, something cannot be killed, and it stays to try again.
        if _has_ended(process, PATIENCE):
            process.wait()
        if self._adopts and process.returncode != 0:  # Killed: somebody else's children may be ours now.
            kill_adopted(None, PATIENCE)


class Spawned:
    """One process, and whatever it starts. Nothing happens before `launch`.

    `pid` is known once it has started, `exit_code` once it has ended: negative for the signal that ended it. `left`
    says whether anything that it had started was running then. `gone` is true as soon as nothing is running any more.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cwd: str | os.PathLike[str],
        env: Mapping[bytes, bytes],
        opened: Mapping[int, str] | None = None,
    ) -> None:
        """`opened` are files that it can read from these descriptors."""
        self._order = _order(argv, cwd, env, opened or {})
        self._refused = {b"folder": str(cwd), b"command": argv[0]}
        self._spawner: Spawner | None = None
        self._reaper = 0
        self.pid: int | None = None
        self.exit_code: int | None = None
        self.left = True
        self.gone = False
        self.killed = False
        self._lock = Lock()
        self._closed = False
        self._line = b""
        self._control, self._theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)

    def fileno(self) -> int:
        """Readable when there is something to `receive`."""
        return self._control.fileno()

    def launch(self, spawner: Spawner, streams: tuple[int, int, int]) -> None:
        """Returns when it has started, or was killed before that. Raises OSError if it cannot be started."""
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
        """Wait for news. Raises OSError if the process cannot be started."""
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
        while not self.gone and readable(self.fileno(), seconds):
            with suppress(OSError):
                self.receive()
        return self.gone

    def kill(self) -> bool:
        """Have it killed, with all it started; `gone` follows. False if that is done already, or too late."""
        with self._lock:
            if self.killed or self._closed:
                return False
            self.killed = True
            with suppress(OSError):  # It ended by itself.
                self._control.shutdown(_socket.SHUT_WR)
        self._resume()
        return True

    def see_killed(self) -> bool:
        """Wait until nothing is left of it, after `kill`. If whoever should do that does not, it is done from here."""
        if self.wait_until_gone(PATIENCE):
            return True
        self.force()
        return self.wait_until_gone(PATIENCE)

    def force(self) -> None:
        """Kill it from here, and its reaper. Only while that has not let go of it: then the process id is its own."""
        if not self._reaper or self.gone:
            return
        from linnet.processes.keepers import kill_below

        kill_below(self._reaper, PATIENCE)
        with suppress(OSError):
            os.kill(self._reaper, SIGKILL)
        self._resume()

    def _resume(self) -> None:
        if self._spawner is not None:
            self._spawner.resume()

    def close(self) -> None:
        """Let go of it: what is still running will be killed."""
        with self._lock:
            self._closed = True
        self._control.close()
        self._theirs.close()

    def _send(self, spawner: Spawner, streams: tuple[int, int, int]) -> int:
        """Returns the supervisor's id."""
        supervisor = 0
        try:
            with suppress(ConnectionError):  # It was killed meanwhile, or there is a report that says why it ended.
                sent = self._control.send(self._order, _socket.MSG_DONTWAIT)  # All of it, unless it is very long.
                supervisor = spawner.spawn(self._theirs, streams)
                self._theirs.close()
                self._control.sendall(self._order[sent:])
        finally:
            self._theirs.close()
        return supervisor

    def _await_start(self) -> None:
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
        with self._lock:
            if not self.killed:
                self._control.close()
                self._control, self._theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
                self.gone, self.left, self.exit_code, self._line = False, True, None, b""

    def _take(self, verb: bytes, number: bytes, rest: bytes = b"") -> None:
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
    """Wait for it. `Popen.wait` would look every few milliseconds."""
    try:
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
    poller = poll()
    poller.register(fd, POLLIN)
    return bool(poller.poll(None if seconds is None else seconds * 1000))


def _order(
    argv: Sequence[str], cwd: str | os.PathLike[str], env: Mapping[bytes, bytes], opened: Mapping[int, str]
) -> bytes:
    """Raises ValueError for what no program can be given."""
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
