"""Decodes the fields of a line of input, in any dialect, with errors that name the field and what was expected."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from msgspec import Raw
from msgspec.json import Decoder

from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.jsonl import decode_line

T = TypeVar("T")
R = TypeVar("R")
ABSENT = Raw(b"")


class Field(Generic[T]):
    """Reads a field that a line has left raw. Null counts as absent."""

    def __init__(self, name: str, decoder: Decoder[T], expected: str) -> None:
        self._decoder = decoder
        self._wrong = f"`{name}` must be {expected}"

    def optional(self, raw: Raw) -> T | None:
        """Return the field's value; None if it is absent. Raises BadInput if it is not what was expected."""
        if bytes(raw) in (b"", b"null"):
            return None
        try:
            return decode_line(self._decoder, bytes(raw))
        except BadInput:
            raise BadInput(self._wrong) from None

    def required(self, raw: Raw) -> T:
        """Return the field's value. Raises BadInput also if it is absent or an empty string."""
        value = self.optional(raw)
        if value is None or value == "":
            raise BadInput(self._wrong)
        return value


def each(name: str, sent: Iterable[T] | None, understand: Callable[[T], R]) -> list[R]:
    """Return what `understand` makes of each item. A BadInput that it raises gets the item's number, from 1 on."""
    understood: list[R] = []
    for number, item in enumerate(sent or (), 1):
        try:
            understood.append(understand(item))
        except BadInput as error:
            raise BadInput(f"{name} {number}: {error}") from None
    return understood


_save: Field[bool] = Field("save", decoder_of(bool), "true or false")


def saving(raw: Raw) -> bool:
    """Return whether what a command sets is to be saved in the user's settings, too. Raises BadInput."""
    return _save.optional(raw) or False
