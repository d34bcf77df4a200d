"""Calls functions of extensions in threads: the caller stops waiting when the time is over, or at an abort."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from time import monotonic
from typing import Any, Generic, TypeVar

from linnet.concurrency.cancel import CancelToken
from linnet.concurrency.threads import Threads
from linnet.core.cancel import Cancel
from linnet.errors import Cancelled

T = TypeVar("T")


class Broke(Exception):
    """Foreign code did something that would have ended a program of its own."""


class Call(Generic[T]):
    """One call of a function, made in one thread and waited for in another.

    The time in which it waits for the user is not counted.
    """

    def __init__(self, function: "Callable[[Call[T]], T]", patience: float | None) -> None:
        """`patience` are the seconds that it has; None is as long as it takes."""
        self._function = function
        self._lock = Lock()  # For the time, and for `_given_up` with `_cancel`.
        self._wakeup = Lock()  # Released when whoever waits should look again; a Condition takes three times as long.
        self._wakeup.acquire()
        self._left = patience
        self._since: float | None = monotonic()  # None while the time is not counted.
        self._pauses = 0
        self._over = self._aborted = self._given_up = False
        self._value: T | None = None
        self._fault: Exception | None = None
        self._cancel: CancelToken | None = None

    @property
    def cancel(self) -> CancelToken:
        """The token that is set when nobody waits for the call any more. Made when it is needed: most never look."""
        with self._lock:
            if self._cancel is None:
                self._cancel = CancelToken()
                if self._given_up:
                    self._cancel.set()
            return self._cancel

    def give_up(self) -> None:
        """Set the token: nobody waits for the call any more."""
        with self._lock:
            self._given_up = True
            cancel = self._cancel
        if cancel is not None:
            cancel.set()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop counting the time while the body runs, which waits for somebody else."""
        with self._lock:
            self._pauses += 1
            if self._since is not None and self._left is not None:
                self._left -= monotonic() - self._since
            self._since = None
        self._wake()
        try:
            yield
        finally:
            with self._lock:
                self._pauses -= 1
                if not self._pauses:
                    self._since = monotonic()
            self._wake()

    def run(self) -> None:
        """Call the function, and keep what it returns or raises. Never raises."""
        try:
            self._value = self._function(self)
        except Exception as fault:
            self._fault = fault
        except SystemExit as fault:
            self._fault = Broke(f"it called sys.exit({'' if fault.code is None else repr(fault.code)})")
        except BaseException as fault:
            self._fault = Broke(f"it raised {type(fault).__name__}")

    def end(self) -> None:
        """Wake whoever waits, after `run`."""
        self._over = True
        self._wake()

    def wait(self, cancel: Cancel | None, patience: float | None) -> T:
        """Return what the function returned, or raise what it raised. Raises TimeoutError and Cancelled at once."""
        try:
            if cancel is None:
                self._wait(patience)
            else:
                with cancel.interrupting(self._abort):
                    self._wait(patience)
        finally:
            if not self._over:
                self.give_up()
        if self._fault is not None:
            raise self._fault
        return self._value  # type: ignore[return-value]  # It returned, so this is what it returned.

    def _wait(self, patience: float | None) -> None:
        """Wait until the call is over. Raises TimeoutError or Cancelled."""
        while not self._over:
            if self._aborted:
                raise Cancelled
            with self._lock:
                left, since = self._left, self._since
            if left is not None and since is not None:
                left -= monotonic() - since
                if left <= 0:
                    raise TimeoutError(f"it took longer than {patience:g} s")
                self._wakeup.acquire(timeout=left)
            else:
                self._wakeup.acquire()

    def _abort(self) -> None:
        self._aborted = True
        self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # It is awake, or will be.
            self._wakeup.release()


class Workers:
    """The threads of one extension. Invariant: a call that hangs keeps one thread, and holds up no other call."""

    def __init__(self) -> None:
        self._threads = Threads("linnet-extension")
        self._lock = Lock()
        self._open: set[Call[Any]] = set()

    def call(self, function: Callable[[Call[T]], T], cancel: Cancel | None, patience: float | None) -> T:
        """Call the function with the Call, and return what it returns. Raises what it raises, and as `Call.wait`."""
        call = Call(function, patience)
        self._begin(call)
        return call.wait(cancel, patience)

    def begin(self, function: Callable[[], None]) -> None:
        """Have the function called, and do not wait for it."""
        self._begin(Call(lambda call: function(), None))

    def close(self) -> None:
        """End idle threads, and tell those at work that nobody waits for them. Idempotent."""
        self._threads.close()
        with self._lock:
            calls = list(self._open)
        for call in calls:
            call.give_up()

    def _begin(self, call: Call[Any]) -> None:
        with self._lock:
            self._open.add(call)
        self._threads.begin(call.run, lambda outcome: self._end(call))

    def _end(self, call: Call[Any]) -> None:
        with self._lock:
            self._open.discard(call)
        call.end()
