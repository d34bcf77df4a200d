"""The depot in memory: its sessions, its clock and its hints."""

from queue import SimpleQueue

from linnet.depot.depot import Depot
from linnet.depot.memory import MemoryDepot
from linnet.store.factory import LogFactory
from linnet.testing.depot_contract import DepotContract
from linnet.testing.log_contract import LogContract


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


class TestDepot(DepotContract):
    def make(self) -> Depot:
        self.clock = Clock()
        return MemoryDepot(self.clock)

    def pass_time(self, seconds: float) -> None:
        self.clock.now += int(seconds * 1000)


class TestSessions(LogContract):
    def make(self) -> LogFactory:
        return MemoryDepot().sessions


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
