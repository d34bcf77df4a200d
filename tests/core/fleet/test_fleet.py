"""Whatever workers, zombies and a clock do: what is kept of an agent is one story, told by one owner at a time."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from linnet.core.fleet import inbox, owning
from linnet.core.fleet.changes import Added, Change, Told
from linnet.core.fleet.committing import committed
from linnet.core.fleet.kept import Fleet
from linnet.core.fleet.records import Answered, Asked, Batch, Claim, Effect, Entries, Hold, Row

LEASE = 10
WORKERS = st.sampled_from(["one", "two", "zombie"])
HEADER = b"{}"


class Owner:
    """What a worker believes, since it was given an agent. It may be wrong by now."""

    def __init__(self, worker: str, claim: Claim) -> None:
        self.worker = worker
        self.hold = claim.hold
        self.place = claim.place
        self.last = claim.last


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.fleet = Fleet()
        self.now = 0
        self.owners: list[Owner] = []
        self.requests = 0
        self.accepted: list[tuple[int, int]] = []  # Epoch and place of each batch that was written, in order.
        self.began: list[str] = []
        self.answers: dict[tuple[str, str], bytes] = {}

    @initialize()
    def add(self) -> None:
        self.fleet.apply([Added("a", b"0", frozenset())])

    def apply(self, changes: list[Change]) -> None:
        self.fleet.apply(changes)

    @rule(client=st.sampled_from(["c", "d"]), name=st.sampled_from(["1", "2", "3"]), line=st.sampled_from([b"x", b"y"]))
    def ask(self, client: str, name: str, line: bytes) -> None:
        known = (client, name) in self.fleet.agents["a"].names
        changes, became, number = inbox.asked(
            self.fleet, "a", Asked(client=client, name=name, line=line, digest=line.decode())
        )
        assert (became == "new") is not known
        assert bool(changes) is (became == "new")
        if isinstance(became, bytes):
            assert became == self.answers[client, name]
        assert number > 0
        self.apply(changes)

    @rule(worker=WORKERS, again=st.booleans())
    def claim(self, worker: str, again: bool) -> None:
        """A worker asks, and perhaps again because it got no answer."""
        self.requests += 1
        before = self.fleet.agents["a"]
        was_owned = before.owner and before.until > self.now
        given: list[Claim] = []
        for _ in range(1 + again):
            changes, given = owning.claimed(self.fleet, worker, str(self.requests), 5, self.now + LEASE, (), self.now)
            self.apply(changes)
        assert not (given and was_owned), "it was taken from somebody whose lease was not over"
        self.owners += [Owner(worker, each) for each in given]

    @rule(seconds=st.integers(1, LEASE + 1))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds

    @precondition(lambda self: self.owners)
    @rule(data=st.data(), repeated=st.booleans())
    def commit(self, data: st.DataObject, repeated: bool) -> None:
        """Somebody who owned it at some time writes what follows from what it believes."""
        owner = data.draw(st.sampled_from(self.owners))
        batch = data.draw(batches(owner, self.fleet))
        agent = self.fleet.agents["a"]
        is_owner = agent.owner != "" and agent.epoch == owner.hold.epoch
        before = (agent.place, agent.last, dict(agent.effects))
        decided = committed(self.fleet, owner.hold, batch, self.now)
        if isinstance(decided, str):
            assert not is_owner or decided != "not the owner"
            assert decided != "begun before" or any(each.call in agent.effects for each in batch.effects)
            return
        assert is_owner
        if not decided:
            assert batch.row.place == before[0]
            return
        self.apply(decided)
        owner.place, owner.last = batch.row.place, batch.row.last
        self.accepted.append((owner.hold.epoch, batch.row.place))
        self.began += [each.call for each in batch.effects if each.state == "begun" and not each.repeatable]
        for answered in batch.row.answers:
            command = self.fleet.agents["a"].commands[answered.command]
            self.answers.setdefault((command.asked.client, command.asked.name), answered.line)
        if repeated:
            assert committed(self.fleet, owner.hold, batch, self.now + 1) == []

    @precondition(lambda self: self.owners)
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        owner = data.draw(st.sampled_from(self.owners))
        self.apply(owning.released(self.fleet, owner.hold, b"released"))

    @precondition(lambda self: self.owners)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        owner = data.draw(st.sampled_from(self.owners))
        agent = self.fleet.agents["a"]
        changes = owning.renewed(self.fleet, owner.worker, [owner.hold], self.now + LEASE)
        assert bool(changes) is (agent.owner == owner.worker and agent.epoch == owner.hold.epoch)
        self.apply([*changes])

    @rule(before=st.integers(0, 200), most=st.integers(0, 30))
    def forget(self, before: int, most: int) -> None:
        agent = self.fleet.agents["a"]
        self.apply([*inbox.forgotten("a", inbox.weighed(agent), before, most)])
        self.began = [call for call in self.began if call in agent.effects]
        self.answers = {
            (each.asked.client, each.asked.name): each.answer
            for each in agent.commands.values()
            if each.answer is not None
        }

    @invariant()
    def one_owner_wrote_each_record(self) -> None:
        assert [place for _, place in self.accepted] == list(range(1, len(self.accepted) + 1))
        epochs = [epoch for epoch, _ in self.accepted]
        assert epochs == sorted(epochs), "somebody wrote after the one who took over"

    @invariant()
    def what_is_told_is_whole(self) -> None:
        for agent in self.fleet.agents.values():
            places = [told.row.place for told in agent.rows]
            assert places == list(range(agent.place - len(places) + 1, agent.place + 1))
            if agent.rows:
                assert agent.rows[0].row.marked or agent.rows[0].row.place == 1
            numbers = [number for told in agent.rows for number in (told.row.first, told.row.last) if number]
            assert numbers == sorted(numbers)
            for number in range(agent.last + 1):
                self.reads_all_after(agent.rows, inbox.mark(agent, number), number)

    def reads_all_after(self, rows: list[Told], place: int | None, number: int) -> None:
        if place is None:
            assert not rows or rows[0].before > number
            return
        read = [told for told in rows if told.row.place >= place]
        missed = [told for told in rows if told.row.place < place and told.row.first and told.row.last > number]
        assert read
        assert read[0].row.marked
        assert missed == []

    @invariant()
    def commands_wait_or_are_answered_once(self) -> None:
        for agent in self.fleet.agents.values():
            assert agent.open == len(agent.waiting)
            assert [each.number for each in agent.waiting] == sorted(each.number for each in agent.waiting)
            for (client, name), line in self.answers.items():
                assert agent.commands[agent.names[client, name]].answer == line

    @invariant()
    def no_call_begins_twice(self) -> None:
        assert len(self.began) == len(set(self.began))

    @invariant()
    def a_session_has_what_was_written_in_one_order(self) -> None:
        for session in self.fleet.sessions.values():
            numbers = [int(line) for line in session.lines]
            assert numbers == list(range(1, len(numbers) + 1))


@st.composite
def batches(draw: Callable[[st.SearchStrategy[Any]], Any], owner: Owner, fleet: Fleet) -> Batch:
    """What an owner may want to write: mostly what follows what it believes to be there."""
    agent = fleet.agents["a"]
    place = owner.place + draw(st.sampled_from([1, 1, 1, 1, 0, 2]))
    events = draw(st.integers(0, 2))
    first, last = (owner.last + 1, owner.last + events) if events else (0, owner.last)
    waiting = [each.number for each in agent.waiting]
    answered = draw(st.lists(st.sampled_from(waiting), max_size=2, unique=True)) if waiting else []
    begun = draw(st.lists(st.sampled_from(waiting), max_size=2, unique=True)) if waiting else []
    marked = place == 1 or draw(st.booleans())
    answers = tuple(Answered(number, "", "", b"%d" % number) for number in answered)
    row = Row(place, first, last, b"x" * draw(st.integers(0, 9)), marked, answers)
    session = fleet.sessions.get("s")
    entries = []
    match draw(st.sampled_from(["none", "right", "wrong"])):
        case "right" if session is None:
            entries = [Entries("s", 1, 0, [b"1"], HEADER)]
        case "right" if session is not None:
            entries = [Entries("s", session.epoch, session.head, [b"%d" % (session.head + 1)])]
        case "wrong":
            entries = [Entries("s", 1, 7, [b"99"])]
        case _:
            pass
    effects = draw(
        st.lists(
            st.builds(Effect, st.sampled_from(["x", "y"]), st.just("bash"), st.sampled_from(["begun", "done"])),
            max_size=1,
        )
    )
    working = draw(st.sampled_from([None, True, False]))
    return Batch(row=row, entries=entries, begun=begun, effects=effects, working=working)


TestMachine = Machine.TestCase


def test_a_zombie_is_refused_whatever_it_writes() -> None:
    fleet = Fleet()
    fleet.apply([Added("a", b"0", frozenset())])
    fleet.apply(inbox.asked(fleet, "a", Asked(client="c", name="1"))[0])
    fleet.apply(owning.claimed(fleet, "one", "1", 5, 10, (), 0)[0])
    fleet.apply(owning.claimed(fleet, "two", "2", 5, 20, (), 10)[0])
    assert committed(fleet, Hold("a", 1), Batch(row=Row(1)), 11) == "not the owner"
    assert committed(fleet, Hold("a", 2), Batch(row=Row(1)), 11) != "not the owner"
