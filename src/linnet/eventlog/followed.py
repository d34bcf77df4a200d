"""What whoever follows the events of an agent needs of them, wherever they are kept."""

from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct

from linnet.core.events import Event


class Numbered(Struct, frozen=True):
    """Events that follow each other."""

    first: int
    """The number of the first. 0 if they were told before: they are what an encoder has to know."""
    events: Sequence[Event]
    parent: str = ""

    @property
    def last(self) -> int:
        return self.first + len(self.events) - 1


class Older(Protocol):
    """Reads events that are not in memory any more, for one reader. One thread at a time calls."""

    @property
    def ended(self) -> bool:
        """Return whether all was read that is not in memory."""

    def begin(self, after: int) -> list[Event] | None:
        """Begin after this number. Return what an encoder has to skip before; None if what follows is not kept. May
        wait.
        """

    def go_on(self, after: int) -> bool:
        """Begin after this number, for an encoder that has been told what comes before, and return whether that is
        kept, as far as is known. Never waits.
        """

    def read(self) -> list[Numbered] | None:
        """Return what comes next, which may begin with what is known; None if that is not kept. Nothing, if it is not
        at hand yet: the reader is woken when it is. Never waits.
        """

    def close(self) -> None:
        """Read no more. Idempotent."""


class Log(Protocol):
    """The events of one agent, some of them in memory. Any thread calls."""

    @property
    def head(self) -> int:
        """Return the number of the last event; 0 if there was none."""

    @property
    def told(self) -> int:
        """Return the number of the last event that is told."""

    def live(self) -> tuple[int, list[Event]]:
        """Return the number of the last event that is told, and what an encoder has to skip to go on after it."""

    def opening_after(self, number: int) -> list[Event] | None:
        """Return what an encoder has to skip to go on after this number, if nothing that is told came after it; None if
        something did, or no event has had the number yet.
        """

    def recent(self, after: int) -> list[Numbered] | None:
        """Return what came after this number, if all of that is in memory; None if it is not."""

    def older(self, wake: Callable[[], None]) -> Older:
        """Return what reads the others; `wake` is called in any thread when it has more."""

    def listen(self, tell: Callable[[], None]) -> None:
        """Have this function called when there is more to read. It must neither block nor read."""

    def unlisten(self, tell: Callable[[], None]) -> None:
        """Have it called no more."""
