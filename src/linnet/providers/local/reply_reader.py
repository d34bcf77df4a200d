"""Reads the pieces of what a model writes as deltas: text, and a call as the grammar admits it. Pure."""

from msgspec import DecodeError

from linnet.core.deltas import CallDelta, CallOpened, Delta, PartClosed, TextDelta, ThinkingDelta
from linnet.decoding import decoder_of
from linnet.providers.local.grammar import AFTER_ARGUMENTS, BEFORE_ARGUMENTS, BEFORE_NAME, CLOSING, OPENING

_END = AFTER_ARGUMENTS + CLOSING
_decode_name = decoder_of(str).decode


class ReplyReader:
    """One reply.

    Invariant: text is passed on as soon as it cannot be the beginning of a call any more, and arguments as soon as they
    cannot be the end of one.
    """

    def __init__(self, call_id: str, *, tools: bool) -> None:
        """`tools`: there may be a call."""
        self.called = False
        self._id = call_id
        self._tools = tools
        self._held = ""  # What may mean either.
        self._in_call = False

    def feed(self, piece: str) -> list[Delta]:
        """Return the deltas of one more piece."""
        self._held += piece
        found: list[Delta] = []
        if not self._in_call:
            self._text(found)
        if self._in_call and not self.called:
            self._name(found)
        if self.called:
            self._arguments(found)
        return found

    def think(self, piece: str) -> list[Delta]:
        """Return the deltas of a piece of what the model thinks."""
        return [ThinkingDelta(piece)]

    def end(self) -> list[Delta]:
        """Return the last deltas: nothing more comes, because the model has ended or must."""
        held, self._held = self._held, ""
        if not self._in_call:
            return [TextDelta(held)] if held else []
        if not self.called:
            return []  # A call that has no name yet is nothing that anybody could use.
        rest = held.removesuffix(_END)
        closing: list[Delta] = [PartClosed()] if rest != held else []
        return [*([CallDelta(self._id, rest)] if rest else []), *closing]

    def _text(self, found: list[Delta]) -> None:
        before, opened, after = self._held.partition(OPENING) if self._tools else (self._held, "", "")
        if opened:
            self._in_call, self._held = True, after
        else:
            kept = _beginning(self._held) if self._tools else 0
            before, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
        if before:
            found.append(TextDelta(before))

    def _name(self, found: list[Delta]) -> None:
        name, whole, rest = self._held.removeprefix(BEFORE_NAME).partition(BEFORE_ARGUMENTS)
        if whole and self._held.startswith(BEFORE_NAME):
            try:
                found.append(CallOpened(self._id, _decode_name(name)))
            except DecodeError:
                return
            self.called, self._held = True, rest

    def _arguments(self, found: list[Delta]) -> None:
        ready = len(self._held) - len(_END)
        if ready > 0:
            found.append(CallDelta(self._id, self._held[:ready]))
            self._held = self._held[ready:]


def _beginning(text: str) -> int:
    """Return how many of the last characters may be the first ones of a call."""
    for count in range(min(len(OPENING) - 1, len(text)), 0, -1):
        if OPENING.startswith(text[-count:]):
            return count
    return 0
