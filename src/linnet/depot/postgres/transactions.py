"""Transactions in which the machine of `core.fleet` decides: what it has to know is loaded and locked, then written."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct
from psycopg import Pipeline

from linnet.core.fleet.changes import Change
from linnet.core.fleet.kept import Fleet
from linnet.depot.postgres.connections import Connections
from linnet.depot.postgres.locked_rows import Loading
from linnet.depot.postgres.schema import check
from linnet.depot.postgres.statements import statement
from linnet.errors import SessionError

T = TypeVar("T")


class Transactions:
    """Any thread may call."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def decided(
        self,
        load: Callable[[Loading], None],
        decide: Callable[[Fleet, int], tuple[Sequence[Change], T]],
        more: Callable[[Loading, Fleet], None] | None = None,
    ) -> T:
        """Load, decide at a moment by the database's clock, and make all changes or none. `more` loads what has to be
        known because of what was loaded. Raises what `decide` raises, LogUnavailable, SessionError.
        """
        with self._connections.connection() as connection, connection.pipeline() as pipeline:
            connection.execute("begin")
            loading = Loading(connection)
            fleet, now = self._loaded(loading, load, pipeline)
            if more is not None:
                more(loading, fleet)
                pipeline.sync()
                loading.read(fleet)
            changes, result = _tried(decide, fleet, now)
            for change in changes:
                connection.execute(*statement(change))
            connection.execute("commit")
            pipeline.sync()
        if isinstance(result, _Refused):  # The connection is none the worse for it.
            raise result.error
        return result

    def _loaded(self, loading: Loading, load: Callable[[Loading], None], pipeline: Pipeline) -> tuple[Fleet, int]:
        load(loading)
        moment = loading.send("select linnet.now(), oldest from linnet.schema")
        pipeline.sync()
        fleet = Fleet()
        loading.read(fleet)
        ((now, oldest),) = moment.fetchall()
        check(oldest)
        return fleet, now


class _Refused(Struct, frozen=True):
    error: SessionError


def _tried(
    decide: Callable[[Fleet, int], tuple[Sequence[Change], T]], fleet: Fleet, now: int
) -> tuple[Sequence[Change], T | _Refused]:
    try:
        return decide(fleet, now)
    except SessionError as error:
        return (), _Refused(error)
