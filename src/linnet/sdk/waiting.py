"""Submits commands for a runtime and waits for the answers: what both faces share, and the face that blocks."""

import sys
from collections.abc import Callable
from typing import Protocol, TypeAlias, TypeVar

from linnet.changes import Changes
from linnet.core import commands
from linnet.errors import LinnetError
from linnet.faces import Steps, blocks
from linnet.runtime.session import Session
from linnet.sdk.beside import beside
from linnet.sdk.run_handle import RunHandle, RunListener, Submission

A = TypeVar("A")
R = TypeVar("R")
Work: TypeAlias = commands.Prompt | commands.Compact
PATIENCE = 5.0  # Seconds that closing waits for a run to end.


class Waits(Protocol):
    """How a face waits: nearly all that Runtime and AsyncRuntime do differently."""

    @property
    def session(self) -> Session:
        """Return the session, for what can be read without waiting. Raises BadInput if it is not open yet."""

    @property
    def latest(self) -> RunHandle | None:
        """Return the job that was asked for last; None if none was."""

    def ask(self, command: commands.Command, kind: type[A]) -> Steps[A]:
        """Submit a command and wait for its answer, which is of this kind; for Accepted, until it is accepted. Raises
        what it is refused with.

        Whoever is interrupted or cancelled meanwhile aborts what it asked for, if that takes its time.
        """

    def do(self, act: Callable[[Session], None]) -> Steps[None]:
        """Call a function that may take the session's lock and never waits for anything else. Raises what it raises."""

    def follow(self, work: Work) -> Steps[RunHandle]:
        """Submit a job and wait for its end. Raises Busy.

        Whoever is interrupted or cancelled meanwhile aborts the job.
        """

    def close(self) -> Steps[None]:
        """Close the session. Idempotent."""


class Asking:
    """An object that asks a session for things."""

    _waits: Waits

    def _ask(self, command: commands.Command, kind: type[A]) -> Steps[A]:
        """Wait for the answer to a command, which is of this kind."""
        return self._waits.ask(command, kind)

    def _tell(self, command: commands.Command) -> Steps[object]:
        """Wait until a command has been carried out."""
        return self._waits.ask(command, object)


class InThread:
    """Implements Waits for a Runtime: it blocks the thread that calls it.

    The main thread only waits, and another does the work: see `docs/decisions/0049-the-main-thread-only-waits.md`.
    """

    def __init__(self, session: Session, listener: RunListener) -> None:
        self.session = session
        self._listener = listener

    @property
    def latest(self) -> RunHandle | None:
        return self._listener.latest

    @blocks
    def ask(self, command: commands.Command, kind: type[A]) -> A:
        changes = Changes()

        def tell() -> None:
            with changes.lock:
                changes.tell()

        answered = Answered(tell, kind)
        try:
            beside.begin(lambda: answered.submit(self.session, command))
            changes.wait_for(lambda: answered.is_there, None)
        except BaseException:  # KeyboardInterrupt, say: what nobody waits for is not left running.
            beside.begin(answered.abort)
            raise
        return answered.take(kind)

    @blocks
    def do(self, act: Callable[[Session], None]) -> None:
        beside.do(lambda: act(self.session))

    @blocks
    def follow(self, work: Work) -> RunHandle:
        handle = RunHandle(self._listener, streams=False)
        try:
            self._begin(handle, work)
            handle.stream.wait()
        except BaseException:  # KeyboardInterrupt, say: nobody would ever take up its result.
            handle.let_go()
            raise
        return handle

    def start(self, prompt: commands.Prompt, made: Callable[[RunHandle], R]) -> R:
        """Start a run, and return what `made` makes of its handle. Raises Busy, and what the prompt is refused with."""
        handle = RunHandle(self._listener, streams=True)
        try:
            self._begin(handle, prompt)
            handle.check()
            return made(handle)  # Inside the `try`: Ctrl-C must end the run, since nobody else knows of it yet.
        except BaseException:
            handle.let_go()
            raise

    @blocks
    def close(self) -> None:
        if not sys.is_finalizing():  # Or else the other threads are gone, with whatever locks they held.
            beside.do(lambda: self.session.close(timeout=PATIENCE))

    def _begin(self, handle: RunHandle, work: Work) -> None:
        self._listener.take_up(handle)
        beside.do(lambda: handle.submit(self.session, work))


class Answered(Submission):
    """A command whose first answer is kept, for whoever waits."""

    def __init__(self, notify: Callable[[], None], kind: type[object]) -> None:
        """`notify` is called, in any thread, when there is an answer, and must not block. If `kind` is Accepted, that
        the command was accepted is the answer.
        """
        super().__init__()
        self.error: LinnetError | None = None  # Why it was refused.
        self._notify = notify
        self._when_accepted = kind is commands.Accepted
        self._answer: commands.Answer | None = None

    def accepted(self, *, queued: bool, asked: bool = False) -> None:
        if self._when_accepted:
            self.finished(commands.Accepted(queued))

    def finished(self, answer: commands.Answer) -> None:
        if not self.is_there:
            self._answer = answer
            self._notify()

    def refused(self, error: LinnetError) -> None:
        if not self.is_there:
            self.error = error
            self._notify()

    @property
    def is_there(self) -> bool:
        """Return whether there is an answer or a refusal."""
        return self._answer is not None or self.error is not None

    def take(self, kind: type[A]) -> A:
        """Return the answer, which is of this kind. Raises what the command was refused with."""
        if self.error is not None:
            raise self.error
        assert isinstance(self._answer, kind)
        return self._answer
