"""One agent that a worker owns: its session, what it decides on its way to the depot, and the commands that wait."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from threading import Event as Signal
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from linnet.core import commands
from linnet.core.events import Event, JobStarted, QuestionAsked, ReplyEnded, SessionEntered, Settled, ToolReturned
from linnet.core.fleet.records import Answered, Claim
from linnet.core.left_off import LeftOff, left_off
from linnet.core.loop.opening import Opening
from linnet.depot.depot import Depot, Fenced
from linnet.depot.depot_sessions import DepotSessions
from linnet.errors import ConfigError, LinnetError, LogUnavailable, SessionError
from linnet.fleet import before
from linnet.fleet.batching import Standing
from linnet.fleet.beginning import give_up, recipe
from linnet.fleet.committed_logs import CommittedLogs
from linnet.fleet.committer import Committer
from linnet.fleet.fleet_record import read, spelled
from linnet.fleet.inbox_reader import InboxReader
from linnet.fleet.known_calls import known_calls, names
from linnet.fleet.ledger import Ledger
from linnet.logs import warn
from linnet.runtime.error_report import as_error, hand_over
from linnet.runtime.requester import Requester
from linnet.serve.agents import recipe as recipes
from linnet.serve.agents.cut_off import end
from linnet.serve.agents.recorder import Recorder
from linnet.serve.agents.summary import MATTERS, SummaryFold

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel
    from linnet.runtime.session import Session

RESTS = Answered(0, "", "rests", b"")
"""Stands among what is told where nothing runs any more, and nothing waits to run."""
MOST_BETWEEN = 0.25  # Seconds, in which lists show an agent as it was.


class Terms(Struct, frozen=True):
    """How a worker has its agents run."""

    environ: Mapping[str, str]
    defaults: Sequence[str] = ()
    sleep_after: float = 10.0
    own_process: bool = False
    """Nothing but linnet runs in this process."""
    roots: Sequence[str] = ()
    """Real paths of folders in which, or below which, agents may work; none is everywhere."""


class OwnedAgent:
    """Invariant: what is told, written and answered is committed in the order in which it was decided."""

    def __init__(self, depot: Depot, claim: Claim, terms: Terms, gone: "Callable[[OwnedAgent], None]") -> None:
        """`gone` is called once, when nothing of it is left in this process. Raises SessionError."""
        found = read(claim.record)
        self.hold = claim.hold
        self.record = found.record
        self.stays_awake = False
        self.fold = SummaryFold(self.record.summary, self._now, self.record.spent)
        self._depot = depot
        self._claim = claim
        self._terms = terms
        self._gone = gone
        self._began = found.began
        self._new = found.session if found.new else ""
        self._committer: Committer | None = None
        self._opening = Opening()  # Of all that was decided, committed or not.
        self._ledger: Ledger | None = None
        self._session: Session | None = None
        self._inbox: InboxReader | None = None
        self._lock = Lock()  # Guards the next.
        self._leaving = False
        self._ended = Signal()
        self._handing_over = False
        self._shown_at = 0.0
        self._expects = False  # Questions of an earlier owner are asked again.
        self.idle_since = monotonic()

    # What the worker has done with it.

    def begin(self) -> None:
        """Open its session, go on with what was left off, and then with commands, in a thread. Raises LinnetError."""
        hand_over("linnet-own", self._open)

    def poke(self) -> None:
        """Look for commands. Never blocks."""
        inbox = self._inbox
        if inbox is not None:
            inbox.poke()

    def rests(self) -> bool:
        """Return whether nothing of it is used, and has not been for a while."""
        session, inbox = self._session, self._inbox
        if session is None or inbox is None or inbox.at_work or self.stays_awake:
            return False
        return monotonic() - self.idle_since >= self._terms.sleep_after and session.at_rest

    def let_go(self) -> None:
        """Close the session, and own the agent no more: it sleeps. Blocks."""
        session = self._session
        if session is None or not session.at_rest or not self._leave():
            return
        self._release(working=not session.at_rest)  # If something came meanwhile, another owner sees to that.

    def hand_over(self, *, at_once: bool = False) -> None:
        """Have somebody else go on with it, as soon as the step under way has ended, or at once. Never blocks."""
        self._handing_over = True
        session = self._session
        waits = self.record.summary.state in ("waiting", "retrying")
        if at_once or session is None or not session.busy or waits:
            self._leave_in_a_thread()

    def drop(self, error: LinnetError) -> None:
        """Stop everything that it does, and write nothing of it any more: somebody else may own it. Never blocks."""
        if self._committer is not None:
            self._committer.abandon(error)
        if not self._leave():
            return
        in_a_thread(self._close)

    # What its recorder calls, with the session's lock held.

    def append(self, happened: Sequence[Event]) -> None:
        """Take what has happened, before anything else is made of it."""
        committer, ledger = self._committer, self._ledger
        assert committer is not None
        assert ledger is not None
        for event in happened:
            match event:
                case ReplyEnded(message, id=id):
                    ledger.replied(id, message)
                case ToolReturned(result):
                    ledger.end(result.call_id)
                case JobStarted() if not event.taken_up:
                    self._began = committer.head + 1
                case Settled() | SessionEntered():
                    self._began = 0
                case _:
                    pass
        self._opening.apply(happened)
        committer.happened(happened)
        if self._expects and any(isinstance(event, QuestionAsked) for event in happened):
            self.poke()  # The answer may be there already.

    def keep(self) -> None:
        """Write down how it is."""
        assert self._committer is not None
        self._shown_at = monotonic()
        self.record.working, self.record.spent = self.fold.working, self.fold.spent
        self._committer.add(Standing(spelled(self.record, self._began), self.fold.working))

    def show(self) -> None:
        """Write down how lists show it, if that was not done a moment ago."""
        if monotonic() - self._shown_at > MOST_BETWEEN:
            self.keep()

    def count(self, events: Sequence[Event], cost: float) -> None:
        """Do nothing: what agents cost is counted where they are listed."""

    def end_step(self) -> None:
        if self._handing_over and self._committer is not None:
            self._committer.seal()  # Here, and not when a thread comes to it: the next step is somebody else's.
            self._leave_in_a_thread()

    def begun(self) -> None:
        """Do nothing: answers are committed with what they answer."""

    def tell_changed(self) -> None:
        """Do nothing: whoever shows it is told by the depot."""

    def rest(self) -> None:
        self.idle_since = monotonic()
        self.keep()
        assert self._committer is not None
        self._committer.add(RESTS)
        self.poke()
        session = self._session
        if self._expects and session is not None:
            self._expects = False
            in_a_thread(session.expect_no_more)

    def warn(self, sentence: str) -> None:
        warn(__name__, f"agent {self.hold.agent}: {sentence}")

    def together(self) -> AbstractContextManager[None]:
        """Return what has what is decided within be committed together."""
        return nullcontext() if self._committer is None else self._committer.together()

    def pace(self, cancel: "Cancel") -> None:
        if self._committer is not None:
            self._committer.pace(cancel)

    @property
    def is_behind(self) -> bool:
        return self._committer is not None and self._committer.is_behind

    # How it begins.

    def _open(self) -> None:
        try:
            session, committer = self._begun()
        except LogUnavailable:  # That is not the agent's fault.
            self._ended.wait(0.2)
            if not self._leaving:
                in_a_thread(self._open)
            return
        except Exception as fault:
            self._failed(as_error(fault, "an agent could not be opened"))
            return
        with self._lock:
            self._session = session
            self._inbox = InboxReader(self._depot, self.hold, committer, session, self._live, self.drop)
            leaves = self._leaving
        if leaves:  # Meanwhile; nothing of it was there to be closed.
            self._inbox.stop()
            session.stop()
            session.close()
            return
        self.idle_since = monotonic()
        self.poke()

    def _begun(self) -> "tuple[Session, Committer]":
        """Return the session, which goes on with what was left off, and what commits it. Raises LinnetError."""
        self._opening = before.opening(self._depot, self._claim)
        told = before.opening(self._depot, self._claim)
        self._committer = committer = Committer(self._depot, self._claim, told, self._now, self._lost)
        self._ledger = Ledger(committer)
        left = self._left_off()
        session = self._opened(committer, self._ledger)
        if self._claim.working or committer.opened:
            self._go_on(session, left)
        return session, committer

    def _opened(self, committer: Committer, ledger: Ledger) -> "Session":
        sessions = self._depot.sessions
        assert isinstance(sessions, DepotSessions)
        made = recipe(self.record, self._new, sessions, self._terms.defaults)
        logs = CommittedLogs(committer, sessions)
        factory = recipes.factory_of(made, self._terms.environ, logs, own_process=self._terms.own_process)
        settings = factory.first()
        self._check_folder(settings.cwd)
        recorder = OwnedRecorder(self)
        session = factory.open(settings, [recorder], answerable=True, around=ledger)
        recorder.opened(session, settings)
        self.stays_awake = False
        self._new = ""
        if self.record.cleared:
            session.submit(commands.Clear(), Requester())
        return session

    def _live(self) -> tuple[int, list[Event]]:
        """Return the number of the last event, and what an encoder has to skip to go on after it. While it is still."""
        assert self._committer is not None
        return self._committer.head, self._opening.kept

    def _check_folder(self, cwd: str) -> None:
        """Raise ConfigError if this worker lets no agent work there."""
        roots = self._terms.roots
        if roots and not any(os.path.commonpath([root, os.path.realpath(cwd)]) == root for root in roots):
            raise ConfigError(f"agents may not work in {cwd} here; --root names the folders in which they may")

    def _left_off(self) -> LeftOff | None:
        """Return where the open prompt was left off; None if there is none, or nobody knows any more."""
        told = before.since(self._depot, self._claim, self._began) if self._claim.working and self._began else None
        found = None if told is None else left_off(told)
        if told is None or found is None:
            return None
        calls = names(found, told)
        return known_calls(found, told, calls, self._depot.effects(self.hold, calls) if calls else {})

    def _go_on(self, session: "Session", left: LeftOff | None) -> None:
        """Go on with the prompt that was left off; end what cannot be gone on with."""
        committer = self._committer
        assert committer is not None
        if left is not None:
            self._expects = bool(left.questions)
            session.expect(left.questions)
            session.submit(commands.TakeUp(left_off=replace(left, questions=())), Requester())
            return
        with session.still:
            opened = committer.opened
            if opened:
                end(session, opened, self._note, self._now())
        self.keep()

    def _note(self, happened: Sequence[Event]) -> None:
        assert self._committer is not None
        self._opening.apply(happened)
        self._committer.happened(happened)
        self.fold.apply(happened)

    # How it ends.

    def _lost(self, error: LinnetError) -> None:
        """Take note that nothing can be committed any more."""
        if not isinstance(error, Fenced):
            self.warn(str(error))
        self.drop(error)

    def _failed(self, error: LinnetError) -> None:
        """Take note that it could not be opened: whoever waits for it is told why, and nothing runs any more."""
        self._leave()
        if not isinstance(error, Fenced | LogUnavailable):
            self.warn(f"it could not be opened: {error}")
            try:
                give_up(self._depot, self._claim, self.record, self.fold, error)
            except LinnetError as fault:
                self.warn(str(fault))
        if self._session is not None:
            self._session.close()
        self._end()

    def _leave(self) -> bool:
        """Return whether this is the first who has it leave."""
        with self._lock:
            first, self._leaving = not self._leaving, True
        if self._inbox is not None:
            self._inbox.stop()
        return first

    def _leave_in_a_thread(self) -> None:
        if self._leave():
            in_a_thread(lambda: self._release(working=self.fold.working))

    def _release(self, *, working: bool) -> None:
        """Commit all that was decided, write nothing of what the end of the process decides, and let go."""
        committer, session = self._committer, self._session
        record = None
        try:
            if committer is not None:
                if not working and session is not None and not session.busy:
                    session.close()
                with nullcontext() if session is None else session.still:
                    committer.seal()  # Between two changes.
                committer.flush()
                record = committer.finish(SessionError("somebody else goes on with the agent"))
            self._depot.release(self.hold, record or self._claim.record)
        except LinnetError as error:
            if not isinstance(error, Fenced):
                self.warn(str(error))
        finally:  # Or else it would be owned, by nobody who does anything, for ever.
            self._close()

    def _close(self) -> None:
        session = self._session
        if session is not None:
            session.stop()
            session.close()
        self._end()

    def _end(self) -> None:
        if not self._ended.is_set():
            self._ended.set()
            self._gone(self)

    @staticmethod
    def _now() -> int:
        return time.time_ns() // 1_000_000


class OwnedRecorder(Recorder):
    """Hears under the session's lock: what belongs together is committed together."""

    def __init__(self, agent: OwnedAgent) -> None:
        super().__init__(agent, agent)
        self._owned = agent

    def pace(self, cancel: "Cancel") -> None:
        self._owned.pace(cancel)

    def is_behind(self) -> bool:
        return self._owned.is_behind

    def hear(self, happened: Sequence[Event]) -> None:
        with self._owned.together():
            super().hear(happened)
            if not MATTERS.isdisjoint(map(type, happened)):
                self._owned.show()


def in_a_thread(act: Callable[[], None]) -> None:
    """Call this in a thread, or here if the system gives none."""
    try:
        hand_over("linnet-leave", act)
    except LinnetError:
        act()
