"""A session that sleeps when nothing of it is used, and wakes for whatever is submitted to it."""

from collections import deque
from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Literal, TypeAlias

from linnet.errors import Closed, LinnetError
from linnet.runtime.error_report import as_error, hand_over
from linnet.runtime.session import Session

GONE = "the agent is gone: it was closed"

Being: TypeAlias = Literal["asleep", "waking", "awake", "leaving", "gone"]
Act: TypeAlias = Callable[[Session], None]
Refuse: TypeAlias = Callable[[LinnetError], None]


class SleepingSession:
    """Invariants: what is submitted is carried out in the order it came, also if the session has to wake for it. The
    session is closed only when nothing of it is used.

    `_lock` guards what this object holds, and is never held while something of the session is called.
    """

    def __init__(self, open_again: Callable[[], Session], changed: Callable[[], None]) -> None:
        """`open_again` opens the session that is asleep, in a thread of its own; it may raise. `changed` is called,
        without the lock, after it has woken, has fallen asleep, or could not be woken.
        """
        self._open_again = open_again
        self._changed = changed
        self._lock = Lock()
        self._being: Being = "asleep"
        self._session: Session | None = None
        self._in_use = 0  # Calls of the session that have not returned.
        self._waiting: deque[tuple[Act, Refuse]] = deque()  # For the session to be awake.
        self.idle_since = monotonic()

    @property
    def is_asleep(self) -> bool:
        return self._being in ("asleep", "gone")

    @property
    def is_gone(self) -> bool:
        return self._being == "gone"

    @property
    def is_busy(self) -> bool:
        """Return whether anything runs or waits to run."""
        session = self._session
        return self._being in ("waking", "leaving") or (session is not None and session.busy)

    def submit(self, act: Act, refuse: Refuse) -> None:
        """Call `act` with the session, now if it is awake, or else when it is; or `refuse` with the reason why it
        cannot be. Both must not raise.
        """
        with self._lock:
            gone = self._being == "gone"
            session = self._session if self._being == "awake" else None
            if session is not None:
                self._in_use += 1
            elif not gone:
                self._waiting.append((act, refuse))
            wakes = self._being == "asleep"
            if wakes:
                self._being = "waking"
        if gone:
            refuse(Closed(GONE))
        elif session is not None:
            try:
                act(session)
            finally:
                with self._lock:
                    self._in_use -= 1
        elif wakes:
            self._begin_waking()

    def begin(self, open_first: Callable[[], Session]) -> Session:
        """Open the session for the first time, in this thread. Raises what opening it raises, and then it is gone."""
        self._being = "waking"
        try:
            session = open_first()
        except BaseException:
            self._being = "gone"
            raise
        self._awoke(session)
        return session

    def sleep(self) -> bool:
        """Close the session if nothing of it is used, and return whether that is so. Blocks while it is closed."""
        with self._lock:
            if self._being != "awake" or self._in_use or self._session is None:
                return False
            session, self._being = self._session, "leaving"
        if not session.at_rest:
            self._awoke(session)  # With what came meanwhile.
            return False
        session.close()
        with self._lock:
            self._session = None
            if self._being == "leaving":
                self._being = "waking" if self._waiting else "asleep"
            wakes = self._being == "waking"
        self._changed()
        if wakes:
            self._begin_waking()
        return True

    def stop(self) -> None:
        """Abort what runs, so that `close` need not wait long for it."""
        session = self._session
        if session is not None:
            session.stop()

    def close(self, why: str = GONE) -> None:
        """Close the session for good. Blocks until what runs has ended. Idempotent."""
        with self._lock:
            session, self._session = self._session, None
            self._being = "gone"
            waiting, self._waiting = self._waiting, deque()
        for _, refuse in waiting:
            refuse(Closed(why))
        if session is not None:
            session.close()

    def _begin_waking(self) -> None:
        try:
            hand_over("linnet-wake", self._wake)
        except LinnetError as error:
            self._fail(error)

    def _wake(self) -> None:
        """Open the session again, in a thread of its own."""
        try:
            session = self._open_again()
        except Exception as fault:
            self._fail(as_error(fault, "an agent could not be woken"))
        else:
            self._awoke(session)

    def _awoke(self, session: Session) -> None:
        """Carry out what has waited, in order, and then what comes."""
        while True:
            with self._lock:
                if self._being == "gone":
                    break
                if not self._waiting:
                    self._session, self._being = session, "awake"
                    self.idle_since = monotonic()
                    break
                act, _ = self._waiting.popleft()
            act(session)
        if self._being == "gone":  # It was closed meanwhile.
            session.close()
        else:
            self._changed()

    def _fail(self, error: LinnetError) -> None:
        with self._lock:
            if self._being == "waking":
                self._being = "asleep"
            waiting, self._waiting = self._waiting, deque()
        for _, refuse in waiting:
            refuse(error)
        self._changed()
