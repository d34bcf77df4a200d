"""What the thread that reads hands to whoever waits: answers and events. Used under the link's lock only."""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from linnet.client.conversation import Heard
from linnet.errors import AgentGone
from linnet.wire.incoming import Reply

E = TypeVar("E")


def _nobody() -> None:
    pass


class Awaitable:
    """Something that can be waited for."""

    notify: Callable[[], None] = staticmethod(_nobody)
    """Called after each change, by the thread that reads, for those who cannot block."""


class Pending(Awaitable):
    """An answer that somebody waits for, or the end of all work. Completed once: with a reply, or an error."""

    def __init__(self, id: str = "") -> None:
        self.id = id
        self.reply: Reply | None = None
        self.error: AgentGone | None = None
        self.ready = False  # Whether it is completed.

    def complete(self, reply: Reply | None, error: AgentGone | None = None) -> None:
        """Take the reply or the error, and tell whoever waits. Only the first call counts."""
        if not self.ready:
            self.reply, self.error, self.ready = reply, error, True
            self.notify()


class Stream(Awaitable, Generic[E]):
    """Events that have come and were not taken. One with an `id` has those of that command's work only."""

    def __init__(self, id: str = "") -> None:
        self.id = id
        self.size = 0  # Bytes of the lines that are kept.
        self.error: AgentGone | None = None
        self._events: deque[Heard[E]] = deque()
        self._begun = not id
        self._ended = False

    @property
    def ready(self) -> bool:
        """Whether `take` returns or raises at once."""
        return bool(self._events) or self._ended

    @property
    def ended(self) -> bool:
        """Whether no more events come; some may be left to take."""
        return self._ended

    def put(self, heard: Heard[E]) -> None:
        """Keep an event, if the work of this stream has begun and not ended."""
        if self._begun and not self._ended:
            self._events.append(heard)
            self.size += len(heard.line)
            self.notify()

    def begin(self) -> None:
        """Take in what comes from now on."""
        self._begun = True

    def end(self, error: AgentGone | None = None) -> None:
        """Take in nothing more. What has come can still be taken; an `error` is raised after it."""
        if not self._ended:
            self._ended, self.error = True, error
            self.notify()

    def take(self) -> deque[Heard[E]]:
        """Return the events that have come. Raises the error after the last one."""
        if not self._events and self.error is not None:
            raise self.error.again()
        taken, self._events = self._events, deque()
        self.size = 0
        return taken

    def drop(self) -> None:
        """Take in nothing more, and keep nothing."""
        self._ended = True
        self._events.clear()
        self.size = 0
