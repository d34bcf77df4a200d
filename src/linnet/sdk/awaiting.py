"""What is done on other threads, awaited in an event loop."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import TypeVar

from linnet.core import commands
from linnet.errors import BadInput, Closed
from linnet.runtime.fault import as_error
from linnet.runtime.session import Session
from linnet.sdk.answer import Answered, say
from linnet.sdk.events import Event
from linnet.sdk.follow import Followed
from linnet.sdk.questions import Question
from linnet.sdk.workers import workers

T = TypeVar("T")
NOT_OPEN = "the runtime is not open yet; use it inside `async with`"
PATIENCE = 5.0  # How long closing waits for a run to end.


class Opening:
    """The session of an AsyncRuntime: made by the first that needs it, and never touched in the loop's own thread."""

    def __init__(self, make: Callable[[], Session]) -> None:
        self._make = make
        self._lock = Lock()
        self._session: Session | None = None
        self._closed = False

    @property
    def session(self) -> Session:
        """For what can be read without waiting."""
        if self._session is None:
            raise BadInput(NOT_OPEN)
        return self._session

    async def open(self) -> None:
        await asyncio.to_thread(self._opened)  # There may be a session to read.

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    async def ask(self, question: Question[T]) -> T:
        """Whoever is cancelled while it waits aborts what it asked for, if that takes its time."""
        loop = asyncio.get_running_loop()
        given = asyncio.Event()
        answered = Answered(lambda: _tell(loop, given.set))

        def submit() -> None:
            try:
                answered.submit(self._opened(), question.command)
            except Exception as fault:
                answered.refused(as_error(fault, "a runtime could not be opened"))

        workers.start()
        if isinstance(question.command, commands.Move):
            loop.run_in_executor(None, submit)  # There may be a session to read.
        else:
            workers.put(submit)
        try:
            await given.wait()
        except asyncio.CancelledError:
            workers.put(answered.abort)
            raise
        return question.read(answered.take())

    async def say(self, prompt: commands.Prompt) -> None:
        await self.call(lambda: say(self._opened(), prompt))

    def follow(self, followed: Followed, work: commands.Prompt | commands.Compact) -> None:
        """Submit it. Returns at once; what goes wrong is its end."""

        def submit() -> None:
            try:
                session = self._opened()
            except Exception as fault:
                followed.fail(as_error(fault, "a runtime could not be opened"))
            else:
                followed.submit(session, work)

        workers.start()
        workers.put(submit)

    async def call(self, function: Callable[[], T]) -> T:
        """What it returns or raises, called by a worker."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()

        def settle(value: T | None, error: BaseException | None) -> None:
            if not outcome.done():  # Or else nobody waits for it any more.
                if error is not None:
                    outcome.set_exception(error)
                else:
                    outcome.set_result(value)  # type: ignore[arg-type]  # It is what the function returned.

        def task() -> None:
            try:
                value = function()
            except Exception as error:
                failed = error
                _tell(loop, lambda: settle(None, failed))
            else:
                _tell(loop, lambda: settle(value, None))

        workers.start()
        workers.put(task)
        return await outcome

    def _opened(self) -> Session:
        with self._lock:
            if self._session is None:
                if self._closed:
                    raise Closed
                self._session = self._make()
            return self._session

    def _close(self) -> None:
        with self._lock:
            self._closed = True
            session = self._session
        if session is not None:
            session.close(timeout=PATIENCE)


class Awaiting:
    """One job, awaited. Whoever is cancelled while it waits aborts the job, and waits until that has ended."""

    def __init__(self, followed: Followed, loop: asyncio.AbstractEventLoop) -> None:
        self.followed = followed
        self._loop = loop
        self._stream = followed.stream
        self._arrived = asyncio.Event()
        self._stream.notify = lambda: _tell(loop, self._arrived.set)

    async def take(self, most: int) -> list[Event]:
        """The next events; none after the last. Raises why the job was refused, if it was."""
        taken = self._stream.take(most, block=False)
        if taken:
            await self._wait_for_turn()
            return taken
        while True:
            self._arrived.clear()
            taken = self._stream.take(most, block=False)
            if taken:
                return taken
            if self._stream.is_over:
                self.followed.check()
                return []
            await self._wait()

    async def end(self) -> None:
        """Until it has ended. Raises why it was refused, if it was."""
        while not self.followed.has_ended:
            self._arrived.clear()
            if not self.followed.has_ended:
                await self._wait()
        self.followed.check()

    async def leave(self) -> None:
        """Abort it, if it has not ended, and wait until it has."""
        self.let_go()
        await self.ended()

    async def ended(self) -> None:
        """Wait for the end of a job that was let go of."""
        if self._loop is not asyncio.get_running_loop():
            return  # Who waits in another loop cannot be told here; what is asked next takes its turn all the same.
        while not self.followed.has_ended:
            self._arrived.clear()
            if not self.followed.has_ended:
                await self._arrived.wait()

    def let_go(self) -> None:
        """Abort it, if it has not ended. Returns at once, and may be called from anywhere."""
        if not self.followed.has_ended:
            self.followed.abandoned = True  # At once: from here on, another job may be asked for.
            workers.put(self.followed.abandon)

    async def _wait(self) -> None:
        try:
            await self._arrived.wait()
        except asyncio.CancelledError:
            await self.leave()
            raise

    async def _wait_for_turn(self) -> None:
        """Others in the loop come first: a run that was faster than its reader must not hold them up."""
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            await self.leave()
            raise


def _tell(loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
    with suppress(RuntimeError):  # The loop has been closed, and nobody waits any more.
        loop.call_soon_threadsafe(callback)
