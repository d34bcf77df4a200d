"""Tests of depots: agents, commands that are asked, and who owns what."""

from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from linnet.depot.records import Answered, Batch, Row
from linnet.testing.depots.steps import DepotTests, asked, is_fenced, is_refused, made, told


class OwnersContract(DepotTests):
    # Agents and commands.

    def test_an_agent_is_added_once_and_listed_until_it_is_removed(self) -> None:
        depot = self.make()
        for id in ("b", "a", "c"):
            depot.add(id, b"{}")
        depot.add("a", b"{}")
        assert is_refused(lambda: depot.add("a", b"another"))
        assert depot.ids() == ["b", "a", "c"]
        shown, _ = depot.shown()
        assert [(each.id, each.record, each.owner, each.working) for each in shown] == [
            (id, b"{}", "", False) for id in ("b", "a", "c")
        ]
        assert depot.remove("a")
        assert not depot.remove("a")
        assert depot.ids() == ["b", "c"]
        assert depot.ask("a", asked("1")) == ("gone", 0)
        assert depot.told("a", 0) == []

    def test_a_command_of_one_name_is_asked_once_and_keeps_its_answer(self) -> None:
        depot = self.make()
        depot.add("a", b"{}")
        assert depot.ask("a", asked("1")) == ("new", 1)
        assert depot.ask("a", asked("1")) == ("waits", 1)
        assert depot.ask("a", asked("1", b"something else")) == ("reused", 1)
        assert depot.ask("a", asked("1", client="another")) == ("new", 2)
        assert depot.ask("a", asked("\x00 \u2028 \U0001f600")) == ("new", 3)
        (claim,) = depot.claim("w", 5, lease=60)
        waiting = depot.commands(claim.hold)
        assert [(each.number, each.asked.name, each.begun) for each in waiting] == [
            (1, "1", 0),
            (2, "1", 0),
            (3, "\x00 \u2028 \U0001f600", 0),
        ]
        assert waiting[0].asked == asked("1")
        assert depot.commands(claim.hold, after=2) == waiting[2:]
        depot.commit(claim.hold, Batch(row=told(1), begun=(1,)))
        assert [each.begun for each in depot.commands(claim.hold)] == [claim.hold.epoch, 0, 0]
        depot.commit(claim.hold, Batch(row=told(2, answers=[Answered(1, "c", "1", b"\x00done")])))
        assert depot.ask("a", asked("1")) == (b"\x00done", 1)
        assert [each.number for each in depot.commands(claim.hold)] == [2, 3]

    # Owners.

    def test_an_agent_is_given_to_one_worker_when_there_is_something_to_do(self) -> None:
        depot = self.make()
        for id in ("a", "b", "c"):
            depot.add(id, b"{}")
        assert depot.claim("w", 5, lease=60) == []
        for id in ("c", "a"):
            depot.ask(id, asked("1"))
        (first,) = depot.claim("w", 1, lease=60)
        (second,) = depot.claim("x", 5, lease=60)
        assert (first.hold.agent, second.hold.agent) == ("a", "c")
        assert (first.record, first.working, first.place, first.last, first.lost) == (b"{}", False, 0, 0, False)
        assert depot.claim("w", 5, lease=60) == []
        owners = {each.id: each.owner for each in depot.shown()[0]}
        assert owners == {"a": "w", "b": "", "c": "x"}

    def test_an_agent_runs_only_on_workers_that_have_all_its_labels(self) -> None:
        depot = self.make()
        depot.add("a", b"{}", labels=["gpu", "eu"])
        depot.ask("a", asked("1"))
        assert depot.claim("w", 5, lease=60) == []
        assert depot.claim("w", 5, lease=60, labels=["gpu"]) == []
        assert [each.hold.agent for each in depot.claim("w", 5, lease=60, labels=["eu", "x", "gpu"])] == ["a"]

    def test_an_agent_that_was_let_go_is_another_s_only_if_there_is_more_to_do(self) -> None:
        depot = self.make()
        claim = self.claimed(depot)
        depot.commit(claim.hold, Batch(row=told(1, answers=[Answered(1, "c", "1", b"done")]), record=b"2"))
        depot.release(claim.hold, b"3")
        depot.release(claim.hold, b"4")
        assert depot.claim("x", 5, lease=60) == []
        assert depot.shown()[0][0].record == b"3"
        depot.ask("a", asked("2"))
        (again,) = depot.claim("x", 5, lease=60)
        assert (again.record, again.lost, again.place, again.last) == (b"3", False, 1, 1)
        depot.commit(again.hold, Batch(row=told(2), working=True))
        depot.release(again.hold, b"5")
        (third,) = depot.claim("y", 5, lease=60)
        assert (third.working, third.lost) == (True, False)

    def test_a_lost_owner_s_agent_is_another_s_after_the_lease_and_the_former_one_isis_refused(self) -> None:
        depot = self.make()
        first = self.claimed(depot, self.lease)
        self.pass_time(self.lease * 0.6)
        assert depot.renew("w", [first.hold], self.lease) == {"a"}
        self.pass_time(self.lease * 0.6)
        assert depot.claim("x", 5, lease=60) == []
        depot.commit(first.hold, Batch(row=told(1)))
        self.pass_time(self.lease)
        assert depot.renew("w", [first.hold], self.lease) == {"a"}  # Nobody else wanted it.
        self.pass_time(self.lease * 1.1)
        (second,) = depot.claim("x", 5, lease=60)
        assert (second.lost, second.place, second.last) == (True, 1, 1)
        assert second.hold.epoch > first.hold.epoch
        for refused in (
            lambda: depot.commit(first.hold, Batch(row=told(2), entries=[made()])),
            lambda: depot.commands(first.hold),
            lambda: depot.effects(first.hold, ["x"]),
        ):
            assert is_fenced(refused)
        assert depot.renew("w", [first.hold], 60) == set()
        depot.release(first.hold, b"of the former owner")
        depot.commit(second.hold, Batch(row=Row(2, 2, 2, b"mine")))
        assert is_fenced(lambda: depot.commit(first.hold, Batch(row=told(2))))
        assert [row.body for row in depot.told("a", 0)] == [b"event 1", b"mine"]
        assert not depot.sessions.exists("s")
        assert depot.shown()[0][0].owner == "x"

    def test_an_agent_that_loses_three_workers_at_one_place_is_set_aside(self) -> None:
        depot = self.make()
        first = self.claimed(depot, self.lease)
        depot.commit(first.hold, Batch(row=told(1, answers=[Answered(1, "c", "1", b"done")]), working=True))
        place = 1
        for worker in ("x", "y"):
            self.pass_time(self.lease * 1.1)
            (claim,) = depot.claim(worker, 5, self.lease)
            place += 1
            depot.commit(claim.hold, Batch(row=told(place)))  # Only told again: that is the same place.
        self.pass_time(self.lease * 1.1)
        assert depot.claim("z", 5, lease=60) == []
        (shown,) = depot.shown()[0]
        assert "y" in shown.parked
        assert shown.owner == ""
        assert is_fenced(lambda: depot.commit(claim.hold, Batch(row=told(place + 1))))
        assert depot.claim("z", 5, lease=60) == []

    def test_many_workers_at_once_are_never_given_the_same(self) -> None:
        depot = self.make()
        agents = [f"a{number}" for number in range(40)]
        for agent in agents:
            depot.add(agent, b"{}")
            depot.ask(agent, asked("1"))

        def claimed(worker: str) -> list[str]:
            found: list[str] = []
            while given := depot.claim(worker, 3, lease=60):
                found += [each.hold.agent for each in given]
            return found

        with ThreadPoolExecutor(6) as threads:
            given = list(threads.map(claimed, [f"w{number}" for number in range(6)]))
        # Somebody may have looked while others were being given the rest.
        rest = claimed("last")
        assert sorted([*chain.from_iterable(given), *rest]) == sorted(agents)
