"""The interface of those who are told what happens in a session: its store, clients, a program that uses the SDK."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from linnet.core.events import Event
from linnet.errors import LinnetError

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel


class Listener:
    """Override what matters; the rest does nothing. No method but `pace` may block: others wait for the same lock."""

    def hear(self, events: Sequence[Event]) -> None:
        """Take these events. Called in the order of the changes, one call at a time: under the session's lock, or, if
        its log may wait, when all that came before is written.
        """

    def pace(self, cancel: "Cancel") -> None:
        """Wait until there is room for more. Called between events in the thread of a run, without the session's lock.

        Raises Cancelled if an abort comes first.
        """

    def is_behind(self) -> bool:
        """Return whether there is no room for more now."""
        return False

    def warned(self, sentence: str) -> None:
        """Take a sentence for people that changes nothing. Each comes once."""

    def broke(self, error: LinnetError) -> None:
        """Take the reason why the session can do nothing any more."""

    def finish(self) -> None:
        """Take note that the agent is to end once it has nothing left to do: an extension asks for it."""

    def idle(self) -> None:
        """Take note that all jobs and background commands have ended. Called as `hear` is."""
