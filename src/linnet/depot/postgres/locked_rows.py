"""Loads what has to be known to decide, with locks on what may change by it; the rest of the machine's world is absent.

Statements are sent before their answers are read (`Loading.send`): a decision costs one journey to the database, and
what it changes another.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, LiteralString, TypeAlias

from psycopg import Connection, Cursor

from linnet.core.fleet import changes
from linnet.core.fleet.kept import Agent, Command, Fleet, Session
from linnet.core.fleet.records import Answered, Asked, Effect, Row
from linnet.decoding import decoder_of

Send: TypeAlias = Callable[[LiteralString, Sequence[object]], Cursor[Any]]

AGENT: LiteralString = """
select id, added, record, labels, epoch, owner, request, until, lost, losses, moved, done, parked, working, last, place,
    asked, open from linnet.agents
"""
COMMAND: LiteralString = """
select number, client, name, kind, dialect, role, owner, line, digest, begun, answer, answered_at from linnet.commands
"""
EFFECT: LiteralString = "select call, tool, state, repeatable, result, epoch, place from linnet.effects"
TOLD: LiteralString = "select place, first, last, body, marked, answers, time, epoch, before from linnet.told"
_answers = decoder_of(tuple[Answered, ...])


def agent(row: Sequence[Any]) -> Agent:
    id, added, record, labels, *others, asked, open = row
    found = Agent(id, added, record, frozenset(labels), *others)
    found.asked, found.open = asked, open
    return found


def command(row: Sequence[Any]) -> Command:
    number, client, name, kind, dialect, role, owner, line, digest, begun, answer, at = row
    asked = Asked(
        client=client.decode(),
        name=name.decode(),
        kind=kind,
        dialect=dialect,
        role=role,
        owner=owner,
        line=line,
        digest=digest,
    )
    return Command(number, asked, begun, answer, at)


def effect(id: str, row: Sequence[Any]) -> changes.Noted:
    call, tool, state, repeatable, result, epoch, place = row
    return changes.Noted(id, place, Effect(call.decode(), tool, state, repeatable, result, epoch))


def told(id: str, row: Sequence[Any]) -> changes.Told:
    place, first, last, body, marked, answers, time, epoch, before = row
    return changes.Told(id, epoch, Row(place, first, last, body, marked, _answers.decode(answers), time), before)


class Loading:
    """What is loaded in one transaction. Every statement is sent at once, and its rows by `read`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._reads: list[Callable[[Fleet], None]] = []

    def send(self, statement: LiteralString, parameters: Sequence[object] = ()) -> Cursor[Any]:
        """Send a statement whose rows are in binary. Read them when the pipeline is synced."""
        return self._connection.execute(statement, parameters, binary=True)

    def agents(self, condition: LiteralString, parameters: Sequence[object]) -> None:
        """Load agents, and lock them until the transaction ends."""
        found = self.send(AGENT + condition, parameters)

        def read(fleet: Fleet) -> None:
            for row in found:
                each = agent(row)
                fleet.agents[each.id] = each

        self._reads.append(read)

    def commands(self, id: str, condition: LiteralString, parameters: Sequence[object]) -> None:
        found = self.send(f"{COMMAND} where agent = %s and {condition}", [id, *parameters])

        def read(fleet: Fleet) -> None:
            of = fleet.agents.get(id)
            if of is None:
                return
            for each in map(command, found):
                of.commands[each.number] = each
                of.names[each.asked.client, each.asked.name] = each.number

        self._reads.append(read)

    def effects(self, id: str, condition: LiteralString, parameters: Sequence[object]) -> None:
        found = self.send(f"{EFFECT} where agent = %s and {condition}", [id, *parameters])

        def read(fleet: Fleet) -> None:
            of = fleet.agents.get(id)
            if of is not None:
                of.ledger.update((noted.effect.call, noted) for noted in (effect(id, row) for row in found))

        self._reads.append(read)

    def told(self, id: str, place: int) -> None:
        """Load this one of an agent's records."""
        found = self.send(f"{TOLD} where agent = %s and place = %s", [id, place])

        def read(fleet: Fleet) -> None:
            of = fleet.agents.get(id)
            if of is not None:
                of.rows += [told(id, row) for row in found]

        self._reads.append(read)

    def sessions(self, keys: Iterable[str]) -> None:
        """Load sessions without their lines, and lock them until the transaction ends."""
        found = self.send(
            "select key, header, epoch, head from linnet.sessions where key = any(%s) order by key for no key update",
            [sorted(keys)],
        )

        def read(fleet: Fleet) -> None:
            for key, header, epoch, head in found:
                fleet.sessions[key] = Session(header, [], epoch, head)

        self._reads.append(read)

    def reads(self, read: Callable[[Fleet], None]) -> None:
        """Have this called with what was loaded, when the rows of other statements are read."""
        self._reads.append(read)

    def read(self, fleet: Fleet) -> None:
        """Add to this world what was loaded since the last call. The pipeline has to be synced."""
        for read in self._reads:
            read(fleet)
        self._reads = []
