"""Decides who owns an agent. Times are the depot's own, in milliseconds: no other clock counts."""

from collections.abc import Iterable, Sequence

from linnet.core.fleet.changes import Change, Extended, LetGo, SetAside, Taken
from linnet.core.fleet.kept import Agent, Fleet
from linnet.core.fleet.records import Claim, Hold

MOST_LOSSES = 3
"""So many owners in a row an agent may lose at the same place before it is set aside."""


def owned(fleet: Fleet, hold: Hold) -> Agent | None:
    """Return the agent if the hold is the newest, whatever the clock says; None if the holder is to be refused."""
    agent = fleet.agents.get(hold.agent)
    return agent if agent is not None and agent.owner and agent.epoch == hold.epoch else None


def claimed(
    fleet: Fleet, worker: str, request: str, most: int, until: int, labels: Iterable[str], now: int
) -> tuple[list[Change], list[Claim]]:
    """Return what changes as a worker asks for agents, and those that it gets, at most `most`.

    The same request, asked again, gets what it got, as long as nobody else has that.
    """
    decided: list[Change] = []
    given: list[Claim] = []
    able = frozenset(labels)
    before = [each for each in fleet.agents.values() if (each.owner, each.request) == (worker, request)]
    for agent in before[:most]:
        decided.append(Extended(agent.id, until))
        given.append(_claim(agent, agent.epoch, agent.lost))
    for agent in fleet.agents.values():
        if len(given) >= most:
            break
        if not is_free(agent, now) or (agent.owner, agent.request) == (worker, request) or not agent.labels <= able:
            continue
        epoch = agent.epoch + 1
        losses = losses_with(agent) if agent.owner else agent.losses
        if losses >= MOST_LOSSES:
            decided.append(SetAside(agent.id, epoch, parked(agent)))
            continue
        decided.append(Taken(agent.id, epoch, worker, request, until, bool(agent.owner), losses))
        given.append(_claim(agent, epoch, bool(agent.owner)))
    return decided, given


def is_free(agent: Agent, now: int) -> bool:
    """Return whether there is something to do and nobody to do it."""
    unowned = not agent.owner or agent.until <= now
    return unowned and not agent.parked and (agent.working or agent.open > 0)


def losses_with(agent: Agent) -> int:
    """Return how many owners were lost at this place, with the one that is lost now.

    What was only told is told again, and does not count as another place. Nor does what was said, if it was lost in a
    call: the next owner says that nobody knows what became of it, asks the model, and may be lost in the same call.
    """
    in_call = any(each.state == "begun" and each.epoch == agent.epoch for each in agent.effects.values())
    elsewhere = agent.done or (agent.moved and not in_call)
    return 1 if elsewhere else agent.losses + 1


def parked(agent: Agent) -> str:
    """Return why it is set aside."""
    return (
        f"{MOST_LOSSES} workers in a row were lost while they had it, at the same place; the last one was {agent.owner}"
    )


def renewed(fleet: Fleet, worker: str, holds: Sequence[Hold], until: int) -> list[Extended]:
    """Return what changes as a worker says that it is still there: of each agent that is still its own."""
    agents = [owned(fleet, hold) for hold in holds]
    return [Extended(agent.id, until) for agent in agents if agent is not None and agent.owner == worker]


def released(fleet: Fleet, hold: Hold, record: bytes) -> list[Change]:
    """Return what changes as an owner lets go; nothing if it is none."""
    agent = owned(fleet, hold)
    return [] if agent is None else [LetGo(agent.id, record)]


def _claim(agent: Agent, epoch: int, lost: bool) -> Claim:
    return Claim(Hold(agent.id, epoch), agent.record, agent.working, agent.place, agent.last, lost)
