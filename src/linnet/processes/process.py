"""Runs commands and programs for a session: follows their output while they run, and leaves nothing of them behind."""

import os
import select
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from math import ceil
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct

from linnet.core.cancel import Cancel
from linnet.errors import Cancelled, Closed
from linnet.processes.child import Child
from linnet.processes.shared_spawner import SharedSpawner
from linnet.processes.spawner import PATIENCE, Spawned, Spawner

if TYPE_CHECKING:
    from linnet.processes.sandbox.bubblewrap import Sandbox
    from linnet.processes.sandbox.files_only import FilesOnly

_Confined: TypeAlias = tuple[Sequence[str], str | os.PathLike[str], Mapping[bytes, bytes], Mapping[int, str]]
"""A command as it is started in the sandbox: its words, folder, environment, and files to open for it."""
READ_SIZE = 1 << 16
MOMENT = 0.05  # What is still there so long after its command has ended was put into the background.
TOKEN = "ZOTCORE_RPC_TOKEN"  # What a client must say to be let in: no command's business.


class Sink(Protocol):
    """Takes what a command prints, in the thread that runs the command."""

    def feed(self, data: bytes) -> None:
        """Take the next piece."""

    def tick(self) -> float | None:
        """Return in how many seconds to call this again even if nothing is printed. Called between reads."""


class Finished(Struct, frozen=True):
    """How a command ended."""

    exit_code: int | None
    """Negative for the signal that ended it; None when the time ran out."""
    timed_out: bool = False


