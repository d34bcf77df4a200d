"""Who is told what happens."""

from collections.abc import Sequence
from typing import Protocol

from linnet.core.cancel import Cancel
from linnet.core.events import Event


class Listener(Protocol):
    def hear(self, events: Sequence[Event]) -> None:
        """Called in the order of the changes, one call at a time. Must not block."""

    def pace(self, cancel: Cancel) -> None:
        """Called by a run between its events: where there is no room for more, wait for it, or for an abort."""

    def is_behind(self) -> bool:
        """Whether there is no room for more now."""

    def idle(self) -> None:
        """Called when the last job or command has ended. Must not block."""
