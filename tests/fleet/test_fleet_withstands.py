"""Whatever happens to workers, the door, the database and the network between: nobody misses anything, nothing that was
acknowledged is lost, what has a name is done once, and no tool runs twice.
"""

from collections import Counter
from random import Random
from typing import Any

import pytest

from linnet.core.events import JobStarted, Settled
from linnet.depot.postgres.postgres_depot import PostgresDepot
from linnet.eventlog.spelling import Reader
from linnet.testing.model_server import ModelServer
from tests.fleet.fleet import Fleet
from tests.postgres.cluster import Cluster
from tests.serve.unix.crowd import Crowd, View, Watcher
from tests.serve.unix.driving import Driver
from tests.serve.unix.tape import frames
from tests.serve.unix.test_withstands import Faults, assert_kept, difference, effects, finish, settle

FAULTS = 20  # In one round.
ROUNDS = 50
WATCHERS = 20
WORKERS = 3
ACTS = 8  # Commands of each driver, besides answers to questions.
AGENTS = ("pi-1", "pi", "pi-1")
VIEWS = (("zot", None), ("pi", None), ("pi-1", "deltas"))
FLAGS = ("--permission", "ask", "--allow", "read", "--compact-keep", "100")


@pytest.mark.timeout(180)
@pytest.mark.parametrize("round", [0, *[pytest.param(number, marks=pytest.mark.chaos) for number in range(1, ROUNDS)]])
def test_nothing_is_missed_lost_or_done_twice(
    server: ModelServer, postgres: Cluster, round: int, pytestconfig: pytest.Config
) -> None:
    chance = Random(f"{pytestconfig.option.hypothesis_seed} {round}")
    with Fleet(server.url, postgres, lease=1.5) as fleet:
        (fleet.work / "a.txt").write_text("read me\n" * 20)
        for _ in range(WORKERS):
            fleet.add_worker("--sleep-after", "0.3")
        crowd = Crowd(fleet, chance)
        try:
            withstand(crowd, fleet, chance)
        except BaseException:
            print(standing(crowd, fleet))
            raise
        finally:
            crowd.close()
        assert fleet.stderr.count("Traceback") == 0, fleet.stderr


def standing(crowd: Crowd, fleet: Fleet) -> str:
    """Return how everything stands, for people who want to know why it hangs."""
    said = [f"workers: { {number: each.poll() for number, each in fleet.workers.items()} }"]
    for what in (
        "id, owner, epoch, until - linnet.now(), parked, working, open, place, last from linnet.agents",
        (
            "agent, number, client, name, kind, begun, left(encode(line, 'escape'), 200) from linnet.commands "
            "where answer is null"
        ),
        (
            "agent, place, first, last, left(encode(answers, 'escape'), 200), right(encode(body, 'escape'), 600) from "
            "linnet.told t where place > (select max(place) - 4 from linnet.told where agent = t.agent) order by 1, 2"
        ),
        "pid, application_name, state, wait_event, query from pg_stat_activity where application_name like 'linnet:%'",
    ):
        said += [
            what,
            *map(str, fleet.postgres.run(f"select {what}", fleet.store.rpartition("/")[2].partition("?")[0])),
        ]
    for member in crowd.members:
        shown = [member.view, member.is_attached, member.finished, member.tape.seq, len(member.tape.record)]
        acts = [(act.frame, act.answer) for act in getattr(member, "acts", []) if act.answer is None]
        said.append(f"{type(member).__name__}: {shown} {acts}")
    return "\n".join([*said, fleet.stderr])


