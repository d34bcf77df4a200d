"""Listens to an agent's session: keeps its events, its summary and what is to be written down of it."""

from collections.abc import Sequence
from typing import Protocol

from linnet.core import events
from linnet.errors import LinnetError
from linnet.runtime.listener import Listener
from linnet.runtime.session import Session
from linnet.runtime.settings.settings import Settings
from linnet.serve.agents.record import Record
from linnet.serve.agents.summary import MATTERS, SummaryFold

_KEPT = frozenset(
    (
        events.JobStarted,
        events.Settled,
        events.SessionEntered,
        events.SessionNamed,
        events.ModelSet,
        events.ThinkingSet,
        events.SteeringModeSet,
        events.FollowUpModeSet,
        events.AutoCompactionSet,
        events.AutoRetrySet,
        events.Cleared,
    )
)
"""Kinds of events after which the record is written."""
_HEARD = _KEPT | MATTERS | {events.Navigated, events.UserSaid, events.StepEnded}


class Appended(Protocol):
    """Where events go."""

    def append(self, batch: Sequence[events.Event]) -> object:
        """Take these events, in the order in which they happened. Never raises."""


class Recorded(Protocol):
    """The agent that a recorder keeps: its record, and who is to know what has happened. Nothing here blocks."""

    record: Record
    fold: SummaryFold
    stays_awake: bool

    def count(self, events: Sequence[events.Event], cost: float) -> None: ...
    def keep(self) -> None: ...
    def end_step(self) -> None: ...
    def begun(self) -> None: ...
    def tell_changed(self) -> None: ...
    def rest(self) -> None: ...
    def warn(self, sentence: str) -> None: ...


class Recorder(Listener):
    """Hears under the session's lock, so that what it writes is in the order of the changes."""

    def __init__(self, agent: Recorded, log: Appended) -> None:
        self._agent = agent
        self._log = log

    def opened(self, session: Session, settings: Settings) -> None:
        """Take note of the session that was opened."""
        agent = self._agent
        shown = agent.record.summary
        before = agent.fold.spent
        agent.fold.enter(session.id, session.spent)
        agent.count((), agent.fold.spent - before)
        shown.session_file, shown.name = session.file, session.name or shown.name
        state = session.model
        shown.model, shown.provider = state.id, state.provider
        agent.record.cwd = shown.cwd = settings.cwd
        agent.record.saved = settings.sessions.saves
        agent.stays_awake = not settings.sessions.saves

    def hear(self, happened: Sequence[events.Event]) -> None:
        agent = self._agent
        self._log.append(happened)
        kinds = set(map(type, happened))
        if _HEARD.isdisjoint(kinds):
            agent.count(happened, 0.0)
            return
        before = agent.fold.spent
        agent.fold.apply(happened)
        agent.count(happened, agent.fold.spent - before)
        for event in happened:
            self._note(event)
        if events.StepEnded in kinds:
            agent.end_step()
        if not _KEPT.isdisjoint(kinds):
            agent.keep()
        agent.tell_changed()
        if events.JobStarted in kinds:
            agent.begun()

    def _note(self, event: events.Event) -> None:
        record = self._agent.record
        match event:
            case events.ModelSet(model):
                record.chosen.model = f"{model.provider}/{model.id}"
            case events.ThinkingSet(level):
                record.chosen.reasoning = level
            case events.SteeringModeSet(mode):
                record.chosen.steering_mode = mode
            case events.FollowUpModeSet(mode):
                record.chosen.follow_up_mode = mode
            case events.AutoCompactionSet(enabled):
                record.chosen.auto_compaction = enabled
            case events.AutoRetrySet(enabled):
                record.chosen.retry_runs = enabled
            case events.Cleared():
                record.cleared = True
            case events.Navigated():
                self._agent.stays_awake = True  # Where it stands is in no file before something is said there.
            case events.UserSaid():
                record.cleared = False
                self._agent.stays_awake = not record.saved
            case events.SessionEntered():
                record.cleared = False
            case _:
                pass

    def warned(self, sentence: str) -> None:
        self._agent.warn(sentence)

    def broke(self, error: LinnetError) -> None:
        self._agent.warn(str(error))

    def idle(self) -> None:
        self._agent.rest()
