"""A conversation with an agent over its pipes. One thread reads, writes and delivers; any thread may ask and wait.

Theory of operation. All state is under one lock. The thread waits in one `poll` for stdout, stderr, room in stdin and a
pipe of its own that wakes it. Lines are decoded without the lock, which only that thread does, then applied under it in
the order they came, so that whoever waits sees answers and events in the order of the stream.

Reading stops while a stream holds more than `room` bytes of events that nobody has taken, so that the agent notices and
slows down; but never while somebody waits for anything, be it an answer, an end or the next event of another stream.
So a slow reader costs a bounded amount of memory, and nobody waits for something that lies unread in the pipe.
"""

import atexit
import os
import select
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from linnet.changes import Changes
from linnet.client.child import CHUNK, Child, Tail, read
from linnet.client.conversation import Answered, Conversation, Heard, Output
from linnet.client.request import Request
from linnet.client.stream import Pending, Stream
from linnet.client.work import Begun, Ended
from linnet.errors import AgentGone
from linnet.wire.incoming import Reader, TooLong

E = TypeVar("E")
ROOM = 64 * 1024 * 1024  # Bytes of events.
GRACE = 2.0  # Seconds that a process has to exit once its stdout has ended, and again once it was told to.
ASK_AGAIN = 0.25  # Seconds after which an agent that said it is busy is asked again.
TAIL = 4096  # Bytes of stderr in an error.


