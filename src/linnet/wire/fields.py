"""Decodes the fields of a line of input, in any dialect, with errors that name the field and what was expected."""

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from msgspec import Raw
from msgspec.json import Decoder

from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.jsonl import decode_line

T = TypeVar("T")
R = TypeVar("R")
ABSENT = Raw(b"")


class Field(Generic[T]):
    """Reads a field that a line has left raw. Null counts as absent. Its decoder is made when a line has it."""

    __slots__ = ("_decoder", "_wrong", "kind", "name")

    def __init__(self, name: str, kind: Any, expected: str) -> None:
        """`kind` is the type of the value."""
        self.name = name
        self.kind = kind
        self._decoder: Decoder[T] | None = None
        self._wrong = f"`{name}` must be {expected}"

    def optional(self, raw: Raw) -> T | None:
        """Return the field's value; None if it is absent. Raises BadInput if it is not what was expected."""
        if bytes(raw) in (b"", b"null"):
            return None
        if self._decoder is None:
            self._decoder = decoder_of(self.kind)
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

    def nullable(self, raw: Raw) -> T | None:
        """Return the field's value, where null is one. Raises BadInput if it is absent."""
        return None if bytes(raw) == b"null" else self.required(raw)


def each(name: str, sent: Iterable[T] | None, understand: Callable[[T], R]) -> list[R]:
    """Return what `understand` makes of each item. A BadInput that it raises gets the item's number, from 1 on."""
    understood: list[R] = []
    for number, item in enumerate(sent or (), 1):
        try:
            understood.append(understand(item))
        except BadInput as error:
            raise BadInput(f"{name} {number}: {error}") from None
    return understood
