"""How an agent is opened by its owner, and what becomes of it where that cannot be done."""

import time
from collections.abc import Sequence

from linnet.core.fleet.records import Claim
from linnet.core.loop.left_open import closing_events
from linnet.core.messages import Usage
from linnet.depot.depot import Depot
from linnet.depot.depot_sessions import DepotSessions
from linnet.errors import LinnetError
from linnet.fleet import before
from linnet.fleet.batching import Standing
from linnet.fleet.committer import Committer
from linnet.fleet.fleet_record import spelled
from linnet.fleet.inbox_reader import refused
from linnet.fleet.spoken import Dialects
from linnet.serve.agents.recipe import OpenRequest, Recipe, again, understood
from linnet.serve.agents.record import Record
from linnet.serve.agents.summary import SummaryFold


def recipe(record: Record, new: str, sessions: DepotSessions, defaults: Sequence[str]) -> Recipe:
    """Return how an agent's session is opened: as it was asked for, the first time. `new` is the id of a session that
    is new, empty if the agent was open before. Raises LinnetError.
    """
    if new:
        request = OpenRequest(
            dialect=record.dialect, cwd=record.cwd or None, flags=record.words, program=record.program
        )
        made = understood(request, defaults)
        if not any(made.flags.config.get(name) for name in ("session", "resume", "fork", "session_id")):
            made.flags.config["session_id"] = new
        return made
    id = record.summary.session_id
    return again(record, id if id and sessions.exists(id) else None, defaults, None)


def give_up(depot: Depot, claim: Claim, record: Record, fold: SummaryFold, error: LinnetError) -> None:
    """End what is open of an agent that cannot be opened, refuse all commands, and let go of it. Raises LinnetError."""
    told = before.opening(depot, claim)
    text = claim.record
    committer = Committer(depot, claim, told, _now, lambda fault: None)
    with committer.together():
        closing = closing_events(told.kept, Usage(), (), str(error), _now())
        if closing:
            fold.apply(closing)
            committer.happened(closing)
            record.working = False
            text = spelled(record, 0)
        committer.add(Standing(text, False))
        dialects = Dialects()
        for waiting in depot.commands(claim.hold):
            committer.add(refused(waiting, error, dialects))
    committer.flush()
    depot.release(claim.hold, text)


def _now() -> int:
    return time.time_ns() // 1_000_000