class Link(Generic[E]):
    """The pipes of one agent, and whoever waits for it.

    Invariant: once `gone` is set, which always happens in the end, every Pending is completed and every Stream ended.
    """

    def __init__(
        self, child: Child, reader: Reader[E], conversation: Conversation[E], *, room: int = ROOM, echo: bool = False
    ) -> None:
        """`echo` copies the agent's stderr to ours, besides keeping its end."""
        self._asleep = self._bell = -1  # The pipe that wakes the thread.
        self._changes = Changes()
        self.lock = self._changes.lock
        self.gone: AgentGone | None = None  # Why nothing can be asked any more; None while the agent is there.
        self._child = child
        self._reader = reader
        self._conversation = conversation
        self._room = room
        self._echo = echo
        self._stderr = Tail()
        self._outgoing = bytearray()  # Not written yet.
        self._pending: dict[str, Pending] = {}  # By the id of the command.
        self._streams: WeakSet[Stream[E]] = WeakSet()  # Weak: one that nobody reads any more must not stop reading.
        self._idle: list[Pending] = []  # To be completed when the agent is idle.
        self._waiting = 0  # How many are in `waiting`.
        self._closing = False  # Nothing more is asked; stdin ends when everything is written.
        self._stdin_open = self._stdout_open = self._stderr_open = True
        self._reason = ""
        self._doomed: float | None = None  # When to give up waiting for the process to exit by itself.
        try:
            self._asleep, self._bell = os.pipe()
            for end in (self._asleep, self._bell):
                os.set_blocking(end, False)
            self._thread = Thread(target=self._run, name="linnet-client", daemon=True)
            atexit.register(self._at_exit)
            child.watch(self._exited)
            self._thread.start()
        except BaseException:  # No more files or threads, say.
            atexit.unregister(self._at_exit)
            child.kill_now()
            raise

    def __del__(self) -> None:
        """Close the bell. Not before: whoever holds this may ring it, and its number could be another file's then."""
        if self._bell >= 0:
            os.close(self._asleep)
            os.close(self._bell)

    @property
    def stderr(self) -> str:
        with self.lock:
            return self._stderr.text()

    @property
    def is_idle(self) -> bool:
        with self.lock:
            return self._conversation.work.is_idle

    def ask(self, request: Request[Any], stream: Stream[E] | None = None) -> Pending:
        """Send a command, and return what its answer completes. `stream` gets the events of what it begins.

        Raises AgentGone.
        """
        with self.lock:
            self._check()
            # All under one lock: the answer may come as soon as the line is written, and must find who waits for it.
            id, line, outputs = self._conversation.ask(request)
            pending = self._pending[id] = Pending(id)
            if stream is not None:
                stream.id = id
                self._streams.add(stream)
            self._send(line)
            self._deliver(outputs)
            self._changes.tell()
        return pending

    def tell(self, frame: dict[str, Any]) -> None:
        """Send something that is not answered. Raises AgentGone."""
        with self.lock:
            self._check()
            self._send(self._conversation.tell(frame))

    def listen(self) -> Stream[E]:
        """Return a stream of everything that comes from now on."""
        with self.lock:
            stream: Stream[E] = Stream()
            if self.gone:
                stream.end(self.gone)
            self._streams.add(stream)
            return stream

    def watch_idle(self) -> Pending:
        """Return a Pending that is completed when the agent is idle. Raises AgentGone."""
        with self.lock:
            self._check()
            pending = Pending()
            if self._conversation.work.is_idle:
                pending.complete(None)
            else:
                self._idle.append(pending)
                self._question()
            return pending

    def take(self, stream: Stream[E]) -> deque[Heard[E]]:
        """Return the events that have come; none if there are none. Raises AgentGone after the last one."""
        with self.lock:
            if stream.size > self._room:  # It stopped reading because of this one.
                self.wake()
            return stream.take()

    def let_go(self, waited_for: Pending | Stream[E]) -> None:
        """Drop what nobody wants any more. What was asked for still happens."""
        with self.lock:
            if isinstance(waited_for, Stream):
                waited_for.drop()
                self._streams.discard(waited_for)
                self.wake()
            elif waited_for in self._idle:
                self._idle.remove(waited_for)
            elif self._pending.pop(waited_for.id, None):
                self._conversation.forget(waited_for.id)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Keep reading while the body waits, however much was not taken."""
        with self.lock:
            self._waiting += 1
            self.wake()
        try:
            yield
        finally:
            with self.lock:
                self._waiting -= 1

    def wait(self, ready: Callable[[], bool], seconds: float | None) -> bool:
        """Block until `ready`, which is called under the lock. Return False if that took too long."""
        with self.lock:
            if ready():
                return True
        with self.waiting():
            return self._changes.wait_for(ready, seconds)

    def close(self, patience: float, grace: float = GRACE) -> int:
        """Close stdin, wait, terminate, wait, kill; return the exit code. Idempotent."""
        with self.lock:
            self._closing = True
            self.wake()
        for seconds, number in ((patience, signal.SIGTERM), (grace, signal.SIGKILL)):
            if self._over(seconds):
                break
            self._child.signal(number)
        self._over(None)
        self._thread.join()
        assert self._child.exit_code is not None
        return self._child.exit_code

    def abandon(self) -> None:
        """Have the thread end the process: nobody holds the client any more. Does not wait.

        Takes no lock: the garbage collector calls it, in any thread, perhaps in one that holds the lock.
        """
        self._closing = True
        self._doomed = time.monotonic()
        self.wake()

    def _at_exit(self) -> None:
        """End the process while there still are threads: they stand still when the interpreter ends."""
        self.abandon()
        self._over(4 * GRACE)

    def _over(self, seconds: float | None) -> bool:
        return self._changes.wait_for(lambda: self.gone is not None, seconds)

    def _exited(self) -> None:
        with self.lock:
            self._changes.tell()
        self.wake()

    def _check(self) -> None:
        if self.gone:
            raise self.gone.again()
        if self._closing:
            raise AgentGone(self._child.exit_code, "", "the client is closed")

    def _send(self, line: bytes) -> None:
        """Write a line at once, if there is room in the pipe; the thread writes the rest."""
        if line:
            at_once = self._stdin_open and not self._outgoing
            self._outgoing += line
            if at_once:
                self._write()
            if self._outgoing:
                self.wake()

    def wake(self) -> None:
        """Have the thread look again at what there is to do. Takes no lock."""
        with suppress(OSError):  # Full: it will wake anyway. At the end nobody listens.
            os.write(self._bell, b"!")

    def _deliver(self, outputs: list[Output[E]]) -> None:
        listening = list(self._streams)
        for output in outputs:
            match output:
                case Heard():
                    for stream in listening:
                        stream.put(output)
                case Answered(id, reply):
                    pending = self._pending.pop(id, None)
                    if pending:
                        pending.complete(reply)
                    if not reply.success:
                        self._end_streams(id)
                case Begun(id):
                    for stream in listening:
                        if stream.id == id:
                            stream.begin()
                case Ended(id):
                    self._end_streams(id)
                case _:
                    for waiter in self._idle:
                        waiter.complete(None)
                    self._idle.clear()

    def _end_streams(self, id: str) -> None:
        for stream in [stream for stream in self._streams if stream.id == id]:
            self._streams.discard(stream)
            stream.end()

    def _run(self) -> None:
        try:
            self._loop()
        except TooLong as error:
            self._stdout_open = False
            self._reason = str(error)
        finally:
            self._finish()

    def _loop(self) -> None:
        """Read and write until the process has exited and all was read, or it is doomed and would not exit."""
        while self._child.exit_code is None:
            if self._doomed is None and not (self._stdout_open and (self._stdin_open or self._closing)):
                self._doomed = time.monotonic() + GRACE  # It cannot be talked to any more.
            if self._doomed is not None and time.monotonic() > self._doomed:
                self._reason = self._reason or "the agent closed its pipes and did not exit"
                return
            self._turn(self._patience())
        last = time.monotonic() + GRACE
        while self._turn(0.0) and time.monotonic() < last:
            pass  # What is left in the pipes. Somebody else may hold their other ends, so their end may never come.

    def _patience(self) -> float | None:
        if self._doomed is not None:
            return max(0.0, self._doomed - time.monotonic())
        with self.lock:
            return ASK_AGAIN if self._is_watched() and self._conversation.is_unsure else None

    def _is_watched(self) -> bool:
        """Return whether anybody waits for an end. Nothing else is worth asking the agent for."""
        return bool(self._idle) or any(stream.id for stream in self._streams)

    def _question(self, *, again: bool = False) -> None:
        if self._is_watched():
            self._send(self._conversation.question(again=again))

    def _turn(self, seconds: float | None) -> bool:
        """Wait once for something to read or to write, and do that. Return False if there was nothing."""
        poll = select.poll()
        poll.register(self._asleep, select.POLLIN)
        with self.lock:
            if self._stdin_open and self._outgoing:
                poll.register(self._child.stdin, select.POLLOUT)
            elif self._stdin_open and self._closing:
                self._stdin_open = False
                self._child.close_stdin()
            is_full = any(stream.size > self._room for stream in self._streams)
            reads = self._stdout_open and (not is_full or self._waiting > 0 or self._closing)
        if reads or (self._stdout_open and self._child.exit_code is not None):
            poll.register(self._child.stdout, select.POLLIN)
        if self._stderr_open:
            poll.register(self._child.stderr, select.POLLIN)
        ready = {file for file, _ in poll.poll(None if seconds is None else seconds * 1000 + 1)}
        if not ready:
            self._ask_again()
            return False
        if self._asleep in ready:
            with suppress(BlockingIOError):
                os.read(self._asleep, CHUNK)
        if self._child.stdin in ready:
            with self.lock:
                if self._stdin_open and self._outgoing:
                    self._write()
        if self._child.stderr in ready:
            self._read_stderr()
        if self._child.stdout in ready:
            self._read_stdout()
        return bool(ready - {self._asleep})

    def _ask_again(self) -> None:
        with self.lock:
            self._question(again=True)

    def _write(self) -> None:
        try:
            written = os.write(self._child.stdin, self._outgoing[:CHUNK])
        except BlockingIOError:
            return
        except OSError:
            self._stdin_open = False  # Nobody reads. Its exit will follow, or be seen to.
            self.wake()
            return
        del self._outgoing[:written]

    def _read_stderr(self) -> None:
        chunk = read(self._child.stderr)
        if chunk is None:
            return
        self._stderr_open = bool(chunk)
        if self._echo:
            with suppress(OSError):
                os.write(2, chunk)
        with self.lock:
            self._stderr.add(chunk)

    def _read_stdout(self) -> None:
        chunk = read(self._child.stdout)
        if chunk is None:
            return
        self._stdout_open = bool(chunk)
        incoming = self._reader.feed(chunk) if chunk else self._reader.finish()
        with self.lock:
            self._deliver([output for each in incoming for output in self._conversation.take(each)])
            self._question()
            self._changes.tell()

    def _finish(self) -> None:
        """End the process when nothing more comes, and tell whoever waits why."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.lock:
                if self._child.exit_code is not None:
                    break
                self._child.signal(number)
            self._changes.wait_for(lambda: self._child.exit_code is not None, GRACE)
        with self.lock:
            torn = self._reader.finish() if self._stdout_open else []
            self._deliver([output for each in torn for output in self._conversation.take(each)])
            self._outgoing.clear()
            reason = "the client is closed" if self._closing else self._reason
            self.gone = AgentGone(self._child.exit_code, self._stderr.text(TAIL), reason)
            for pending in (*self._pending.values(), *self._idle):
                pending.complete(None, self.gone)
            for stream in list(self._streams):
                stream.end(None if self._closing and not stream.id else self.gone)
            self._pending.clear()
            self._idle.clear()
            self._streams.clear()
            self._child.close()
            self._changes.tell()
        atexit.unregister(self._at_exit)
