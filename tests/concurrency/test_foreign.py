"""Functions that others wrote: whatever they do, nobody waits for them after an abort, and nobody hangs."""

import asyncio
import sys
from threading import Event, Thread, current_thread
from typing import Any

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.concurrency.foreign import Foreign
from linnet.errors import Cancelled, Closed, ToolFailed


@pytest.fixture
def foreign() -> Any:
    made = Foreign()
    yield made
    made.close()


def test_what_a_function_returns_or_raises_is_what_came_of_it(foreign: Foreign) -> None:
    def add(a: int, *, b: int) -> int:
        return a + b

    async def add_later(a: int, *, b: int) -> int:
        await asyncio.sleep(0)
        return a + b

    class Adder:
        async def __call__(self, a: int, *, b: int) -> int:
            return a + b

    def broken() -> None:
        raise LookupError("no such customer")

    for function in (add, add_later, Adder()):
        assert foreign.call(function, CancelToken(), 2, b=3) == 5
    with pytest.raises(LookupError, match="no such customer"):
        foreign.call(broken, CancelToken())


def test_an_abort_does_not_wait_for_a_function_that_blocks(foreign: Foreign) -> None:
    cancel, entered, release, left = CancelToken(), Event(), Event(), Event()

    def hang() -> None:
        entered.set()
        release.wait()
        left.set()

    def abort() -> None:
        entered.wait()
        cancel.set()

    Thread(target=abort).start()
    with pytest.raises(Cancelled):
        foreign.call(hang, cancel)
    assert not left.is_set()
    assert foreign.call(current_thread, CancelToken()).name == "linnet-foreign", "others are called meanwhile"
    release.set()
    assert left.wait(30)


def test_after_an_abort_nothing_is_called(foreign: Foreign) -> None:
    cancel, called = CancelToken(), Event()
    cancel.set()
    with pytest.raises(Cancelled):
        foreign.call(called.set, cancel)
    assert not called.is_set()


def test_a_coroutine_that_will_not_be_cancelled_is_left_behind(foreign: Foreign) -> None:
    cancel, ended = CancelToken(), Event()

    async def stubborn() -> None:
        asyncio.get_running_loop().call_soon(cancel.set)
        try:
            await asyncio.sleep(61.5)
        except asyncio.CancelledError:
            ended.set()

    with pytest.raises(Cancelled):
        foreign.call(stubborn, cancel)
    assert ended.wait(30)


def test_one_thread_is_kept_for_the_next_call(foreign: Foreign) -> None:
    assert len({foreign.call(current_thread, CancelToken()) for _ in range(20)}) == 1


def test_what_would_end_a_thread_or_a_loop_is_a_failure_like_any_other(foreign: Foreign) -> None:
    async def leave() -> None:
        sys.exit("bye")

    async def fine() -> str:
        return "fine"

    for function in (leave, lambda: sys.exit("bye")):
        with pytest.raises(ToolFailed, match="SystemExit: bye"):
            foreign.call(function, CancelToken())
    assert foreign.call(fine, CancelToken()) == "fine"


def test_once_closed_no_coroutine_begins() -> None:
    async def late() -> None: ...

    foreign = Foreign()
    foreign.close()
    with pytest.raises(Closed):
        foreign.call(late, CancelToken())
