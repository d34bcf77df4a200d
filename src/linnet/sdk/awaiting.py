"""Has other threads do what may block for an AsyncRuntime, and awaits them in the program's event loop."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeAlias, TypeVar

from linnet.core import commands
from linnet.errors import BadInput, Closed
from linnet.faces import awaits
from linnet.logs import broke
from linnet.runtime.error_report import as_error
from linnet.runtime.session import Session
from linnet.sdk.event_types import Event
from linnet.sdk.run_handle import RunHandle, RunListener
from linnet.sdk.waiting import PATIENCE, Answered, Work

A = TypeVar("A")
T = TypeVar("T")
Task: TypeAlias = Callable[[], None]
NOT_OPEN = "the runtime is not open yet; use it inside `async with`"
ROOM = 32  # Events that nobody has taken, above which a run waits. Hundreds of runs may share an interpreter.
WORKERS = 2  # More threads would be more in the loop's way when hundreds of runs begin at once.
INTERRUPTS = (commands.Abort, commands.AbortBash, commands.AbortRetry)  # They wait for nothing.


class InLoop:
    """Implements Waits for an AsyncRuntime. The session is opened by the first that needs it. The loop's own thread
    never calls what takes a lock: it only reads `session` and `latest`.
    """

    def __init__(self, make: "Callable[[RunListener, HostLoop], Session]") -> None:
        self._make = make
        self._lock = Lock()  # Held while the session is opened, so that there is one; never in the loop's thread.
        self._listener = RunListener()
        self._host = HostLoop()
        self._session: Session | None = None
        self._closed = False
        self._awaiting: Awaiting | None = None  # The job that was asked for last.

    @property
    def session(self) -> Session:
        if self._session is None:
            raise BadInput(NOT_OPEN)
        return self._session

    @property
    def latest(self) -> RunHandle | None:
        return self._listener.latest

    async def open(self) -> None:
        """Open the session. Raises ConfigError or SessionError if that cannot be done."""
        await asyncio.to_thread(self._opened)  # There may be a session to read.

    @awaits
    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    @awaits
    async def ask(self, command: commands.Command, kind: type[A]) -> A:
        loop = asyncio.get_running_loop()
        if self._awaiting is not None and not isinstance(command, INTERRUPTS):
            await self._awaiting.ended_if_abandoned()  # To the program, a run that it has left is over.
        given = asyncio.Event()
        answered = Answered(lambda: _tell(loop, given.set), kind)

        def submit() -> None:
            try:
                answered.submit(self._opened(), command)
            except Exception as fault:
                answered.refused(as_error(fault, "a runtime could not be opened"))

        if isinstance(command, commands.Move):
            loop.run_in_executor(None, submit)  # There may be a session to read, and the workers are for short tasks.
        else:
            workers.do(submit)
        try:
            await given.wait()
        except asyncio.CancelledError:
            workers.do(answered.abort)
            raise
        return answered.take(kind)

    @awaits
    async def do(self, act: Callable[[Session], None]) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()

        def settle(error: Exception | None) -> None:
            if done.done():
                return  # Nobody waits for it any more.
            if error is not None:
                done.set_exception(error)
            else:
                done.set_result(None)

        def task() -> None:
            failed = None
            try:
                act(self._opened())
            except Exception as error:
                failed = error
            _tell(loop, lambda: settle(failed))

        workers.do(task)
        await done

    @awaits
    async def follow(self, work: Work) -> RunHandle:
        awaiting = self.start(work, streams=False)
        await awaiting.end()
        return awaiting.handle

    def start(self, work: Work, *, streams: bool) -> "Awaiting":
        """Submit a job, and return at once. Raises Busy; whatever else is wrong is raised by whoever awaits the job."""
        loop = asyncio.get_running_loop()  # First: it raises if there is none, and then nothing was started.
        handle = RunHandle(self._listener, streams=streams, room=ROOM)
        self._listener.take_up(handle)
        self._host.loop = loop
        self._awaiting = awaiting = Awaiting(handle, loop)

        def submit() -> None:
            try:
                session = self._opened()
            except Exception as fault:
                handle.refused(as_error(fault, "a runtime could not be opened"))
            else:
                handle.submit(session, work)

        workers.do(submit)
        return awaiting

    def _opened(self) -> Session:
        """Return the session, and open it if it is not open. Raises ConfigError or SessionError, and Closed."""
        with self._lock:
            if self._session is None:
                if self._closed:
                    raise Closed
                self._session = self._make(self._listener, self._host)
            return self._session

    def _close(self) -> None:
        """Close the session, if it was opened, and keep it from being opened."""
        with self._lock:
            self._closed = True
            session = self._session
        if session is not None:
            session.close(timeout=PATIENCE)


class Awaiting:
    """One job, awaited. Whoever is cancelled while it waits aborts the job, and waits until that has ended."""

    def __init__(self, handle: RunHandle, loop: asyncio.AbstractEventLoop) -> None:
        self.handle = handle
        self._loop = loop
        self._stream = handle.stream
        self._arrived = asyncio.Event()
        self._stream.notify = lambda: _tell(loop, self._arrived.set)

    async def take(self, most: int) -> list[Event]:
        """Return the next events; none after the last. Raises what the job was refused with, if it was."""
        taken = self._stream.take(most, block=False)
        if taken:
            await self._wait_for_turn()
            return taken
        while True:
            self._arrived.clear()  # Before the look, or else what comes between the two would go unnoticed.
            taken = self._stream.take(most, block=False)
            if taken:
                return taken
            if self._stream.is_over:
                self.handle.check()
                return []
            await self._wait()

    async def end(self) -> None:
        """Wait until the job has ended. Raises what it was refused with, if it was."""
        while not self.handle.has_ended:
            self._arrived.clear()
            if not self.handle.has_ended:
                await self._wait()
        self.handle.check()

    async def leave(self) -> None:
        """Abort the job, if it has not ended, and wait until it has."""
        self.let_go()
        await self.ended()

    async def ended_if_abandoned(self) -> None:
        """Wait for the end of the job, if somebody has left it."""
        if self.handle.abandoned:
            await self.ended()

    async def ended(self) -> None:
        """Wait until the job has ended or was refused. Does nothing in another loop than the one it was begun in."""
        if self._loop is not asyncio.get_running_loop():
            return  # Who waits in another loop cannot be told here; what is asked next takes its turn all the same.
        while not self.handle.has_ended:
            self._arrived.clear()
            if not self.handle.has_ended:
                await self._arrived.wait()

    def let_go(self) -> None:
        """Abort the job, if it has not ended. Returns at once and takes no lock, so that `__del__` may call it."""
        if not self.handle.has_ended:
            self.handle.abandoned = True  # At once: from here on, another job may be asked for.
            workers.put(self.handle.abandon)

    async def _wait(self) -> None:
        """Wait until the stream has something new. If that is cancelled, abort the job and wait for its end first."""
        try:
            await self._arrived.wait()
        except asyncio.CancelledError:
            await self.leave()
            raise

    async def _wait_for_turn(self) -> None:
        """Let other tasks of the loop run first: a run that is faster than its reader must not hold them up."""
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            await self.leave()
            raise


def _tell(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    """Have the loop call this in its own thread. Called in any thread."""
    with suppress(RuntimeError):  # The loop has been closed, and nobody waits any more.
        loop.call_soon_threadsafe(callback)


class HostLoop:
    """Runs coroutines of the program, such as tools, in the program's own event loop, so that they can share what
    belongs to that loop.
    """

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None  # The one in which the runtime was used last.

    def submit(self, work: Callable[[], Coroutine[Any, Any, T]]) -> "Future[T]":
        """Begin a coroutine in the loop. To cancel the future is to cancel the coroutine. Raises Closed if the loop was
        closed, or there is none.
        """
        coroutine = work()
        try:
            if self.loop is None:
                raise Closed
            return asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        except RuntimeError:  # The loop has been closed.
            coroutine.close()
            raise Closed from None

    def close(self) -> None:
        """Do nothing: the loop is the program's, and coroutines end with the run that they belong to."""


class Workers:
    """A few threads, shared by all runtimes of the process, for short tasks that would still hold up an event loop:
    taking a session's lock, starting a run's thread.

    Tasks begin in the order in which they are put. The threads end with the process; a task that raises ends none.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        self._process = 0  # The one whose threads they are.

    def do(self, task: Task) -> None:
        """Have a thread do a task. A process that was forked has no threads, and gets its own."""
        if self._process != os.getpid():
            with self._lock:
                if self._process != os.getpid():
                    self._tasks = SimpleQueue()
                    for _ in range(WORKERS):
                        Thread(target=self._work, args=(self._tasks,), name="linnet-sdk", daemon=True).start()
                    self._process = os.getpid()
        self.put(task)

    def put(self, task: Task) -> None:
        """Have a thread that was started before do a task. Takes no lock of Python's, so that `__del__` may call it."""
        self._tasks.put(task)

    def _work(self, tasks: SimpleQueue[Task]) -> None:
        while True:
            try:
                tasks.get()()
            except Exception:  # Nobody waits for it; but those that follow are waited for.
                broke(__name__, "what was begun for an event loop broke")


workers = Workers()
