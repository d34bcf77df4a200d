"""What a handler is told: how much of it may wait, what is left out, and in which order it comes."""

from collections import deque
from collections.abc import Callable
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from linnet.core.extensions.extension_events import MessageGrew, Observed, ToolStarted
from linnet.core.messages import ToolCall
from linnet.extensions.python import mailbox
from linnet.extensions.python.mailbox import ROOM, Mailbox
from linnet.extensions.python.workers import Workers


class Later(Workers):
    """What is begun is done when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: deque[Callable[[], None]] = deque()

    def begin(self, function: Callable[[], None]) -> None:
        self.begun.append(function)

    def work(self) -> None:
        while self.begun:
            self.begun.popleft()()


def word(number: int) -> Observed:
    return MessageGrew("text", str(number))


def call(number: int) -> Observed:
    return ToolStarted(ToolCall(str(number), "bash", {}))


def opened() -> tuple[Mailbox, Later, list[Observed]]:
    workers, delivered = Later(), list[Observed]()
    return Mailbox(workers, delivered.append), workers, delivered


def test_of_what_may_be_left_out_so_much_waits_and_no_more() -> None:
    box, workers, delivered = opened()
    words = [word(number) for number in range(ROOM + 1)]
    for each in words:
        box.put(each)
    box.put(call(1))  # This may not be left out, however full it is.
    box.put(word(-1))
    assert len(workers.begun) == 1
    workers.work()
    assert delivered == [*words[:ROOM], call(1)]
    box.put(word(-2))
    workers.work()
    assert delivered[-1] == word(-2)


steps = st.lists(st.sampled_from(["word", "call", "work"]))


@given(steps, st.integers(1, 4))
def test_everything_comes_in_order_but_words_for_which_there_was_no_room(steps: list[str], room: int) -> None:
    box, workers, delivered = opened()
    expected: list[Observed] = []
    waiting = 0
    with patch.object(mailbox, "ROOM", room):
        for number, step in enumerate(steps):
            if step == "work":
                workers.work()
                waiting = 0
            elif step == "call" or waiting < room:
                event = call(number) if step == "call" else word(number)
                box.put(event)
                expected.append(event)
                waiting += 1
            else:
                box.put(word(number))
            assert len(workers.begun) <= 1, "one at a time"
            assert delivered == expected[: len(expected) - waiting]
        workers.work()
    assert delivered == expected
    box.wait(0)
