"""What each change is in SQL: one statement, carried out in the transaction that holds what it was decided about."""

from collections.abc import Sequence
from typing import LiteralString, TypeAlias, assert_never

from msgspec.json import encode

from linnet.core.fleet import changes

Statement: TypeAlias = tuple[LiteralString, Sequence[object]]

_CHANGED: LiteralString = "changed = pg_current_xact_id()::text::bigint"
_ADDED: LiteralString = "insert into linnet.agents (id, added, record, labels) values (%s, %s, %s, %s)"
_REMOVED: LiteralString = """
with told as (delete from linnet.told where agent = %s), commands as (delete from linnet.commands where agent = %s),
    effects as (delete from linnet.effects where agent = %s)
delete from linnet.agents where id = %s
"""
_QUEUED: LiteralString = """
with queued as (
    insert into linnet.commands (agent, number, client, name, kind, dialect, role, owner, line, digest)
    values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
)
update linnet.agents set asked = %s, open = open + 1 where id = %s
"""
_TAKEN: LiteralString = f"""
update linnet.agents set epoch = %s, owner = %s, request = %s, until = %s, lost = %s, losses = %s, moved = false,
    done = false, {_CHANGED} where id = %s
"""
_EXTENDED: LiteralString = "update linnet.agents set until = %s where id = %s"
_LET_GO: LiteralString = f"""
update linnet.agents set owner = '', request = '', record = %s, losses = 0, {_CHANGED} where id = %s
"""
_SET_ASIDE: LiteralString = f"""
update linnet.agents set epoch = %s, owner = '', request = '', parked = %s, {_CHANGED} where id = %s
"""
_TOLD: LiteralString = f"""
with told as (
    insert into linnet.told (agent, place, epoch, first, last, before, body, marked, answers, time, size)
    values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
)
update linnet.agents set place = %s, last = %s, {_CHANGED} where id = %s
"""
_BEGUN: LiteralString = "update linnet.commands set begun = %s where agent = %s and number = %s"
_ANSWER: LiteralString = """
with answered as (update linnet.commands set answer = %s, answered_at = %s where agent = %s and number = %s)
update linnet.agents set open = open - 1 where id = %s
"""
_NOTED: LiteralString = """
insert into linnet.effects (agent, call, tool, state, repeatable, result, epoch, place)
values (%s, %s, %s, %s, %s, %s, %s, %s)
on conflict (agent, call) do update set tool = excluded.tool, state = excluded.state,
    repeatable = excluded.repeatable, result = excluded.result, epoch = excluded.epoch, place = excluded.place
"""
_BECAME: LiteralString = f"update linnet.agents set record = %s, working = %s, {_CHANGED} where id = %s"
_MOVED: LiteralString = "update linnet.agents set moved = true, done = done or %s where id = %s"
_FORGOTTEN: LiteralString = """
with told as (delete from linnet.told where agent = %s and place < %s),
    commands as (delete from linnet.commands where agent = %s and answer is not null and answered_at < %s)
delete from linnet.effects where agent = %s and place < %s
    and not (select working from linnet.agents where id = %s)
"""
_MADE: LiteralString = """
with made as (insert into linnet.sessions (key, header, head) values (%s, %s, %s))
insert into linnet.lines (key, place, line)
select %s, place - 1, line from unnest(%s::bytea[]) with ordinality as added (line, place)
"""
_OPENED: LiteralString = "update linnet.sessions set epoch = %s where key = %s"
_GREW: LiteralString = """
with grew as (update linnet.sessions set head = head + %s where key = %s returning head)
insert into linnet.lines (key, place, line)
select %s, head - %s + place - 1, line from grew, unnest(%s::bytea[]) with ordinality as added (line, place)
"""
_DISCARDED: LiteralString = """
with discarded as (delete from linnet.lines where key = %s)
delete from linnet.sessions where key = %s
"""


def statement(change: changes.Change) -> Statement:
    """Return what makes this change."""
    match change:
        case changes.Added(id, record, labels):
            return _ADDED, [id, record, record, sorted(labels)]
        case changes.Removed(id):
            return _REMOVED, [id] * 4
        case changes.Made(key, header, lines):
            return _MADE, [key, header, len(lines), key, list(lines)]
        case changes.Opened(key, epoch):
            return _OPENED, [epoch, key]
        case changes.Grew(key, lines):
            return _GREW, [len(lines), key, key, len(lines), list(lines)]
        case changes.Discarded(key):
            return _DISCARDED, [key, key]
        case changes.Taken() | changes.Extended() | changes.LetGo() | changes.SetAside():
            return _owned(change)
        case changes.Queued() | changes.Begun() | changes.Answer():
            return _asked(change)
        case changes.Told() | changes.Became() | changes.Moved() | changes.Noted() | changes.Forgotten():
            return _told(change)
        case _:
            assert_never(change)


def _owned(change: changes.Taken | changes.Extended | changes.LetGo | changes.SetAside) -> Statement:
    match change:
        case changes.Taken(id, epoch, worker, request, until, lost, losses):
            return _TAKEN, [epoch, worker, request, until, lost, losses, id]
        case changes.Extended(id, until):
            return _EXTENDED, [until, id]
        case changes.LetGo(id, record):
            return _LET_GO, [record, id]
        case changes.SetAside(id, epoch, why):
            return _SET_ASIDE, [epoch, why, id]
        case _:
            assert_never(change)


def _asked(change: changes.Queued | changes.Begun | changes.Answer) -> Statement:
    match change:
        case changes.Queued(id, number, it):
            fields = [it.client.encode(), it.name.encode(), it.kind, it.dialect, it.role, it.owner]
            return _QUEUED, [id, number, *fields, it.line, it.digest, number, id]
        case changes.Begun(id, epoch, number):
            return _BEGUN, [epoch, id, number]
        case changes.Answer(id, place, answered):
            return _ANSWER, [answered.line, place, id, answered.command, id]
        case _:
            assert_never(change)


def _told(change: changes.Told | changes.Became | changes.Moved | changes.Noted | changes.Forgotten) -> Statement:
    match change:
        case changes.Told(id, epoch, row, before):
            fields = [row.first, row.last, before, row.body, row.marked, encode(row.answers), row.time, change.size]
            return _TOLD, [id, row.place, epoch, *fields, row.place, row.last, id]
        case changes.Became(id, record, working):
            return _BECAME, [record, working, id]
        case changes.Moved(id, done):
            return _MOVED, [done, id]
        case changes.Noted(id, place, it):
            return _NOTED, [
                id,
                it.call.encode(),
                it.tool.replace("\0", ""),
                it.state,
                it.repeatable,
                it.result,
                it.epoch,
                place,
            ]
        case changes.Forgotten(id, before):
            return _FORGOTTEN, [id, before, id, before, id, before, id]
        case _:
            assert_never(change)
