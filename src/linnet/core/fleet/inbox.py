"""Decides what becomes of a command that is asked, and where somebody who reads begins."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from linnet.core.fleet.changes import Change, Forgotten, Queued
from linnet.core.fleet.kept import Agent, Fleet
from linnet.core.fleet.records import Asked


def asked(
    fleet: Fleet, id: str, asked: Asked
) -> tuple[list[Change], Literal["new", "waits", "reused", "gone"] | bytes, int]:
    """Return what changes, what became of the command, and its number."""
    agent = fleet.agents.get(id)
    if agent is None:
        return [], "gone", 0
    number = agent.names.get((asked.client, asked.name))
    if number is None:
        number = agent.asked + 1
        return [Queued(id, number, asked)], "new", number
    known = agent.commands[number]
    if known.asked.digest != asked.digest:
        return [], "reused", number
    return [], "waits" if known.answer is None else known.answer, number


def mark(agent: Agent, number: int) -> int | None:
    """Return the place of the last marked record from which on everything after this number is told; None if there is
    none: it is not kept any more, or nothing was told yet.
    """
    places = [told.row.place for told in agent.rows if told.row.marked and told.before <= number]
    return places[-1] if places else None


class Weight(Struct, frozen=True):
    """A record, as far as that matters for how long it is kept."""

    place: int
    marked: bool
    time: int
    size: int


def forgotten(agent: str, rows: Sequence[Weight], before: int, most_bytes: int) -> list[Forgotten]:
    """Return what changes if nothing is kept that was told before this time, and at most so many bytes; but always what
    follows the last mark. `rows` are all records of the agent that are kept.
    """
    kept = sum(each.size for each in rows)  # From the place on that would be the first.
    keep = counted = 0
    for at, row in enumerate(rows):
        is_old = at > 0 and rows[at - 1].time < before
        if row.marked and (is_old or kept > most_bytes):
            kept -= sum(each.size for each in rows[counted:at])
            keep = counted = at
    return [Forgotten(agent, rows[keep].place)] if keep else []


def weighed(agent: Agent) -> list[Weight]:
    return [Weight(told.row.place, told.row.marked, told.row.time, told.size) for told in agent.rows]
