"""Tests of what every depot must do, whoever keeps it. Run them on one of your own, with pytest:

class TestMine(DepotContract):
    def make(self) -> Depot:
        return MyDepot(...)

Its sessions are tested by `linnet.testing.log_contract`.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue

from linnet.depot.depot import Depot, Fenced
from linnet.depot.records import Answered, Batch, Claim, Effect, Entries, Row
from linnet.testing.depots.owners import OwnersContract
from linnet.testing.depots.steps import MOST_STEPS, PATIENCE, Tries, asked, is_fenced, is_refused, made, told


class DepotContract(OwnersContract):
    """The tests. Each begins with an empty depot."""

    # What is written.

    def test_all_of_a_batch_is_written_or_nothing(self) -> None:
        depot = self.make()
        claim = self.claimed(depot)
        effect = Effect("call", "bash", "begun")
        batch = Batch(row=told(1), entries=[made()], begun=(1,), effects=[effect], record=b"2", working=True)
        depot.commit(claim.hold, batch)
        depot.commit(claim.hold, batch)  # Its answer may have been lost.
        self._wrote_once(depot, claim)
        for wrong in (Row(1, 1, 1, b"another in its place"), told(3), Row(2, 1, 1, b"an event again"), Row(2, 0, 0)):
            changed = Batch(row=wrong, entries=[Entries("s", 1, 2, [b"3"])], record=b"3", working=False)
            assert is_fenced(partial(depot.commit, claim.hold, changed))
        for entries in (Entries("s", 1, 1, [b"3"]), Entries("s", 2, 2, [b"3"]), Entries("t", 1, 0, [b"3"]), made()):
            assert is_fenced(partial(depot.commit, claim.hold, Batch(row=told(2), entries=[entries])))
        self._wrote_once(depot, claim)
        depot.commit(claim.hold, Batch(row=told(2), entries=[Entries("s", 1, 2, [b"3", b"4"]), made("t")]))
        assert depot.sessions.open("s")[0].read(1) == [b"2", b"3", b"4"]
        assert is_fenced(lambda: depot.commit(claim.hold, Batch(row=told(3), entries=[Entries("s", 1, 4, [b"5"])])))

    def test_records_are_told_from_any_place_in_their_order(self) -> None:
        depot = self.make()
        claim = self.claimed(depot)
        answers = [Answered(1, "c", "1", b"one"), Answered(9, "c", "\x00", b"not asked here")]
        rows = [
            Row(1, 1, 3, b"a" * 100_000, True),
            Row(2, 0, 3, b"", False, tuple(answers)),
            Row(3, 4, 4, b"\x00\xff", False),
            Row(4, 7, 9, b"b", True),
        ]
        for row in rows:
            depot.commit(claim.hold, Batch(row=row))
        for after in range(5):
            found = depot.told("a", after)
            assert [(it.place, it.first, it.last, it.body, it.marked, it.answers) for it in found] == [
                (it.place, it.first, it.last, it.body, it.marked, it.answers) for it in rows[after:]
            ]
            assert all(it.time > 0 for it in found)
        assert [row.place for row in depot.told("a", 1, most=2)] == [2, 3]
        assert [depot.marked("a", number) for number in (0, 1, 3, 4, 6, 9, 99)] == [1, 1, 1, 4, 4, 4, 4]
        assert depot.marked("another", 0) is None

    def test_what_is_old_is_dropped_up_to_a_mark_with_what_it_answered(self) -> None:
        depot = self.make()
        claim = self.claimed(depot)
        depot.ask("a", asked("2"))
        first = [Answered(1, "c", "1", b"one")]
        depot.commit(claim.hold, Batch(row=told(1, answers=first), effects=[Effect("x", "bash", "done")]))
        depot.commit(claim.hold, Batch(row=told(2)))
        assert depot.drop(10_000_000, 1_000_000) == 0
        assert depot.drop(10_000_000, 1) == 0  # Whoever comes needs all since the mark.
        depot.commit(claim.hold, Batch(row=told(3, marked=True), effects=[Effect("y", "bash", "done")]))
        depot.commit(claim.hold, Batch(row=told(4)))
        assert depot.drop(10_000_000, 16) == 2
        assert [row.place for row in depot.told("a", 0)] == [3, 4]
        assert (depot.marked("a", 1), depot.marked("a", 2)) == (None, 3)
        assert set(depot.effects(claim.hold, ["x", "y"])) == {"y"}
        assert depot.ask("a", asked("2")) == ("waits", 2)
        assert depot.ask("a", asked("1")) == ("new", 3)  # Nobody knows it any more.
        depot.commit(claim.hold, Batch(row=told(5, marked=True)))
        self.pass_time(0.2)
        assert depot.drop(100, 1_000_000) == 2
        assert [row.place for row in depot.told("a", 0)] == [5]

    def test_a_call_begins_once_unless_it_may_be_repeated(self) -> None:
        depot = self.make()
        claim = self.claimed(depot)
        begun, reading = Effect("x", "bash", "begun"), Effect("y", "read", "begun", repeatable=True)
        depot.commit(claim.hold, Batch(row=told(1), effects=[begun, reading]))
        assert is_refused(lambda: depot.commit(claim.hold, Batch(row=told(2), effects=[begun])))
        depot.commit(claim.hold, Batch(row=told(2), effects=[reading]))
        done = Effect("x", "bash", "done", result=b"\x00 it said")
        depot.commit(claim.hold, Batch(row=told(3), effects=[done, Effect("y", "read", "done")]))
        for again in (begun, reading):
            assert is_refused(partial(depot.commit, claim.hold, Batch(row=told(4), effects=[again])))
        found = depot.effects(claim.hold, ["x", "z"])
        assert {call: (it.state, it.result, it.epoch) for call, it in found.items()} == {
            "x": ("done", b"\x00 it said", claim.hold.epoch)
        }

    def test_one_of_two_that_write_at_once_isis_refused(self) -> None:
        depot = self.make()
        claim = self.claimed(depot)

        def write(writer: str) -> list[int]:
            wrote: list[int] = []
            for place in range(1, 40):
                try:
                    depot.commit(claim.hold, Batch(row=Row(place, place, place, writer.encode(), place == 1)))
                except Fenced:
                    continue
                wrote.append(place)
            return wrote

        with ThreadPoolExecutor(2) as threads:
            one, other = threads.map(write, ["one", "other"])
        assert not set(one) & set(other)
        rows = depot.told("a", 0)
        assert [row.place for row in rows] == sorted([*one, *other])
        assert [row.place for row in rows if row.body == b"one"] == one

    # Who watches.

    def test_whoever_asks_since_a_moment_is_shown_what_has_changed(self) -> None:
        depot = self.make()
        for id in ("a", "b"):
            depot.add(id, b"{}")
        shown, moment = depot.shown()
        assert {each.id for each in shown} == {"a", "b"}
        depot.ask("b", asked("1"))
        (claim,) = depot.claim("w", 5, lease=60)
        shown, moment = depot.shown(moment)
        assert [(each.id, each.owner) for each in shown if each.id == "b"] == [("b", "w")]
        depot.commit(claim.hold, Batch(row=told(1), working=True, record=b"2"))
        shown, moment = depot.shown(moment)
        assert [(it.id, it.record, it.working, it.last) for it in shown if it.id == "b"] == [("b", b"2", True, 1)]
        depot.release(claim.hold, b"3")
        shown, moment = depot.shown(moment)
        assert [(it.record, it.owner) for it in shown if it.id == "b"] == [(b"3", "")]

    def test_listeners_are_told_of_what_happens(self) -> None:
        depot = self.make()
        heard: SimpleQueue[str] = SimpleQueue()
        depot.add("a", b"{}")
        stop = depot.listen(heard.put)
        self._hears(heard, "a", lambda: depot.ask("a", asked(str(time.monotonic()))))
        (claim,) = depot.claim("w", 5, lease=60)
        place = 0

        def write() -> None:
            nonlocal place
            place += 1
            depot.commit(claim.hold, Batch(row=told(place)))

        self._hears(heard, "a", write)
        stop()

    # What is lost on the way.

    def test_a_call_whose_connection_was_lost_may_be_repeated_as_it_is(self) -> None:
        depot = self.make()
        for message in range(MOST_STEPS):
            interrupted = self.losing(depot, message)
            if interrupted is None:
                return
            with interrupted:
                lost = self._story(depot, f"a{message}", f"s{message}")
            self._told_once(depot, f"a{message}", f"s{message}")
            if not lost:  # There are not so many messages.
                assert message > 0
                return
        raise AssertionError("there is always a call that is lost")

    def _story(self, depot: Depot, agent: str, session: str) -> int:
        """Do everything once, each call again if it was lost. Return how many were."""
        tries = Tries()
        tries(lambda: depot.add(agent, b"{}"))
        assert tries(lambda: depot.ask(agent, asked("1")))[1] == 1
        (claim,) = tries(lambda: depot.claim("w", 5, lease=60))
        assert claim.hold.agent == agent
        assert tries(lambda: depot.renew("w", [claim.hold], 60)) == {agent}
        assert [each.number for each in tries(lambda: depot.commands(claim.hold))] == [1]
        begun = Effect("x", "bash", "begun")
        begins = Batch(row=told(1), entries=[made(session)], begun=(1,), effects=[begun], working=True)
        tries(lambda: depot.commit(claim.hold, begins))
        ends = Batch(
            row=told(2, answers=[Answered(1, "c", "1", b"done")]),
            entries=[Entries(session, 1, 2, [b"3"])],
            effects=[Effect("x", "bash", "done")],
            working=False,
        )
        tries(lambda: depot.commit(claim.hold, ends))
        assert tries(lambda: depot.effects(claim.hold, ["x"]))["x"].state == "done"
        tries(lambda: depot.release(claim.hold, b"2"))
        return tries.lost

    def _told_once(self, depot: Depot, agent: str, session: str) -> None:
        assert [(row.place, row.body) for row in depot.told(agent, 0)] == [(1, b"event 1"), (2, b"event 2")]
        assert list(depot.sessions.read(session).lines) == [b"1", b"2", b"3"]
        assert depot.ask(agent, asked("1")) == (b"done", 1)
        (shown,) = (each for each in depot.shown()[0] if each.id == agent)
        assert (shown.record, shown.working, shown.owner, shown.last) == (b"2", False, "", 2)

    def _wrote_once(self, depot: Depot, claim: Claim) -> None:
        assert [row.body for row in depot.told("a", 0)] == [b"event 1"]
        assert list(depot.sessions.read("s").lines) == [b"1", b"2"]
        assert [each.begun for each in depot.commands(claim.hold)] == [claim.hold.epoch]
        (shown,) = depot.shown()[0]
        assert (shown.record, shown.working, shown.last) == (b"2", True, 1)

    def _hears(self, heard: "SimpleQueue[str]", agent: str, act: Callable[[], object]) -> None:
        """Hints may be missing: so it is done again until one comes."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            act()
            with suppress(Empty):
                while heard.get(timeout=1) != agent:
                    pass
                return
        raise AssertionError(f"nobody was told of {agent}")
