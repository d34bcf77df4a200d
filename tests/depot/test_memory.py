"""The depot in memory: its sessions, its clock and its hints."""

from queue import SimpleQueue

import pytest

from linnet.depot.depot import Depot
from linnet.depot.memory import MemoryDepot
from linnet.depot.records import Answered, Asked, Batch, Row
from linnet.errors import Fenced
from linnet.store.factory import LogFactory
from linnet.testing.log_contract import LogContract


class TestSessions(LogContract):
    def make(self) -> LogFactory:
        return MemoryDepot().sessions


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


def test_an_agent_whose_worker_is_gone_is_another_s_after_the_lease_and_not_before() -> None:
    clock = Clock()
    depot: Depot = MemoryDepot(clock)
    depot.add("a", b"{}")
    assert depot.ask("a", Asked(client="c", name="1", line=b"hello")) == ("new", 1)
    (first,) = depot.claim("one", 5, lease=10)
    clock.now += 9_999
    assert depot.claim("two", 5, lease=10) == []
    clock.now += 1
    (second,) = depot.claim("two", 5, lease=10)
    assert (second.lost, second.hold.epoch) == (True, first.hold.epoch + 1)
    with pytest.raises(Fenced):
        depot.commit(first.hold, Batch(row=Row(1, 1, 1, b"x")))
    depot.commit(second.hold, Batch(row=Row(1, 1, 1, b"y", answers=(Answered(1, "c", "1", b"done"),))))
    assert [row.body for row in depot.told("a", 0)] == [b"y"]
    assert depot.ask("a", Asked(client="c", name="1", line=b"hello")) == (b"done", 1)


def test_listeners_are_told_of_agents_until_they_stop_listening() -> None:
    depot = MemoryDepot()
    heard: SimpleQueue[str] = SimpleQueue()
    stop = depot.listen(heard.put)
    depot.add("a", b"{}")
    assert heard.get(timeout=60) == "a"
    stop()
    depot.add("b", b"{}")
    again: SimpleQueue[str] = SimpleQueue()
    depot.listen(again.put)
    depot.add("c", b"{}")
    assert again.get(timeout=60) == "c"
    assert heard.empty()
    depot.close()
