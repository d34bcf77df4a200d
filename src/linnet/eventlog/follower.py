"""What happens, told to one client in its own dialect, from the number that it saw last."""

from collections.abc import Callable, Iterator

from linnet.eventlog.cursor import Cursor, Gap
from linnet.eventlog.followed import Log
from linnet.wire.dialect import Buffers, Encoder
from linnet.wire.numbered import Framing, numbered_lines


class Follower:
    """Invariant: from any number on, it prints what one prints that was told all events: byte for byte, if the clients
    have set the same. One thread at a time may call.
    """

    def __init__(
        self,
        log: Log,
        encoder: Callable[[], Encoder],
        framing: Framing = "plain",
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        """`encoder` makes a fresh one. `framing` says how the last line of an event carries the event's number. `wake`
        is called when there is more of what is not in memory.
        """
        self._make_encoder = encoder
        self._encoder = encoder()
        self._framing: Framing = framing
        self._cursor = Cursor(log, wake)

    @property
    def position(self) -> int:
        """Return the number of the event that was told last, or that the client saw last."""
        return self._cursor.position

    @property
    def waits(self) -> bool:
        """Return whether there is more that is not at hand yet: nothing was taken, and `wake` will be called."""
        return self._cursor.waits

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

    def take(self, upto: int | None = None) -> Iterator[Buffers] | Gap | None:
        """Return lines that come next, each made when it is asked for; None if nothing has happened. All of them are to
        be asked for before the next call. With `upto`, no lines of what comes after that number.
        """
        found = self._cursor.take(upto)
        if isinstance(found, Gap):
            return found
        if not found:
            return None
        own = [batch for batch in found if not batch.parent]  # Those of children want encoders of their own.
        if self._framing == "plain":
            return (line for batch in own for line in self._encoder.encode(batch.events))
        return (
            line for batch in own for line in numbered_lines(self._encoder, batch.first, batch.events, self._framing)
        )

    def close(self) -> None:
        """Let go of the file, if one is open. Idempotent."""
        self._cursor.close()
