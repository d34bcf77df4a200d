"""What a command is made of: a row, with the fields that it takes. A decoder reads a command by its row, and its schema
is made from the same row.
"""

from __future__ import annotations  # Evaluating them would take as long as all else here, at every start.

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from msgspec import Raw

from linnet.wire.fields import Field

if TYPE_CHECKING:
    from linnet.core.commands import Command

    A = TypeVar("A")
    B = TypeVar("B")
    C = TypeVar("C")
    D = TypeVar("D")
    E = TypeVar("E")
    F = TypeVar("F")

T = TypeVar("T")


class Takes(Generic[T]):
    """A field of a command: how it is read, and what a schema says about it."""

    __slots__ = ("about", "added", "field", "needed", "read")

    def __init__(
        self, field: Field[Any], about: str, read: Callable[[Raw], T], *, needed: bool = False, added: bool = False
    ) -> None:
        """`needed`: a command without it is refused. `added`: only linnet has it. One without words about it is another
        spelling, or is refused in words of its own: no schema has it.
        """
        self.field = field
        self.about = about
        self.read = read
        self.needed = needed
        self.added = added


def must(field: Field[T], about: str) -> Takes[T]:
    """Take a field that has to be there, and is not empty."""
    return Takes(field, about, field.required, needed=True)


def may(field: Field[T], about: str, *, needed: bool = False, added: bool = False) -> Takes[T | None]:
    """Take a field that may be absent. If it is `needed`, the command says itself what is wrong without it."""
    return Takes(field, about, field.optional, needed=needed, added=added)


def or_null(field: Field[T], about: str) -> Takes[T | None]:
    """Take a field that has to be there, and may be null."""
    return Takes(field, about, field.nullable, needed=True)


def as_sent(field: Field[Any], about: str, *, added: bool = False) -> Takes[Raw]:
    """Take a field as the client has written it; empty if it is absent. The command reads it."""
    return Takes(field, about, _raw, added=added)


def _raw(raw: Raw) -> Raw:
    return raw


class Row:
    """A command of a dialect: what it takes, what is made of that, what it is answered, and what is to say about it."""

    __slots__ = ("about", "added", "answer", "make", "name", "takes")

    def __init__(
        self,
        name: str,
        about: str,
        make: Callable[..., Command],
        takes: tuple[Takes[Any], ...],
        answer: str,
        *,
        added: bool,
    ) -> None:
        self.name = name
        self.about = about
        self.make = make
        self.takes = takes
        self.answer = answer
        self.added = added

    def command(self, line: object, attributes: Mapping[str, str]) -> Command:
        """Return the command that a line says. `attributes` has the line's own names of fields. Raises BadInput."""
        if not self.takes:
            return self.make()
        return self.make(*[each.read(getattr(line, attributes[each.field.name])) for each in self.takes])


if TYPE_CHECKING:

    @overload
    def row(name: str, about: str, make: Callable[[], Command], *, answer: str = ..., added: bool = ...) -> Row: ...
    @overload
    def row(
        name: str, about: str, make: Callable[[A], Command], a: Takes[A], /, *, answer: str = ..., added: bool = ...
    ) -> Row: ...
    @overload
    def row(
        name: str,
        about: str,
        make: Callable[[A, B], Command],
        a: Takes[A],
        b: Takes[B],
        /,
        *,
        answer: str = ...,
        added: bool = ...,
    ) -> Row: ...
    @overload
    def row(
        name: str,
        about: str,
        make: Callable[[A, B, C], Command],
        a: Takes[A],
        b: Takes[B],
        c: Takes[C],
        /,
        *,
        answer: str = ...,
        added: bool = ...,
    ) -> Row: ...
    @overload
    def row(
        name: str,
        about: str,
        make: Callable[[A, B, C, D], Command],
        a: Takes[A],
        b: Takes[B],
        c: Takes[C],
        d: Takes[D],
        /,
        *,
        answer: str = ...,
        added: bool = ...,
    ) -> Row: ...
    @overload
    def row(
        name: str,
        about: str,
        make: Callable[[A, B, C, D, E], Command],
        a: Takes[A],
        b: Takes[B],
        c: Takes[C],
        d: Takes[D],
        e: Takes[E],
        /,
        *,
        answer: str = ...,
        added: bool = ...,
    ) -> Row: ...
    @overload
    def row(
        name: str,
        about: str,
        make: Callable[[A, B, C, D, E, F], Command],
        a: Takes[A],
        b: Takes[B],
        c: Takes[C],
        d: Takes[D],
        e: Takes[E],
        f: Takes[F],
        /,
        *,
        answer: str = ...,
        added: bool = ...,
    ) -> Row: ...


def row(  # type: ignore[misc]
    name: str, about: str, make: Callable[..., Command], /, *takes: Takes[Any], answer: str = "", added: bool = False
) -> Row:
    """Return a command. `make` is called with what it takes, in this order; `answer` names the type of what it is
    answered, in the dialect's module of those; `added`: only linnet has it.
    """
    return Row(name, about, make, takes, answer, added=added)


def table(*rows: Row) -> dict[str, Row]:
    """Return rows by their names."""
    return {each.name: each for each in rows}


SAVE: Takes[bool | None] = may(
    Field("save", bool, "true or false"), "Put it in the user's settings as well, for later starts.", added=True
)
