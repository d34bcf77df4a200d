"""Decides whether what an owner wants to write is written: all of it, or nothing."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from linnet.core.fleet import changes
from linnet.core.fleet.kept import Agent, Fleet, dated
from linnet.core.fleet.owning import owned
from linnet.core.fleet.records import Batch, Effect, Entries, Hold

Refusal: TypeAlias = Literal["not the owner", "another place", "another session", "begun before"]
"""Why nothing is written. The last one is a call that began once, and that nobody may begin again."""


def committed(fleet: Fleet, hold: Hold, batch: Batch, now: int) -> list[changes.Change] | Refusal:
    """Return what changes; nothing if it was written before."""
    agent = owned(fleet, hold)
    if agent is None:
        return "not the owner"
    if is_repeated(agent, hold, batch):
        return []
    row = batch.row
    if row.place != agent.place + 1 or row.last < agent.last or (row.first and not agent.last < row.first <= row.last):
        return "another place"
    if not all(_follows(fleet, entries) for entries in batch.entries):
        return "another session"
    if not _may_be_noted(agent, batch.effects):
        return "begun before"
    return [*_entries(batch), *_row(agent, hold, batch, now), *_standing(agent, batch)]


def is_repeated(agent: Agent, hold: Hold, batch: Batch) -> bool:
    """Return whether the last record that was written is this one, by the same owner."""
    if not agent.rows or batch.row.place != agent.place:
        return False
    last = agent.rows[-1]
    return last.epoch == hold.epoch and dated(last.row, 0) == dated(batch.row, 0)


def _entries(batch: Batch) -> list[changes.Change]:
    return [
        changes.Made(each.key, each.header, each.lines) if each.header else changes.Grew(each.key, each.lines)
        for each in batch.entries
    ]


def _row(agent: Agent, hold: Hold, batch: Batch, now: int) -> list[changes.Change]:
    place = batch.row.place
    decided: list[changes.Change] = [changes.Told(agent.id, hold.epoch, dated(batch.row, now), agent.last)]
    for number in batch.begun:
        if number in agent.commands:
            decided.append(changes.Begun(agent.id, hold.epoch, number))
    for answered in batch.row.answers:
        command = agent.commands.get(answered.command)
        if command is not None and command.answer is None:
            decided.append(changes.Answer(agent.id, place, answered))
    for effect in batch.effects:
        noted = Effect(effect.call, effect.tool, effect.state, effect.repeatable, effect.result, hold.epoch)
        decided.append(changes.Noted(agent.id, place, noted))
    return decided


def _standing(agent: Agent, batch: Batch) -> list[changes.Change]:
    decided: list[changes.Change] = []
    done = batch.working is False or bool(batch.row.answers) or any(each.state == "done" for each in batch.effects)
    if done or any(each.lines for each in batch.entries):
        decided.append(changes.Moved(agent.id, done))
    record = agent.record if batch.record is None else batch.record
    working = agent.working if batch.working is None else batch.working
    if (record, working) != (agent.record, agent.working):
        decided.append(changes.Became(agent.id, record, working))
    return decided


def _follows(fleet: Fleet, entries: Entries) -> bool:
    session = fleet.sessions.get(entries.key)
    if entries.header:
        return session is None and (entries.head, entries.epoch) == (0, 1)
    return session is not None and (session.head, session.epoch) == (entries.head, entries.epoch)


def _may_be_noted(agent: Agent, effects: Sequence[Effect]) -> bool:
    """Return whether none of these begins that has begun or ended, unless it is one that may be repeated."""
    known = agent.effects
    for effect in effects:
        before = known.get(effect.call)
        if effect.state == "begun" and before is not None and not (before.state == "begun" and before.repeatable):
            return False
        known[effect.call] = effect
    return True
