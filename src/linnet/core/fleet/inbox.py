"""Decides what becomes of a command that is asked, and where somebody who reads begins."""

from typing import Literal

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
    found = None
    before = None  # The number of the last event before a record.
    for told in agent.rows:
        row = told.row
        if before is None:
            before = row.first - 1 if row.first else row.last
        if row.marked and before <= number:
            found = row.place
        before = row.last
    return found


def forgotten(agent: Agent, before: int, most_bytes: int) -> list[Forgotten]:
    """Return what changes if nothing is kept that was told before this time, and at most so many bytes; but always what
    follows the last mark.
    """
    sizes = [len(told.row.body) + sum(len(each.line) for each in told.row.answers) for told in agent.rows]
    keep = 0
    for at, told in enumerate(agent.rows):
        is_old = at > 0 and agent.rows[at - 1].row.time < before
        if told.row.marked and (is_old or sum(sizes[keep:]) > most_bytes):
            keep = at
    return [Forgotten(agent.id, agent.rows[keep].row.place)] if keep else []
