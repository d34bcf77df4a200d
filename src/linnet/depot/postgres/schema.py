"""The tables of a depot in Postgres, and how they come to be those that this version needs.

Each step only adds, so that programs of before go on while it is made. `oldest` is the first version whose programs may
still use the store: each transaction looks, so that none goes on with what it does not understand.
"""

from typing import LiteralString

from psycopg import Connection, sql
from psycopg.errors import InsufficientPrivilege

from linnet.errors import SessionError

VERSION = 1
"""Of the tables that these programs need, and of what they write into them."""
_LOCK = 0x6C696E6E6574  # Whoever makes a step holds it.

STEPS: tuple[tuple[int, LiteralString], ...] = (
    (
        1,  # The first version whose programs may use what this step makes.
        """
        create schema if not exists linnet;

        create function linnet.now() returns bigint language sql volatile
            as $$ select (extract(epoch from clock_timestamp()) * 1000)::bigint $$;

        create table linnet.agents (
            id text primary key,
            number bigint generated always as identity,
            added bytea not null,
            record bytea not null,
            labels text[] not null,
            epoch bigint not null default 0,
            owner text not null default '',
            request text not null default '',
            until bigint not null default 0,
            lost boolean not null default false,
            losses integer not null default 0,
            moved boolean not null default false,
            done boolean not null default false,
            parked text not null default '',
            working boolean not null default false,
            last bigint not null default 0,
            place bigint not null default 0,
            asked bigint not null default 0,
            open bigint not null default 0,
            changed bigint not null default pg_current_xact_id()::text::bigint
        ) with (fillfactor = 70);
        create index agents_changed on linnet.agents (changed);
        create index agents_waiting on linnet.agents (number) where parked = '' and (working or open > 0);
        create index agents_owned on linnet.agents (owner) where owner <> '';

        create table linnet.told (
            agent text not null,
            place bigint not null,
            epoch bigint not null,
            first bigint not null,
            last bigint not null,
            before bigint not null,
            body bytea not null,
            marked boolean not null,
            answers bytea not null,
            time bigint not null,
            size bigint not null,
            primary key (agent, place)
        );
        create index told_marked on linnet.told (agent, place) include (before) where marked;

        create table linnet.commands (
            agent text not null,
            number bigint not null,
            client bytea not null,
            name bytea not null,
            kind text not null,
            dialect text not null,
            role text not null,
            owner text not null,
            line bytea not null,
            digest text not null,
            begun bigint not null default 0,
            answer bytea,
            answered_at bigint not null default 0,
            primary key (agent, number),
            unique (agent, client, name)
        );
        create index commands_open on linnet.commands (agent, number) where answer is null;
        create index commands_answered on linnet.commands (agent, answered_at) where answer is not null;

        create table linnet.effects (
            agent text not null,
            call bytea not null,
            tool text not null,
            state text not null,
            repeatable boolean not null,
            result bytea not null,
            epoch bigint not null,
            place bigint not null,
            primary key (agent, call)
        );

        create table linnet.sessions (
            key text primary key,
            number bigint generated always as identity,
            header bytea not null,
            epoch bigint not null default 1,
            head bigint not null
        );
        create index sessions_number on linnet.sessions (number);

        create table linnet.lines (
            key text not null,
            place bigint not null,
            line bytea not null,
            primary key (key, place)
        );
        """,
    ),
)
_VERSIONS = "create table linnet.schema (version integer not null, oldest integer not null)"


def prepare(connection: Connection, steps: tuple[tuple[int, LiteralString], ...] = STEPS) -> None:
    """Have the tables be there, as these steps make them. Raises SessionError where that may not be, psycopg.Error."""
    found = _version(connection)
    if found is not None and found[0] >= len(steps):
        check(found[1], len(steps))
        return
    try:
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(%s)", [_LOCK])
            found = _version(connection)  # Somebody may have been faster.
            at, oldest = found if found is not None else (0, 0)
            for needed, statements in steps[at:]:
                oldest = needed
                connection.execute(sql.SQL(statements))
            if at == 0:
                connection.execute(_VERSIONS)
                connection.execute("insert into linnet.schema values (%s, %s)", [len(steps), oldest])
            elif at < len(steps):
                connection.execute("update linnet.schema set version = %s, oldest = %s", [len(steps), oldest])
    except InsufficientPrivilege as error:
        raise SessionError(
            f"the store has no tables of version {len(steps)}, and {connection.info.user} may not make them "
            f"({error.diag.message_primary}); let its owner run: linnet store setup"
        ) from None


def check(oldest: int, version: int = VERSION) -> None:
    """Raise SessionError if programs of this version must not use the store any more."""
    if oldest > version:
        raise SessionError(
            f"the store is for programs of version {oldest} and newer by now, and this one's is {version}: "
            "install a newer linnet here"
        )


def _version(connection: Connection) -> tuple[int, int] | None:
    """Return the version of the tables and the oldest of programs that may use them; None if there are none."""
    there = connection.execute("select to_regclass('linnet.schema') is not null").fetchone()
    if there is None or not there[0]:
        return None
    found = connection.execute("select version, oldest from linnet.schema").fetchone()
    return None if found is None else (int(found[0]), int(found[1]))
