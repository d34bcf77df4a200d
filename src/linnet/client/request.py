"""A command as a value, and as a method of two kinds of client: one blocks, the other is awaited."""

from collections.abc import Callable, Coroutine
from functools import cache, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, overload

from msgspec import DecodeError, Struct, ValidationError, field
from msgspec.json import Decoder

from linnet.decoding import decoder_of
from linnet.errors import BadAnswer, Refused
from linnet.wire.incoming import Reply

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Request(Struct, Generic[R], frozen=True):
    """`read` makes the result of the answer's `data`, which is empty bytes if there is none."""

    name: str
    read: Callable[[bytes], R]
    timeout: float | None = None
    fields: dict[str, Any] = field(default_factory=dict)

    def result(self, reply: Reply) -> R:
        """Raises Refused, or BadAnswer."""
        if not reply.success:
            raise Refused(self.name, reply.error or "no reason was given")
        data = bytes(reply.data)
        try:
            return self.read(data)
        except (ValidationError, DecodeError, ValueError, RecursionError) as error:
            raise BadAnswer(self.name, str(error), data) from None


def nothing(_: bytes) -> None:
    """For an answer that says no more than that it was done."""


@cache
def a(kind: type[T]) -> Callable[[bytes], T]:
    """Reads this type."""
    decoder = decoder_of(kind)
    return lambda data: decoder.decode(data or b"{}")


@cache
def perhaps(kind: type[T]) -> Callable[[bytes], T | None]:
    """Reads this type, or null."""
    decoder: Decoder[T | None] = decoder_of(kind | None)
    return lambda data: decoder.decode(data or b"null")


def anything(data: bytes) -> Any:
    return decoder_of(Any).decode(data or b"null")


def given(**fields: Any) -> dict[str, Any]:
    """Those that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


class Blocking:
    """A client whose commands return their results."""

    def call(self, request: Request[R]) -> R:
        """Send it and return what it is answered."""
        raise NotImplementedError


class Awaited:
    """A client whose commands are coroutines."""

    async def call(self, request: Request[R]) -> R:
        """Send it and return what it is answered."""
        raise NotImplementedError


class _Calling(Protocol):
    def call(self, request: Request[Any]) -> Any: ...


class Command(Generic[P, R]):
    """A method that was written once, as a function from arguments to a Request, and works on both kinds of client."""

    def __init__(self, build: Callable[Concatenate[Any, P], Request[R]]) -> None:
        self._build = build
        update_wrapper(self, build)

    @overload
    def __get__(self, client: None, owner: type) -> "Command[P, R]": ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, R]: ...
    @overload
    def __get__(self, client: Awaited, owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, client: _Calling | None, owner: type) -> Any:
        if client is None:
            return self

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return client.call(self._build(client, *args, **kwargs))

        return update_wrapper(method, self._build)

    def __call__(self, client: Any, /, *args: P.args, **kwargs: P.kwargs) -> Request[R]:
        """The request itself."""
        return self._build(client, *args, **kwargs)


def command(build: Callable[Concatenate[Any, P], Request[R]]) -> Command[P, R]:
    return Command(build)
