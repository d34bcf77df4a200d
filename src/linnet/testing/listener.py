"""An listener that only remembers, for tests of a session without a protocol."""

from collections.abc import Sequence

from linnet.core.cancel import Cancel
from linnet.core.events import Event


class Quiet:
    """`breaths` are the kinds of events that were told together; the test may add to the `story`."""

    def __init__(self) -> None:
        self.heard: list[Event] = []
        self.breaths: list[list[type[Event]]] = []
        self.story: list[str] = []

    def hear(self, events: Sequence[Event]) -> None:
        self.heard += events
        self.breaths.append([type(event) for event in events])

    def pace(self, cancel: Cancel) -> None:
        pass

    def is_behind(self) -> bool:
        return False

    def idle(self) -> None:
        self.story.append("at rest")