class Processes:
    """Starts commands and programs, any number at once, from any thread.

    Invariant: after `close`, and also after the death of this process, nothing that one of them started is running.
    What a command puts in the background outlives the command. This process gets no child but one, the supervisor.
    """

    def __init__(
        self,
        hidden: Iterable[str] = (),
        shared: SharedSpawner | None = None,
        sandbox: "Sandbox | FilesOnly | None" = None,
    ) -> None:
        """`hidden` are variables that no child gets, besides the token. Without `shared` there is a supervisor for
        these alone. Commands run in the sandbox, if there is one; `close` closes it.
        """
        self.sandbox = sandbox
        self.confines_extensions = False  # Whether programs of extensions run in the sandbox, too.
        self.session_variables: Callable[[], Mapping[str, str | None]] = dict
        """Returns what commands of the model are told of the session, as variables."""
        self.hide(hidden)
        self._shared = shared
        self._owner = os.getpid()
        self._spawner = shared.borrow() if shared is not None else Spawner()
        self._lock = Lock()
        self._closed = False
        self._active: set[_Command] = set()
        self._inside = 0  # How many are in `_entering`.
        self._background: list[Spawned] = []  # Commands that ended and left something running.
        self._drains: list[Thread] = []  # They read what those go on to print.
        self._children: list[Child] = []

    @property
    def temporary(self) -> str | None:
        """The folder for temporary files that commands should find; None is the system's."""
        return self.sandbox.temporary if self.sandbox is not None else None

    def warm(self) -> None:
        """Start the supervisor, so that the first command need not wait for it. Returns at once."""
        with suppress(OSError):  # The first command will say so.
            self._spawner.warm()

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str | os.PathLike[str],
        sink: Sink,
        cancel: Cancel,
        timeout: float | None = None,
        env: Mapping[str, str | None] | None = None,
    ) -> Finished:
        """Run a command, and return how it ended. Its children in the background are not waited for. `env` is set
        besides what every command gets; a variable of None is not there.

        An abort kills the command and all it started at once and raises Cancelled; so does `close`. Raises OSError or
        ValueError if it cannot be started, and Closed after `close`.
        """
        cancel.check()
        with self._entering():
            opened: Mapping[int, str] | None = None
            environment: Mapping[bytes, bytes] = self._environment()
            if self.sandbox:
                argv, cwd, environment, opened = self._confined(argv, cwd)
            if env:
                environment = {name: value for name, value in environment.items() if os.fsdecode(name) not in env}
                environment |= {os.fsencode(name): os.fsencode(each) for name, each in env.items() if each is not None}
            return self._run(_Command(argv, cwd, environment, opened), sink, cancel, timeout)

    def _run(self, command: "_Command", sink: Sink, cancel: Cancel, timeout: float | None) -> Finished:
        try:
            self._add(command)  # Before it starts: `close` then either finds it, or nothing is started.
            with cancel.interrupting(command.kill):
                command.launch(self._spawner)
                timed_out = command.follow(sink, timeout)
                if command.killed and not timed_out:
                    raise Cancelled
        except BaseException:
            command.kill()
            raise
        finally:
            self._end(command)
        return Finished(None if timed_out else command.spawned.exit_code, timed_out)

    def start(
        self,
        argv: Sequence[str],
        *,
        cwd: str | os.PathLike[str],
        env: Mapping[str, str] | None = None,
        trusted: bool = True,
        errors: Callable[[bytes], None] = lambda data: None,
        exited: Callable[[], None] = lambda: None,
    ) -> Child:
        """Start a program that stays, and return it when it has started.

        `env` is set besides what every command gets. A program that is not trusted runs in the sandbox, and sees the
        folder that it is started in there. `errors` is given what it prints on stderr, and `exited` is called when it
        has ended, both in a thread of the child's. Raises OSError or ValueError if it cannot be started.
        """
        added = {os.fsencode(name): os.fsencode(value) for name, value in (env or {}).items()}
        environment: Mapping[bytes, bytes] = self._environment()
        opened: Mapping[int, str] | None = None
        if not trusted and self.sandbox is None:
            raise ValueError("it is to run in the sandbox, and there is none; start linnet with --sandbox")
        with self._entering():
            if not trusted:
                cwd = os.path.realpath(cwd)
                argv, cwd, environment, opened = self._confined(argv, cwd, shown=(cwd,))
            child = Child(argv, cwd, {**environment, **added}, self._spawner, opened, errors=errors, exited=exited)
            with self._lock:
                self._children = [each for each in self._children if not each.closed]
                self._children.append(child)
                late = self._closed
        if late:  # `close` ran while it was started, and has not seen it.
            child.close()
        return child

    @property
    def left_running(self) -> bool:
        """Return whether a command that has ended left something running in the background."""
        with self._lock:
            self._background = [spawned for spawned in self._background if not _is_over(spawned)]
            return bool(self._background)

    def close(self) -> None:
        """Kill whatever is still running, and wait until it is gone. Idempotent."""
        with self._lock:  # Held only to take what is there: whoever runs a command needs it to end that.
            if self._closed:
                return
            self._closed = True
            active = list(self._active)
            background, self._background = self._background, []
            drains, self._drains = self._drains, []
            children, self._children = self._children, []
        for command in active:
            command.kill()
        if self._shared is None:
            self._spawner.close()
        elif self._owner == os.getpid():  # Or else they are the parent's, which goes on.
            for spawned in background:
                spawned.kill()
            for spawned in background:
                spawned.see_killed()
        for spawned in background:
            spawned.close()
        for child in children:
            child.close()
        if self._shared is not None:
            self._shared.give_back(self._spawner)
        for drain in drains:
            drain.join(PATIENCE)
        if self.sandbox is not None and self._owner == os.getpid():
            self.sandbox.close()

    def _add(self, command: "_Command") -> None:
        """Have `close` know of a command that is about to start. Raises Closed."""
        with self._lock:
            if self._closed:
                raise Closed
            self._active.add(command)

    def _end(self, command: "_Command") -> None:
        """Forget a command that has ended, or keep what it left in the background for `close`."""
        drain = command.release()
        with self._lock:
            self._active.discard(command)
            self._background = [spawned for spawned in self._background if not _is_over(spawned)]
            self._drains = [thread for thread in self._drains if thread.is_alive()]
            if command.spawned.left and not command.killed and not self._closed:
                self._background.append(command.spawned)
            else:
                command.spawned.close()
            if drain:
                self._drains.append(drain)

    @contextmanager
    def _entering(self) -> Iterator[None]:
        """Count the body among what may be in the sandbox, while it runs."""
        with self._lock:
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1

    def _if_alone(self, action: Callable[[], None]) -> None:
        """Call `action` if nothing is in the sandbox but the caller's command, which is about to enter.

        With the lock held, so that nothing else enters meanwhile.
        """
        with self._lock:
            self._background = [spawned for spawned in self._background if not _is_over(spawned, MOMENT)]
            if self._inside == 1 and not self._background and all(child.closed for child in self._children):
                action()

    def _confined(self, argv: Sequence[str], cwd: str | os.PathLike[str], shown: Sequence[str] = ()) -> "_Confined":
        """Return what starts this command in the sandbox, where it also sees the paths that are `shown`."""
        assert self.sandbox is not None
        inside = {**self._environment(), **self.sandbox.variables}
        return self.sandbox.wrapped(argv, cwd, self._if_alone, shown), cwd, inside, self.sandbox.opened

    def hide(self, variables: Iterable[str]) -> None:
        """Keep these variables, besides the token, from children that are started from now on."""
        self._hidden = frozenset(map(os.fsencode, (TOKEN, *variables)))

    def _environment(self) -> dict[bytes, bytes]:
        """Return our own environment without what is hidden."""
        return {name: value for name, value in os.environb.copy().items() if name not in self._hidden}


