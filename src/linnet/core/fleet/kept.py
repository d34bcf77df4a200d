"""What a depot keeps, as a fold of changes."""

from collections.abc import Iterable
from typing import assert_never

from msgspec import Struct, field
from msgspec.structs import replace

from linnet.core.fleet import changes
from linnet.core.fleet.records import Asked, Effect, Row, Shown, Waiting


class Command(Struct):
    """A command in an inbox, with its answer once there is one."""

    number: int
    asked: Asked
    begun: int = 0
    answer: bytes | None = None
    answered_at: int = 0
    """The place of the record that has the answer."""


class Agent(Struct):
    """An agent, and all that it told and is asked.

    Invariants: places of records follow each other without a gap, and the first that is there is marked, or the very
    first. Numbers of events, numbers of commands and epochs only grow. What has an answer keeps it.
    """

    id: str
    added: bytes
    """The record that it was added with."""
    record: bytes
    labels: frozenset[str]
    epoch: int = 0
    owner: str = ""
    request: str = ""
    until: int = 0
    lost: bool = False
    losses: int = 0
    """How many owners were lost since something was done."""
    moved: bool = False
    """Something was said since the last owner came."""
    done: bool = False
    """Something was done since the last owner came."""
    parked: str = ""
    working: bool = False
    last: int = 0
    place: int = 0
    changed: int = 0
    asked: int = 0
    open: int = 0
    """How many commands are not answered."""
    rows: list[changes.Told] = field(default_factory=list)
    commands: dict[int, Command] = field(default_factory=dict)
    names: dict[tuple[str, str], int] = field(default_factory=dict)
    ledger: dict[str, changes.Noted] = field(default_factory=dict)

    @property
    def waiting(self) -> list[Waiting]:
        """Return the commands that are not answered, in order."""
        return [Waiting(each.number, each.asked, each.begun) for each in self.commands.values() if each.answer is None]

    @property
    def effects(self) -> dict[str, Effect]:
        return {call: noted.effect for call, noted in self.ledger.items()}

    @property
    def shown(self) -> Shown:
        return Shown(self.id, self.record, self.working, self.owner, self.last, self.parked)

    @property
    def first(self) -> int:
        """Return the place of the first record that is kept, or of the next."""
        return self.rows[0].row.place if self.rows else self.place + 1

    def told(self, after: int, most: int) -> list[Row]:
        """Return so many records after a place."""
        skipped = max(0, after + 1 - self.first)
        return [told.row for told in self.rows[skipped : skipped + most]]


class Session(Struct):
    """A session's header and lines, and the epoch of whoever owns it."""

    header: bytes
    lines: list[bytes]
    epoch: int = 1
    skipped: int = 0
    """So many lines come before those that are here: whoever decides may have been handed the end alone."""

    @property
    def head(self) -> int:
        """Return how many lines there are."""
        return self.skipped + len(self.lines)


class Fleet:
    """Everything that a depot keeps, or what somebody has to know of it to decide. It changes only by `apply`."""

    def __init__(self) -> None:
        self.agents: dict[str, Agent] = {}
        self.sessions: dict[str, Session] = {}
        self.changed = 0
        """Grows with each change of what an agent shows."""

    def apply(self, decided: Iterable[changes.Change]) -> None:
        """Make all of these changes. They were decided about what is here."""
        for change in decided:
            self._apply(change)

    def _apply(self, change: changes.Change) -> None:
        match change:
            case changes.Added(id, record, labels):
                self.agents[id] = Agent(id, record, record, labels)
                self._changes(self.agents[id])
            case changes.Removed(id):
                del self.agents[id]
            case changes.Made(key, header, lines):
                self.sessions[key] = Session(header, list(lines))
            case changes.Opened(key, epoch):
                self.sessions[key].epoch = epoch
            case changes.Grew(key, lines):
                self.sessions[key].lines += lines
            case changes.Discarded(key):
                del self.sessions[key]
            case changes.Taken() | changes.Extended() | changes.LetGo() | changes.SetAside():
                self._owned(self.agents[change.agent], change)
            case changes.Told() | changes.Became() | changes.Moved() | changes.Noted() | changes.Forgotten():
                self._told(self.agents[change.agent], change)
            case changes.Queued(id, number, asked):
                agent = self.agents[id]
                agent.asked, agent.open = number, agent.open + 1
                agent.commands[number] = Command(number, asked)
                agent.names[asked.client, asked.name] = number
            case changes.Begun(id, epoch, number):
                self.agents[id].commands[number].begun = epoch
            case changes.Answer(id, place, answered):
                command = self.agents[id].commands[answered.command]
                command.answer, command.answered_at = answered.line, place
                self.agents[id].open -= 1
            case _:
                assert_never(change)

    def _owned(self, agent: Agent, change: changes.Taken | changes.Extended | changes.LetGo | changes.SetAside) -> None:
        match change:
            case changes.Taken(_, epoch, worker, request, until, lost, losses):
                agent.epoch, agent.owner, agent.request, agent.until = epoch, worker, request, until
                agent.lost, agent.losses, agent.moved, agent.done = lost, losses, False, False
                self._changes(agent)
            case changes.Extended(_, until):
                agent.until = until
            case changes.LetGo(_, record):
                agent.owner, agent.request, agent.record, agent.losses = "", "", record, 0
                self._changes(agent)
            case changes.SetAside(_, epoch, why):
                agent.epoch, agent.owner, agent.request, agent.parked = epoch, "", "", why
                self._changes(agent)
            case _:
                assert_never(change)

    def _told(
        self,
        agent: Agent,
        change: changes.Told | changes.Became | changes.Moved | changes.Noted | changes.Forgotten,
    ) -> None:
        match change:
            case changes.Told(_, _, row):
                agent.rows.append(change)
                agent.place = row.place
                if row.last != agent.last:
                    agent.last = row.last
                    self._changes(agent)
            case changes.Became(_, record, working):
                agent.record, agent.working = record, working
                self._changes(agent)
            case changes.Moved(_, done):
                agent.moved, agent.done = True, agent.done or done
            case changes.Noted(_, _, effect):
                agent.ledger[effect.call] = change
            case changes.Forgotten(_, before):
                _forget(agent, before)
            case _:
                assert_never(change)

    def _changes(self, agent: Agent) -> None:
        self.changed += 1
        agent.changed = self.changed


def _forget(agent: Agent, before: int) -> None:
    agent.rows = [told for told in agent.rows if told.row.place >= before]
    for command in [each for each in agent.commands.values() if each.answer is not None and each.answered_at < before]:
        del agent.commands[command.number]
        del agent.names[command.asked.client, command.asked.name]
    if not agent.working:  # What is open may ask what became of a call that is told of later.
        agent.ledger = {call: noted for call, noted in agent.ledger.items() if noted.place >= before}


def dated(row: Row, now: int) -> Row:
    """Return the record as it is written at this moment."""
    return replace(row, time=now)
