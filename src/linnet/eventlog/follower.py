"""What happens, told to one client in its own dialect, from the number that it saw last."""

from collections.abc import Callable, Iterator

from linnet.eventlog.cursor import Cursor, Gap
from linnet.eventlog.event_log import EventLog
from linnet.wire.dialect import Buffers, Encoder
from linnet.wire.numbered import numbered_lines


class Follower:
    """Invariant: from any number on, it prints what one prints that was told all events: byte for byte, if the clients
    have set the same. One thread at a time may call.
    """

    def __init__(self, log: EventLog, encoder: Callable[[], Encoder], *, numbered: bool) -> None:
        """`encoder` makes a fresh one. With `numbered`, the last line of an event carries the event's number."""
        self._make_encoder = encoder
        self._encoder = encoder()
        self._numbered = numbered
        self._cursor = Cursor(log)

    @property
    def position(self) -> int:
        """Return the number of the event that was told last, or that the client saw last."""
        return self._cursor.position

    def join(self) -> None:
        """Go on with what comes from now on."""
        self._encoder = self._make_encoder()
        self._encoder.skip(self._cursor.join())

    def seek(self, after: int) -> Gap | None:
        """Go on after this number. Return the gap, if what came after it cannot be told any more."""
        skipped = self._cursor.seek(after)
        if isinstance(skipped, Gap):
            return skipped
        self._encoder = self._make_encoder()
        self._encoder.skip(skipped)
        return None

    def take(self) -> Iterator[Buffers] | Gap | None:
        """Return lines that come next, each made when it is asked for; None if nothing has happened. All of them are to
        be asked for before the next call.
        """
        found = self._cursor.take()
        if isinstance(found, Gap):
            return found
        own = [batch for batch in found if not batch.parent]  # Those of children want encoders of their own.
        if not own:
            return None
        if not self._numbered:
            return (line for batch in own for line in self._encoder.encode(batch.events))
        return (line for batch in own for line in numbered_lines(self._encoder, batch.first, batch.events))

    def close(self) -> None:
        """Let go of the file, if one is open. Idempotent."""
        self._cursor.close()
