"""A depot in Postgres: what every depot must do, and what happens to it when its database or its owner stops."""

from collections.abc import Iterator
from contextlib import AbstractContextManager

import psycopg
import pytest

from linnet.depot.depot import Depot
from linnet.depot.postgres.postgres_depot import PostgresDepot
from linnet.depot.records import Batch
from linnet.errors import LogUnavailable
from linnet.store.factory import LogFactory
from linnet.testing.depot_contract import DepotContract
from linnet.testing.depots.steps import asked, told
from linnet.testing.log_contract import LogContract
from tests.postgres.cluster import Cluster
from tests.postgres.proxy import Proxy

# The database's clock stands still in these tests, and moves when they say so.
CLOCK = """
create table linnet.clock as select linnet.now() as moment;
create or replace function linnet.now() returns bigint language sql volatile
    as 'select moment + (random() * 0)::bigint from linnet.clock';
"""


class Depots:
    """Depots of one test, each in a database of its own, through a proxy."""

    def __init__(self, postgres: Cluster) -> None:
        self._postgres = postgres
        self.proxy = Proxy(postgres.port)
        self._made: list[PostgresDepot] = []
        self.url = ""

    def make(self, patience: float = 60.0) -> PostgresDepot:
        self.url = self._postgres.database()
        through = psycopg.conninfo.make_conninfo(self.url, host="127.0.0.1", port=self.proxy.port)
        depot = PostgresDepot(through, "a worker", patience=patience)
        depot.ids()
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(CLOCK)
        self._made.append(depot)
        return depot

    def pass_time(self, seconds: float) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("update linnet.clock set moment = moment + %s", [int(seconds * 1000)])

    def close(self) -> None:
        for depot in self._made:
            depot.close()
        self.proxy.close()


@pytest.fixture
def depots(postgres: Cluster) -> Iterator[Depots]:
    made = Depots(postgres)
    yield made
    made.close()


class TestDepot(DepotContract):
    @pytest.fixture(autouse=True)
    def _depots(self, depots: Depots) -> None:
        self.depots = depots

    def make(self) -> Depot:
        return self.depots.make()

    def pass_time(self, seconds: float) -> None:
        self.depots.pass_time(seconds)

    def losing(self, depot: Depot, message: int) -> AbstractContextManager[None]:
        return self.depots.proxy.cutting(message)


class TestSessions(LogContract):
    @pytest.fixture(autouse=True)
    def _depots(self, depots: Depots) -> None:
        self.depots = depots

    def make(self) -> LogFactory:
        return self.depots.make().sessions


def test_nothing_is_lost_when_the_database_is_killed(postgres: Cluster, depots: Depots) -> None:
    depot = depots.make()
    depot.add("a", b"{}")
    depot.ask("a", asked("1"))
    (claim,) = depot.claim("w", 1, lease=60)
    postgres.kill()
    with pytest.raises(LogUnavailable):
        depot.commands(claim.hold)
    postgres.start()
    assert [each.number for each in depot.commands(claim.hold)] == [1]


def test_a_network_that_swallows_everything_is_given_up(depots: Depots) -> None:
    depot = depots.make(patience=0.5)
    with depots.proxy.swallowing(), pytest.raises(LogUnavailable):
        depot.ids()
    assert depot.ids() == []


def test_an_owner_that_was_stopped_while_it_sent_something_does_not_keep_others_from_taking_over(
    depots: Depots,
) -> None:
    depot = depots.make()
    depot.add("a", b"{}")
    depot.ask("a", asked("1"))
    depot.claim("w", 1, lease=10)
    # As one that waits for the rest of what it is sent: to the database, that is no idle transaction.
    with psycopg.connect(depots.url, application_name="linnet:w") as held:
        held.execute("set idle_in_transaction_session_timeout = 0")
        held.execute("select from linnet.agents where id = 'a' for no key update")
        depots.pass_time(11)
        while not (claims := depot.claim("x", 1, lease=60)):
            pass
        assert claims[0].lost
        with pytest.raises(psycopg.Error):
            held.execute("select 1")


def test_an_owner_that_was_stopped_in_the_middle_does_not_keep_others_from_taking_over(depots: Depots) -> None:
    depot = depots.make()
    depot.add("a", b"{}")
    depot.ask("a", asked("1"))
    depot.claim("w", 1, lease=10)
    held = depot._connections.connect()  # As a worker that was stopped between what it loads and what it writes.
    held.execute("begin")
    held.execute("select from linnet.agents where id = 'a' for no key update")
    depots.pass_time(11)
    assert depot.claim("x", 1, lease=60) == []
    while not (claims := depot.claim("x", 1, lease=60)):
        pass
    with pytest.raises(psycopg.Error):
        held.execute("select 1")
    assert claims[0].lost
    depot.commit(claims[0].hold, Batch(row=told(1)))
