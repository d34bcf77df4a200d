"""Decorators for methods that are written once, for objects that block and for objects that are awaited.

A method under `@once` is a generator: it says `yield from` where it waits, and returns its result. An object that is
`Blocking` has it as a function, one that is `Awaited` as a coroutine function, with the same signature and the same
documentation. How to wait is known to one object of each kind, whose methods are under `@blocks` or `@awaits`.
See `docs/decisions/0062-one-table-for-both-faces.md`.
"""

from __future__ import annotations  # What type checkers are told here is a third of what importing this would cost.

from collections.abc import Callable, Coroutine, Generator
from functools import update_wrapper
from types import FunctionType, GenericAlias, MethodType, NoneType, coroutine
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")

if TYPE_CHECKING:
    Steps: TypeAlias = Generator[Any, Any, R]
    """What a method does, up to its result. What it yields is the event loop's; where it blocks, it yields nothing."""

    class Blocks(Protocol):
        """The type of `self` in an overload for objects that block. `Once` loses type variables of the method's own."""

        _is_awaited: Literal[False]

    class Awaits(Protocol):
        """The type of `self` in an overload for objects that are awaited."""

        _is_awaited: Literal[True]

else:

    class Steps:
        """Stands for the alias above in annotations, and costs a tenth of it: there is one for each method."""

        __class_getitem__ = classmethod(GenericAlias)


class Blocking:
    """An object whose methods return their results."""

    _is_awaited: Literal[False] = False


class Awaited:
    """An object whose methods are coroutines."""

    _is_awaited: Literal[True] = True


class Once(Generic[P, R]):
    """A descriptor for a method that was written once. A lookup on a class returns a function, on an object a bound
    method.
    """

    def __init__(self, steps: Callable[Concatenate[Any, P], Steps[R]]) -> None:
        self._steps = steps
        self._made: dict[bool, Callable[..., Any]] = {}
        self.__doc__ = steps.__doc__

    @overload
    def __get__(self, instance: Blocking, owner: type) -> Callable[P, R]: ...
    @overload
    def __get__(self, instance: Awaited, owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    @overload
    def __get__(self, instance: None, owner: type[Blocking]) -> Callable[Concatenate[Any, P], R]: ...
    @overload
    def __get__(
        self, instance: None, owner: type[Awaited]
    ) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]: ...
    def __get__(self, instance: object, owner: Any) -> Any:
        is_awaited = owner._is_awaited
        method = self._made.get(is_awaited)
        if method is None:  # Made when it is first used: importing a face costs nothing for each of its methods.
            made = _awaited(self._steps) if is_awaited else _blocking(self._steps)
            method = self._made[is_awaited] = shown_as(made, self._steps, result_of(self._steps))
        return method if instance is None else MethodType(method, instance)


def once(steps: Callable[Concatenate[Any, P], Steps[R]]) -> Once[P, R]:
    """Make of steps a method for both kinds of object."""
    return Once(steps)


def once_overloaded(steps: Callable[..., Steps[Any]]) -> Any:
    """Make of steps a method for both kinds of object, below overloads with `self: Blocks` or `self: Awaits`."""
    return Once(steps)


def blocks(function: Callable[P, R]) -> Callable[P, Steps[R]]:
    """Return a function that returns the steps of a function that blocks. They never yield."""

    def steps(*args: P.args, **kwargs: P.kwargs) -> Steps[R]:
        yield from ()  # Makes this a generator.
        return function(*args, **kwargs)

    return update_wrapper(steps, function)


def awaits(function: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Steps[R]]:
    """Return a function that returns the steps of a coroutine function. What they yield is for the event loop."""

    def steps(*args: P.args, **kwargs: P.kwargs) -> Steps[R]:
        return function(*args, **kwargs).__await__()

    return update_wrapper(steps, function)


def shown_as(method: Callable[..., Any], like: Callable[..., Any], returns: object) -> Callable[..., Any]:
    """Give a method the name, the documentation and the signature of another, with this return type, and return it."""
    assert isinstance(like, FunctionType)
    shown = FunctionType(like.__code__, like.__globals__, like.__name__, like.__defaults__, like.__closure__)
    shown.__kwdefaults__ = like.__kwdefaults__
    shown.__annotations__ = {**like.__annotations__, "return": returns}
    update_wrapper(method, like).__wrapped__ = shown  # `inspect.signature` looks there.
    return method


def result_of(function: Callable[..., Any]) -> object:
    """Return the type of the result in a return annotation such as `Steps[str]`."""
    result = function.__annotations__["return"].__args__[-1]
    return None if result is NoneType else result


def _blocking(steps: Callable[..., Steps[Any]]) -> Callable[..., Any]:
    # No coroutine is made here: an interrupt before its first step would tell of one that was never awaited.
    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        try:
            next(steps(self, *args, **kwargs))
        except StopIteration as end:
            return end.value
        raise RuntimeError("a method of an object that blocks was to be awaited")

    return method


def _awaited(steps: Callable[..., Steps[Any]]) -> Callable[..., Any]:
    async def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        return await _awaitable(steps(self, *args, **kwargs))

    return method


@coroutine
def _awaitable(steps: Steps[R]) -> Steps[R]:
    return (yield from steps)
