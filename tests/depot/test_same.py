"""A depot in Postgres and one in memory decide the same, whatever is asked of them in whatever order."""

from collections.abc import Callable, Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from linnet.depot.depot import Depot
from linnet.depot.memory import MemoryDepot
from linnet.depot.postgres.postgres_depot import PostgresDepot
from linnet.depot.records import Answered, Asked, Batch, Effect, Entries, Hold, Row
from linnet.errors import SessionError
from linnet.testing.depots.steps import HEADER
from tests.depot.test_postgres import CLOCK
from tests.postgres.cluster import Cluster

START = 1_000_000
TABLES = "linnet.agents, linnet.told, linnet.commands, linnet.effects, linnet.sessions, linnet.lines"
agents = st.sampled_from(["a", "b"])
workers = st.sampled_from(["one", "two"])
names = st.sampled_from(["1", "2", "3"])
few = st.integers(0, 3)


class Both:
    """The same is asked of both, and both have to say the same."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.now = START
        self.postgres = PostgresDepot(url)
        self.postgres.ids()
        self.connection = psycopg.connect(url, autocommit=True)
        self.connection.execute(CLOCK)
        self.begin()

    def begin(self) -> None:
        self.connection.execute(f"truncate {TABLES} restart identity".encode())
        self.set_clock(START)
        self.memory = MemoryDepot(lambda: self.now)

    def set_clock(self, now: int) -> None:
        self.now = now
        self.connection.execute("update linnet.clock set moment = %s", [now])

    def __call__(self, act: Callable[[Depot], object]) -> object:
        one, other = _said(act, self.memory), _said(act, self.postgres)
        assert one == other
        return one

    def close(self) -> None:
        self.connection.close()
        self.postgres.close()
        self.memory.close()


@pytest.fixture
def both(postgres: Cluster) -> Iterator[Both]:
    made = Both(postgres.database())
    yield made
    made.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=25)
@given(data=st.data())
def test_both_say_the_same(both: Both, data: st.DataObject) -> None:
    both.begin()
    for agent in ("a", "b"):
        both(lambda depot, agent=agent: depot.add(agent, b"{}", ["gpu"] if agent == "b" else []))  # type: ignore[misc]
    for _ in range(data.draw(st.integers(1, 25))):
        act = data.draw(acts())
        if isinstance(act, int):
            both.set_clock(both.now + act)
        else:
            both(act)
        for agent in ("a", "b"):
            both(lambda depot, agent=agent: depot.told(agent, 0))  # type: ignore[misc]
            both(lambda depot, agent=agent: [depot.marked(agent, number) for number in range(6)])  # type: ignore[misc]
        both(lambda depot: (depot.shown()[0], depot.ids(), sorted(depot.sessions.keys())))  # type: ignore[attr-defined]


@st.composite
def acts(draw: st.DrawFn) -> "Callable[[Depot], object] | int":
    """Something to ask of a depot, or milliseconds that pass."""
    agent, hold = draw(agents), Hold(draw(agents), draw(st.integers(1, 4)))
    match draw(
        st.sampled_from(["ask", "claim", "commit", "commit", "commit", "release", "renew", "read", "drop", 400])
    ):
        case "ask":
            asked = Asked(client="c", name=draw(names), digest=draw(st.sampled_from(["x", "x", "y"])))
            return lambda depot: depot.ask(agent, asked)
        case "claim":
            worker, most, labels = draw(workers), draw(few), draw(st.sampled_from([[], ["gpu"]]))
            return lambda depot: depot.claim(worker, most, 1, labels)
        case "commit":
            batch = draw(batches())
            return lambda depot: depot.commit(hold, batch)
        case "release":
            return lambda depot: depot.release(hold, b"released")
        case "renew":
            worker = draw(workers)
            return lambda depot: depot.renew(worker, [hold], 1)
        case "read":
            return lambda depot: (depot.commands(hold, 0), depot.effects(hold, ["x", "y"]))
        case "drop":
            milliseconds, size = draw(st.sampled_from([100, 500, 5000])), draw(st.integers(0, 20))
            return lambda depot: depot.drop(milliseconds, size)
        case passed:
            assert isinstance(passed, int)
            return passed


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    place = draw(st.integers(1, 6))
    events = draw(st.booleans())
    answers = [Answered(number, "c", str(number), b"answer") for number in draw(st.lists(few, max_size=2, unique=True))]
    row = Row(
        place, place if events else 0, place if events else place - 1, b"x" * place, place in (1, 3, 5), tuple(answers)
    )
    keys = draw(st.lists(st.sampled_from(["s", "t"]), max_size=2, unique=True))
    return Batch(
        row=row,
        entries=[
            draw(st.sampled_from([Entries(key, 1, 0, [b"1"], HEADER), Entries(key, 1, 1, [b"2"])])) for key in keys
        ],
        begun=draw(st.lists(few, max_size=2)),
        effects=draw(
            st.lists(
                st.builds(
                    Effect,
                    st.sampled_from(["x", "y"]),
                    st.just("bash"),
                    st.sampled_from(["begun", "done"]),
                    st.booleans(),
                ),
                max_size=2,
            )
        ),
        record=draw(st.sampled_from([None, b"2"])),
        working=draw(st.sampled_from([None, True, False])),
    )


def _said(act: Callable[[Depot], object], depot: Depot) -> object:
    try:
        return act(depot)
    except SessionError as error:
        return type(error), str(error)
