"""A child process that stays and is talked to by pipes, such as an extension or an MCP server."""

import os
import select
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from threading import Event, Lock, Thread
from time import monotonic

from linnet.processes.spawner import PATIENCE, Spawned, Spawner

KEPT = 64 * 1024  # Bytes of stderr.


class Child:
    """A program that is running, with pipes to its stdin, stdout and stderr.

    Read its `stdout`, and `write` or `offer` what goes to its stdin, in any thread; if one is blocked, a `kill` by
    another shows it the end of the pipe. Invariant: once it is closed, nothing that the program started is running.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cwd: str | os.PathLike[str],
        env: Mapping[bytes, bytes],
        spawner: Spawner,
        opened: Mapping[int, str] | None = None,
        *,
        errors: Callable[[bytes], None] = lambda data: None,
        exited: Callable[[], None] = lambda: None,
    ) -> None:
        """Start it, and return when it has started. Raises OSError or ValueError if it cannot be.

        `errors` is given what it prints on stderr; `exited` is called when it has ended. Both are called in the thread
        that watches it. `opened` are files that it can read from these descriptors.
        """
        self.closed = False
        """Whether `close` was called."""
        self._take_errors = errors
        self._tell_exit = exited
        self._writing = Lock()
        self._errors = bytearray()
        self._exited = Event()
        with ExitStack() as theirs, ExitStack() as undo:
            self._stdin: int | None
            stdin, self._stdin = os.pipe()
            theirs.callback(os.close, stdin)
            undo.callback(os.close, self._stdin)
            os.set_blocking(self._stdin, False)  # Our end only.
            stdout_fd, stdout = os.pipe()
            theirs.callback(os.close, stdout)
            self.stdout = undo.enter_context(open(stdout_fd, "rb"))
            self._stderr, stderr = os.pipe()
            theirs.callback(os.close, stderr)
            undo.callback(os.close, self._stderr)
            os.set_blocking(self._stderr, False)
            self._spawned = Spawned(argv, cwd, env, opened)
            undo.callback(self._spawned.close)
            self._spawned.launch(spawner, (stdin, stdout, stderr))
            assert self._spawned.pid is not None
            self.pid = self._spawned.pid
            self._watcher = Thread(target=self._watch, name=f"child-{self.pid}", daemon=True)
            self._watcher.start()
            undo.pop_all()

    @property
    def stderr(self) -> str:
        """The end of what it has printed on stderr, up to 64 KiB."""
        return bytes(self._errors).decode(errors="replace")

    def write(self, data: bytes) -> None:
        """Write all of it, and nothing of another thread's in between; block while the pipe is full.

        Raises BrokenPipeError if nobody reads it any more.
        """
        with self._writing:
            if self._stdin is None:
                raise BrokenPipeError
            left = memoryview(data)
            poller = select.poll()
            poller.register(self._stdin, select.POLLOUT)
            while left := left[self._write_some(left) :]:
                poller.poll()

    def offer(self, data: bytes | memoryview) -> int:
        """Write as many bytes as there is room for, and return how many that were.

        Raises BrokenPipeError if nobody reads them any more.
        """
        with self._writing:
            return self._write_some(data)

    @property
    def stdin(self) -> int | None:
        """The descriptor of its input, to poll for room; None when the input has ended."""
        return self._stdin

    def _write_some(self, data: bytes | memoryview) -> int:
        """Write what there is room for, with `_writing` held, and return how many bytes that were."""
        if self._stdin is None:
            raise BrokenPipeError
        try:
            return os.write(self._stdin, data)
        except BlockingIOError:
            return 0

    def wait(self, timeout: float | None = None) -> int | None:
        """Return the exit code, negative for a signal; None if the program still runs after `timeout` seconds.

        What it started may still be running when it has exited.
        """
        self._exited.wait(timeout)
        return self._spawned.exit_code

    def wait_until_gone(self, timeout: float) -> bool:
        """Wait until nothing of the program is left, so long at most, and return whether that is so."""
        self._watcher.join(timeout)
        return not self._watcher.is_alive()

    def kill(self) -> None:
        """Have it killed, with all it started. Returns at once; `close` waits."""
        self._spawned.kill()

    def close(self, grace: float = 0) -> None:
        """End its input, give it `grace` seconds to exit by itself, kill what is left, and close the pipes."""
        if self.closed:
            return
        self.closed = True
        deadline = monotonic() + grace
        self.end_input(grace)
        self._exited.wait(max(0, deadline - monotonic()))
        self.kill()
        self._watcher.join(PATIENCE)  # It ends when nothing of the program is left.
        if self._watcher.is_alive():  # Whoever should have killed it did not.
            self._spawned.force()
            self._watcher.join(PATIENCE)
        self.end_input(PATIENCE)  # Again: a thread that was blocked in `write` has let go of the lock by now.
        self.stdout.close()

    def end_input(self, patience: float = PATIENCE) -> None:
        """Close its input, unless a thread is still writing after `patience` seconds."""
        if self._writing.acquire(timeout=patience):
            stdin, self._stdin = self._stdin, None
            self._writing.release()
            if stdin is not None:
                os.close(stdin)

    def _watch(self) -> None:
        """Keep what it prints on stderr, and report its exit, until nothing of it is left. Runs in its own thread."""
        poller = select.poll()
        poller.register(self._stderr, select.POLLIN)
        poller.register(self._spawned.fileno(), select.POLLIN)
        while not self._spawned.gone:
            for fd, _ in poller.poll():
                if fd != self._stderr:
                    self._spawned.receive()
                elif not self._read_errors():
                    poller.unregister(fd)
            if self._spawned.exit_code is not None and not self._exited.is_set():
                self._exited.set()
                self._tell_exit()
        while self._read_errors():
            pass
        self._spawned.close()
        os.close(self._stderr)

    def _read_errors(self) -> bool:
        """Read what it printed on stderr. Return False if there is nothing, or the pipe is at its end."""
        try:
            data = os.read(self._stderr, 1 << 16)
        except BlockingIOError:
            return False
        self._errors += data
        del self._errors[:-KEPT]
        if data:
            self._take_errors(data)
        return bool(data)