class _Command:
    """A command and the pipe that it prints to.

    One thread calls all but `kill`, which any may call. `release` closes every descriptor but those of `spawned`.
    """

    def __init__(
        self,
        argv: Sequence[str],
        cwd: str | os.PathLike[str],
        env: Mapping[bytes, bytes],
        opened: Mapping[int, str] | None = None,
    ) -> None:
        self.killed = False
        self._lock = Lock()  # For `killed` and `_released`: after `release`, `_wake` may be anybody's descriptor.
        self._released = False
        self._at_end = False  # Whether nobody holds the write end of the pipe any more.
        with ExitStack() as undo:
            # One pipe for both streams keeps their order. A pipe and not a file: a script that says `> /dev/stderr`
            # opens what is behind it again, and would truncate a file.
            self._output, self._write_end = _pipe(undo)
            self._woken, self._wake = _pipe(undo)
            self.spawned = Spawned(argv, cwd, env, opened)
            undo.pop_all()
        os.set_blocking(self._output, False)

    def launch(self, spawner: Spawner) -> None:
        """Return when it has started, or was killed before that. Raises OSError."""
        null = os.open(os.devnull, os.O_RDWR)
        try:
            self.spawned.launch(spawner, (null, self._write_end, self._write_end))
        finally:
            os.close(null)
            os.close(self._write_end)
            self._write_end = -1

    def kill(self) -> None:
        """Have it killed with all it started, and wake `follow`. Nothing happens after `release`."""
        with self._lock:
            if not self.killed and not self._released:
                self.killed = True
                self.spawned.kill()
                os.write(self._wake, b"!")

    def follow(self, sink: Sink, timeout: float | None) -> bool:
        """Feed the sink until the command has ended or was killed. Return whether it was because the time ran out."""
        deadline = None if timeout is None else monotonic() + timeout
        poller = select.poll()
        for fd in (self._output, self._woken, self.spawned.fileno()):
            poller.register(fd, select.POLLIN)
        timed_out = False
        while self.spawned.exit_code is None:
            waits = (sink.tick(), None if deadline is None else deadline - monotonic())
            wait = min((wait for wait in waits if wait is not None), default=None)
            # An hour at most: a larger number of milliseconds may not fit.
            ready = {fd for fd, _ in poller.poll(None if wait is None else ceil(max(0, min(wait, 3600)) * 1000))}
            if self._output in ready:
                self._read(sink, READ_SIZE)
                if self._at_end:
                    poller.unregister(self._output)
            if self.spawned.fileno() in ready:
                self.spawned.receive()
            if self._woken in ready:
                self.spawned.see_killed()
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

    def release(self) -> Thread | None:
        """Close the descriptors; if it was killed, wait until nothing of it is left.

        Otherwise a child in the background may still hold the pipe. Then return a thread that goes on reading: were the
        pipe to close or to fill up, the next thing that the child prints would kill or stop it.
        """
        with self._lock:
            self._released = True
        if self.killed:
            self.spawned.see_killed()
        for fd in (self._woken, self._wake, self._write_end):
            if fd >= 0:
                os.close(fd)
        if self._at_end or self.killed:
            os.close(self._output)
            return None
        os.set_blocking(self._output, True)
        thread = Thread(target=_discard, args=(self._output,), name=f"drain-{self.spawned.pid}", daemon=True)
        thread.start()
        return thread

    def _read(self, sink: Sink, size: int) -> None:
        """Feed the sink with what is in the pipe, up to `size` bytes, and notice the end of the pipe."""
        try:
            data = os.read(self._output, size)
        except BlockingIOError:
            return
        if data:
            sink.feed(data)
        else:
            self._at_end = True


def _is_over(spawned: Spawned, seconds: float = 0) -> bool:
    """Return whether nothing of it is left within so many seconds; if so, it is closed."""
    if not spawned.wait_until_gone(seconds):
        return False
    spawned.close()
    return True


def _pipe(undo: ExitStack) -> tuple[int, int]:
    """Return the read end and the write end of a pipe that `undo` closes."""
    ends = os.pipe()
    for end in ends:
        undo.callback(os.close, end)
    return ends


def _discard(fd: int) -> None:
    """Read to the end of the pipe, and close it."""
    while os.read(fd, READ_SIZE):
        pass
    os.close(fd)
