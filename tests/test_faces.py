"""A method that is written once is a function where it blocks and a coroutine function where it is awaited."""

import asyncio
import inspect
import pydoc
import traceback
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, overload

import pytest

from linnet.faces import Awaited, Blocking, Steps, awaits, blocks, once, once_overloaded

if TYPE_CHECKING:
    from linnet.faces import Awaits, Blocks

T = TypeVar("T")


class InThread:
    @blocks
    def get(self, key: str) -> str:
        if key == "bad":
            raise KeyError(key)
        return key.upper()


class InLoop:
    @awaits
    async def get(self, key: str) -> str:
        await asyncio.sleep(0)
        if key == "slow":
            await asyncio.Event().wait()
        if key == "bad":
            raise KeyError(key)
        return key.upper()


class Methods:
    _waits: InThread | InLoop

    def __init__(self) -> None:
        self.left: list[str] = []

    @once
    def both(self, first: str, *, second: str = "b") -> Steps[str]:
        """Get two."""
        one = yield from self._waits.get(first)
        return one + (yield from self._waits.get(second))

    @once
    def guarded(self, key: str) -> Steps[None]:
        try:
            yield from self._waits.get(key)
        except BaseException as error:
            self.left.append(type(error).__name__)
            raise

    @once
    def at_once(self) -> Steps[int]:
        yield from ()
        return 7

    @overload
    def same(self: "Blocks", value: T) -> T: ...
    @overload
    def same(self: "Awaits", value: T) -> Coroutine[Any, Any, T]: ...
    @once_overloaded
    def same(self, value: Any) -> Steps[Any]:
        yield from ()
        return value


class Sync(Methods, Blocking):
    _waits = InThread()


class Async(Methods, Awaited):
    _waits = InLoop()


def test_a_method_returns_its_result_or_is_awaited_for_it() -> None:
    async def main() -> tuple[str, str, int]:
        return await Async().both("a", second="c"), await Async().same("x"), await Async().at_once()

    assert Sync().both("a") == "AB"
    assert Sync().same("x") == "x"
    assert asyncio.run(main()) == ("AC", "x", 7)


@pytest.mark.parametrize(("kind", "is_awaited"), [(Sync, False), (Async, True)])
def test_it_is_shown_as_if_it_had_been_written_for_that_class(kind: type[Sync | Async], is_awaited: bool) -> None:
    method: Callable[..., Any] = kind.both
    assert inspect.isfunction(method)
    assert inspect.iscoroutinefunction(method) is is_awaited
    assert inspect.iscoroutinefunction(kind().both) is is_awaited
    assert str(inspect.signature(method)) == "(self, first: str, *, second: str = 'b') -> str"
    assert str(inspect.signature(kind().both)) == "(first: str, *, second: str = 'b') -> str"
    assert str(inspect.signature(kind.guarded)) == "(self, key: str) -> None"
    assert (method.__name__, method.__doc__) == ("both", "Get two.")
    page = pydoc.plain(pydoc.render_doc(kind))
    assert "both(self, first: str, *, second: str = 'b') -> str\n |      Get two." in page


def test_an_error_passes_through_the_method_and_is_told_with_its_lines() -> None:
    asked = Sync()
    with pytest.raises(KeyError) as caught:
        asked.guarded("bad")
    assert asked.left == ["KeyError"]
    assert caught.value.__context__ is None
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][1:]
    assert names == ["method", "guarded", "steps", "get"]


def test_cancelling_reaches_the_method_where_it_waits() -> None:
    async def main() -> list[str]:
        asked = Async()
        task = asyncio.create_task(asked.guarded("slow"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return asked.left

    assert asyncio.run(main()) == ["CancelledError"]


def test_arguments_that_do_not_fit_are_told_by_the_methods_name() -> None:
    wrong: Any = Sync()
    with pytest.raises(TypeError, match=r"Methods\.both\(\) missing 1 required positional argument: 'first'"):
        wrong.both()


def test_a_class_of_ones_own_may_override_it_and_call_the_one_above() -> None:
    class Mine(Sync):
        def both(self, first: str, *, second: str = "b") -> str:
            return f"<{super().both(first, second=second)}>"

    class MineAwaited(Async):
        async def both(self, first: str, *, second: str = "b") -> str:
            return f"<{await super().both(first, second=second)}>"

    assert Mine().both("a") == "<AB>"
    assert asyncio.run(MineAwaited().both("a")) == "<AB>"


def test_an_object_that_blocks_never_waits_for_an_event_loop() -> None:
    class Confused(Sync):
        _waits: Any = InLoop()

    with pytest.raises(RuntimeError, match="was to be awaited"):
        Confused().both("a")
