"""The messages of a conversation as an API spells them, kept as bytes from one step to the next. Pure.

A step adds a reply and its results to a conversation that was sent before. What was spelled for an earlier step is only
added to, so that a step costs what it adds; it is thrown away when anything before has changed.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, Generic, TypeAlias, TypeVar

from linnet.core.context.history import Sendable
from linnet.core.messages import AssistantMessage
from linnet.providers.body import encode
from linnet.providers.output_limit import image_bytes

S = TypeVar("S")
T = TypeVar("T")
Spell: TypeAlias = Callable[[Sequence[Sendable], S], tuple[list[dict[str, Any]], S]]
"""Spells a group: neighbours that are all replies, or none of them. It is given, and returns, what has to be known of
all groups before.
"""


class EncodedHistory(Generic[S]):
    """Invariant: `settled` are the groups before the last few, each message with a comma behind it; nothing that comes
    later changes how they are spelled.
    """

    def __init__(self, spell: Spell[S], start: S, unsettled: int = 1) -> None:
        """`unsettled`: so many groups at the end may be spelled otherwise in the next step. The last one always may:
        it grows.
        """
        self.settled = bytearray()
        self.state = start  # As it is after all groups, once `follow` has returned.
        self._spell = spell
        self._start = start
        self._unsettled = max(unsettled, 1)
        self._messages: list[Sendable] = []  # Those that `settled` has.
        self._settled_state = start
        self._settled_images = 0
        self._images = 0

    def follow(self, messages: Sequence[Sendable]) -> list[list[dict[str, Any]]]:
        """Take the conversation as it is now. Return its last groups, as they are spelled; all before are in
        `settled`.
        """
        if not self._continues(messages):
            self._forget()
        known = self._messages
        groups = [list(group) for _, group in groupby(messages[len(known) :], _is_reply)]
        if known and len(groups) < self._unsettled:  # Some was taken back: what was settled may be so no more.
            self._forget()
            return self.follow(messages)
        for group in groups[: -self._unsettled]:
            spelled, self._settled_state = self._spell(group, self._settled_state)
            for message in spelled:
                self.settled += encode(message)
                self.settled += b","
            self._settled_images += image_bytes(group)
            known.extend(group)
        tail: list[list[dict[str, Any]]] = []
        self.state, self._images = self._settled_state, self._settled_images
        for group in groups[-self._unsettled :]:
            spelled, self.state = self._spell(group, self.state)
            tail.append(spelled)
            self._images += image_bytes(group)
        return tail

    def joined(self, tail: Iterable[dict[str, Any]]) -> list[bytes | bytearray]:
        """Return the items of a JSON array: all that is settled, then these."""
        last = b",".join(map(encode, tail))
        return [self.settled, last] if last else [self.settled[:-1]]

    def text_bytes(self, pieces: Iterable[bytes | bytearray]) -> int:
        """Return how many bytes a body has, but for images: these are not paid by their length."""
        return sum(map(len, pieces)) - self._images

    def _continues(self, messages: Sequence[Sendable]) -> bool:
        """Return whether the conversation begins with what is settled, and another group follows that."""
        known = self._messages
        if not known:
            return True
        if len(messages) <= len(known) or _is_reply(messages[len(known)]) == _is_reply(known[-1]):
            return False
        return list(messages[: len(known)]) == known

    def _forget(self) -> None:
        self.settled = bytearray()
        self._messages = []
        self._settled_state = self._start
        self._settled_images = 0


def _is_reply(message: Sendable) -> bool:
    return isinstance(message, AssistantMessage)


class Kept(Generic[T]):
    """What was made for the last request, for as long as what it was made of stays the same."""

    def __init__(self) -> None:
        self._key: Any = None
        self._made: T | None = None

    def made(self, key: Any, make: Callable[[], T]) -> T:
        """Return what was made for this key, or make another."""
        if self._made is None or key != self._key:
            self._key, self._made = key, make()
        return self._made