def withstand(crowd: Crowd, fleet: Fleet, chance: Random) -> None:
    agents = {fleet.open(*FLAGS, dialect=dialect).agent: dialect for dialect in AGENTS}
    drivers = [Driver(crowd, View(id, dialect, settled=True), ACTS) for id, dialect in agents.items()]
    steady = [Watcher(crowd, View(id, *view)) for id in agents for view in VIEWS]
    watchers = [Watcher(crowd, View(chance.choice([*agents]), *chance.choice(VIEWS))) for _ in range(WATCHERS)]
    crowd.members = [*drivers, *steady, *watchers]

    faults = FleetFaults(crowd, fleet, chance, [*drivers, *watchers])
    for _ in range(FAULTS):
        upto = crowd.received + chance.randint(1, 100_000)
        crowd.run(lambda: crowd.received >= upto, quiet=0.1)  # noqa: B023
        faults.strike()
    faults.heal()
    crowd.run(lambda: all(driver.is_through for driver in drivers))
    settle(crowd, drivers)

    record = {}
    for view in {member.view for member in crowd.members}:
        fresh = Watcher(crowd, view)
        crowd.members.append(fresh)
        record[view] = fresh
    finish(crowd, crowd.members)
    for member in crowd.members:
        expected = record[member.view].tape.record
        assert bytes(member.tape.record) == bytes(expected), difference(member.tape.record, expected)
    depot = PostgresDepot(fleet.store)
    try:
        for driver in drivers:
            assert_sound(fleet, depot, driver, frames(record[driver.view].tape.record))
    finally:
        depot.close()


class FleetFaults(Faults):
    """What happens to a fleet besides."""

    def __init__(self, crowd: Crowd, fleet: Fleet, chance: Random, disturbed: list[Watcher]) -> None:
        super().__init__(crowd, fleet, chance, disturbed)
        self._fleet = fleet

    def strike(self) -> None:
        kinds = (
            *(self.leave, self.cut, self.stall, self.kill, self.stop),
            *(self.kill_worker, self.kill_worker, self.stop_worker, self.end_worker, self.kill_database),
        )
        fault = self._chance.choice(kinds)
        self.counts[fault.__name__] += 1
        fault()
        while len(self._standing) > 2:
            self._standing.pop(0)()

    def _worker(self) -> int:
        return self._chance.choice([*self._fleet.workers])

    def kill_worker(self) -> None:
        self._crowd.kills += 1  # What was under way may be unknown now.
        self._fleet.kill_worker(self._worker())
        self._fleet.add_worker("--sleep-after", "0.3")

    def stop_worker(self) -> None:
        self._crowd.kills += 1
        number = self._worker()
        self._fleet.stop_worker(number)
        self._standing.append(lambda: self._fleet.go_on_worker(number))

    def end_worker(self) -> None:
        self._crowd.kills += 1  # A shell command beside a run is cut off with its step.
        self.heal()
        self._standing.clear()
        assert self._fleet.end_worker(self._worker()) == 0
        self._fleet.add_worker("--sleep-after", "0.3")

    def kill_database(self) -> None:
        self._crowd.kills += 1
        self._fleet.postgres.kill()
        self._fleet.postgres.start()


def assert_sound(fleet: Fleet, depot: PostgresDepot, driver: Driver, told: list[Any]) -> None:
    """What was acknowledged is there, nothing was done twice, and each number has one epoch."""
    agent = driver.view.agent
    begun: Counter[str] = Counter()
    ended: Counter[str] = Counter()
    reader, last = Reader(), 0
    for row in all_rows(depot, agent):
        reader = Reader() if row.marked else reader
        for line in row.body.splitlines(keepends=True):
            said, happened = reader.read(line)
            if said.n:
                assert said.n > last
                last = said.n + len(happened) - 1
                begun.update(each.kind for each in happened if isinstance(each, JobStarted) and not each.taken_up)
                ended.update(each.kind for each in happened if isinstance(each, Settled))
    assert begun == ended
    if driver.view.settled:
        assert Counter(frame["type"] for frame in told)["agent_settled"] == ended["prompt"]
    shown = next(each for each in depot.shown()[0] if each.id == agent)
    assert not shown.parked, shown.parked
    summary = fleet.agents()[agent]
    session = b"\n".join(depot.sessions.read(summary["session_id"]).lines).decode()
    assert_kept(driver, told, session, effects(fleet), summary)


def all_rows(depot: PostgresDepot, agent: str) -> list[Any]:
    found: list[Any] = []
    while rows := depot.told(agent, found[-1].place if found else 0):
        found += rows
    return found
