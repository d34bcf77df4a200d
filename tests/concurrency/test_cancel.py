"""The token that interrupts: before anything blocks, while it does, and after."""

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.errors import Cancelled


def test_nothing_begins_once_it_is_set() -> None:
    cancel, story = CancelToken(), list[str]()
    cancel.set()
    with pytest.raises(Cancelled), cancel.interrupting(lambda: story.append("interrupted")):
        story.append("began")
    assert story == []
    with pytest.raises(Cancelled):
        cancel.check()
    with pytest.raises(Cancelled):
        cancel.sleep(60)


@pytest.mark.parametrize("says", [None, OSError("shut down"), ValueError()])
def test_what_is_interrupted_is_cancelled_whatever_it_says_of_it(says: Exception | None) -> None:
    cancel, story = CancelToken(), list[str]()

    def blocked() -> None:
        cancel.set()
        if says is not None:
            raise says

    with pytest.raises(Cancelled), cancel.interrupting(lambda: story.append("interrupted")):
        blocked()
    assert story == ["interrupted"]


def test_what_fails_by_itself_says_so_and_is_not_interrupted_later() -> None:
    cancel, story = CancelToken(), list[str]()
    with pytest.raises(OSError, match="by itself"), cancel.interrupting(lambda: story.append("interrupted")):
        raise OSError("by itself")
    with cancel.interrupting(lambda: story.append("interrupted")):
        pass
    cancel.set()
    assert story == []


def test_all_that_block_are_interrupted_once() -> None:
    cancel, story = CancelToken(), list[str]()
    with (
        pytest.raises(Cancelled),
        cancel.interrupting(lambda: story.append("outer")),
        cancel.interrupting(lambda: story.append("inner")),
    ):
        cancel.set()
    cancel.set()
    assert story == ["outer", "inner"]


def test_all_that_block_are_interrupted_also_if_to_interrupt_one_of_them_fails() -> None:
    """Tools that others wrote say how they are interrupted."""
    cancel, story = CancelToken(), list[str]()

    def fail() -> None:
        story.append("outer")
        raise OSError("not connected")

    with (
        pytest.raises(Cancelled),
        cancel.interrupting(fail),
        cancel.interrupting(lambda: story.append("inner")),
    ):
        cancel.set()
    assert story == ["outer", "inner"]
