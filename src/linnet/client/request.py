"""A command as a value, and as a method of two kinds of client: one blocks, the other is awaited."""

from base64 import b64encode
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import cache, cached_property
from types import MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeAlias, TypeVar, overload

from msgspec import DecodeError, Struct, ValidationError, field
from msgspec.json import Decoder

from linnet.core.images import image
from linnet.core.messages import Image
from linnet.decoding import decoder_of
from linnet.errors import BadAnswer, Refused
from linnet.faces import Awaited, Blocking, result_of, shown_as
from linnet.wire.incoming import Reply

if TYPE_CHECKING:
    from linnet.client.awaited import AsyncClient, AsyncRun
    from linnet.client.blocking import Client, Run

E = TypeVar("E")
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Picture: TypeAlias = bytes | Image
"""The bytes of a PNG, JPEG, GIF or WebP; or an Image, with its data in base64 and its type said."""


class Request(Struct, Generic[R], frozen=True):
    """A command to send, and how its answer is read."""

    name: str
    read: Callable[[bytes], R]
    """Makes the result from the `data` of the answer, which is empty bytes if there is none."""
    timeout: float | None = None
    """Seconds; None is the client's own."""
    fields: dict[str, Any] = field(default_factory=dict)

    def result(self, reply: Reply) -> R:
        """Return what a reply says. Raises Refused, or BadAnswer."""
        if not reply.success:
            raise Refused(self.name, reply.error or "no reason was given")
        data = bytes(reply.data)
        try:
            return self.read(data)
        except (ValidationError, DecodeError, ValueError, RecursionError) as error:
            raise BadAnswer(self.name, str(error), data) from None


def nothing(_: bytes) -> None:
    """Read an answer that says no more than that it was done."""


@cache
def a(kind: type[T]) -> Callable[[bytes], T]:
    """Return a function that reads this type."""
    decoder = decoder_of(kind)
    return lambda data: decoder.decode(data or b"{}")


@cache
def perhaps(kind: type[T]) -> Callable[[bytes], T | None]:
    """Return a function that reads this type, or null."""
    decoder: Decoder[T | None] = decoder_of(kind | None)
    return lambda data: decoder.decode(data or b"null")


def anything(data: bytes) -> Any:
    """Read whatever an answer has."""
    return decoder_of(Any).decode(data or b"null")


def given(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def checked(images: Iterable[Picture]) -> list[Image]:
    """Return images as they are sent. Raises BadInput for bytes that are no image."""
    return [image(b64encode(each).decode()) if isinstance(each, bytes) else each for each in images]


class Command(Generic[P, R]):
    """A method that was written once, as a function from arguments to a Request, and works on both kinds of client."""

    def __init__(self, build: Callable[Concatenate[Any, P], Request[R]]) -> None:
        self._build = build
        self.__name__ = build.__name__
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> "Command[P, R]": ...
    @overload
    def __get__(self, client: Blocking, owner: type) -> Callable[P, R]: ...
    @overload
    def __get__(self, client: Awaited, owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        return self if client is None else MethodType(self._method, client)

    def __call__(self, client: Any, /, *args: P.args, **kwargs: P.kwargs) -> Request[R]:
        """Return the request itself."""
        return self._build(client, *args, **kwargs)

    @property
    def __wrapped__(self) -> Any:
        """The function whose signature `inspect.signature` shows."""
        return self._method.__wrapped__

    @cached_property
    def _method(self) -> Any:
        def method(client: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return client.call(self._build(client, *args, **kwargs))

        return shown_as(method, self._build, result_of(self._build))


def command(build: Callable[Concatenate[Any, P], Request[R]]) -> Command[P, R]:
    """Make a method of both kinds of client from a function that returns a Request; the method returns its answer."""
    return Command(build)


class RunCommand(Generic[P]):
    """A method that sends a Request and returns the run that it begins: a Run, or an AsyncRun."""

    def __init__(self, build: Callable[Concatenate[Any, P], Request[Any]]) -> None:
        self._build = build
        self._made: dict[type, Any] = {}
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, client: "Client[E]", owner: type) -> "Callable[P, Run[E]]": ...
    @overload
    def __get__(self, client: "AsyncClient[E]", owner: type) -> "Callable[P, AsyncRun[E]]": ...
    @overload
    def __get__(self, client: None, owner: "type[Client[E]]") -> "Callable[Concatenate[Any, P], Run[E]]": ...
    @overload
    def __get__(self, client: None, owner: "type[AsyncClient[E]]") -> "Callable[Concatenate[Any, P], AsyncRun[E]]": ...
    def __get__(self, client: Any, owner: Any) -> Any:
        method = self._made.get(owner._run_type)
        if method is None:

            def begin(client: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
                return client._begin(self._build(client, *args, **kwargs))

            method = self._made[owner._run_type] = shown_as(begin, self._build, owner._run_type)
        return method if client is None else MethodType(method, client)


def run_command(build: Callable[Concatenate[Any, P], Request[Any]]) -> RunCommand[P]:
    """Make a method of both kinds of client from a function that returns a Request; the method returns its run."""
    return RunCommand(build)


class SharedCommands:
    """Commands that both protocols have. `timeout` is in seconds; without one, the client's own counts."""

    @command
    def trust(self, answer: Literal["once", "always", "never"], *, timeout: float | None = None) -> Request[None]:
        """Say whether what the project brings may be used. linnet's own."""
        return Request("trust", nothing, timeout, {"answer": answer})

    @command
    def reload(self, *, timeout: float | None = None) -> Request[None]:
        """Have the extensions read again, between runs. linnet's own."""
        return Request("reload", nothing, timeout)

    @command
    def set_tools(self, tools: Sequence[dict[str, Any]], *, timeout: float | None = None) -> Request[None]:
        """Declare the tools that you run, as objects with `name`, `description` and `parameters`. linnet's own."""
        return Request("set_tools", nothing, timeout, {"tools": list(tools)})

    @command
    def ask(self, type: str, /, *, timeout: float | None = None, **fields: Any) -> Request[Any]:
        """Send a command that has no method here; return its `data`."""
        return Request(type, anything, timeout, fields)
