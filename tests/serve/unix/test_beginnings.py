"""Runs begin beside the loop that serves all connections: one after the other, and each after the loop had its turn."""

from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from threading import Event as Signal

import pytest

from linnet.serve.unix.beginnings import Beginnings
from tests.serve.unix.serving import Served

pytestmark = pytest.mark.timeout(60)
LONG = 50.0  # Seconds: longer than the test may take in all.


def waited_for(signal: Signal) -> None:
    signal.wait()


def test_the_next_is_begun_after_the_loop_had_its_turn() -> None:
    turns: SimpleQueue[Callable[[], None]] = SimpleQueue()
    begun: SimpleQueue[str] = SimpleQueue()
    beginnings = Beginnings(turns.put, patience=LONG)
    for name in "abc":
        beginnings.add(partial(begun.put, name))
    beginnings.run()
    for name in "ab":
        turn = turns.get()  # The loop is asked for a turn: nothing is begun before it has taken it.
        assert begun.get() == name
        assert begun.empty()
        turn()
    assert begun.get() == "c"
    beginnings.close()


def test_one_that_waits_for_something_holds_up_the_next_for_a_moment_only() -> None:
    go_on, begun = Signal(), Signal()
    beginnings = Beginnings(lambda act: act())
    beginnings.run()
    beginnings.add(partial(waited_for, go_on))
    beginnings.add(begun.set)
    assert begun.wait(LONG)
    go_on.set()
    beginnings.close()


def test_an_agent_that_goes_with_its_client_goes_if_that_is_gone_before_it_was_opened(served: Served) -> None:
    for _ in range(10):
        client = served.connected()
        client.say({"type": "open", "cwd": str(served.work), "dialect": "pi-1", "keep": False})
        client.close()
    driver = served.open()  # Opened after all of them.
    while len(served.agents()) > 1:
        pass
    assert [*served.agents()] == [driver.agent]


def test_what_is_sent_after_a_command_that_begins_something_comes_after_it(served: Served) -> None:
    driver = served.open()
    driver.say(
        {"type": "prompt", "message": "!gate never", "id": "a"},
        {"type": "get_state", "id": "b"},
        {"type": "abort", "id": "c"},
    )
    driver.until(lambda frame: frame.get("id") == "c")
    answers = [frame for frame in driver.seen if frame["type"] == "response"]
    assert [frame.get("id") for frame in answers[1:]] == ["a", "b", "c"]
    assert answers[2]["data"]["isStreaming"]
