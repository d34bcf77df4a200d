"""Who is told what happens: a store, a dialect, a program that hosts the runtime."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.core.events import Event
from linnet.errors import LinnetError

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel


class Listener:
    """Override what matters; the rest does nothing. No method but `pace` may block."""

    def hear(self, events: Sequence[Event]) -> None:
        """Called in the order of the changes, one call at a time; under the session's lock, unless its log may wait:
        then it is called when what came before is written.
        """

    def pace(self, cancel: "Cancel") -> None:
        """Called by a run between its events: where there is no room for more, wait for it, or raise Cancelled."""

    def is_behind(self) -> bool:
        """Return whether there is no room for more now."""
        return False

    def warned(self, sentence: str) -> None:
        """Called by a run with something that people should know and that changes nothing. Each sentence comes once."""

    def broke(self, error: LinnetError) -> None:
        """Called when the session can do nothing any more, for this reason. Whatever waited has been answered."""

    def idle(self) -> None:
        """Called when all jobs and background commands have ended; under the session's lock, unless a log may wait."""
