"""Where work waits while extensions are loaded, or are asked whether a move may happen; everything else is served."""

from collections import deque
from collections.abc import Callable
from itertools import islice
from threading import Thread
from typing import TypeAlias

from msgspec import Struct

from linnet.core import commands
from linnet.core.hooks import Hook, SessionBranching, SessionSwitching
from linnet.errors import BadInput, Cancelled, Closed, LinnetError
from linnet.runtime.cancel import CancelToken
from linnet.runtime.extending import Extending
from linnet.runtime.fault import as_error, start
from linnet.runtime.jobs import SHUTTING_DOWN, Jobs
from linnet.runtime.requester import Requester

AT_WORK = "Extensions are read again between runs; wait for the last event of this one, or abort it."
Ordered: TypeAlias = commands.Work | commands.RunCommand | commands.GetCommands | commands.Reload
"""What keeps its order, and needs to know the extensions."""


class Waiting(Struct, frozen=True):
    number: int
    command: Ordered
    requester: Requester
    may_wait: bool


class Door:
    """Invariants: commands pass in the order they came, one at a time; each of them passes, or is answered here.

    What passes at once does so in the thread of whoever brings it. What has to wait gets a thread, which sees to those
    that come meanwhile, too.
    """

    def __init__(
        self,
        extending: Extending,
        jobs: Jobs,
        passing: Callable[[Waiting], None],
        before_reload: Callable[[], None],
        broke: Callable[[LinnetError], None],
    ) -> None:
        """`passing` carries out a command that may pass; it may raise LinnetError. `broke` is told why none will."""
        self._extending = extending
        self._jobs = jobs
        self._lock = jobs.lock
        self._pass = passing
        self._waiting: deque[Waiting] = deque()
        self._passing: Waiting | None = None  # The one that is on its way through.
        self._seen_to = False  # By some thread.
        self._asking: CancelToken | None = None
        self._doomed: set[int] = set()
        self._closed = False
        self._before_reload = before_reload
        self._broke = broke
        self._shut: LinnetError | None = None  # Why nobody passes any more.
        self._shutting = False  # Those who waited are being told.

    @property
    def busy(self) -> bool:
        """Whether anybody waits here, or is on the way through. That extensions are being loaded keeps nobody."""
        return self._passing is not None or bool(self._waiting) or self._shutting

    def submit(self, waiting: Waiting) -> None:
        """Never raises."""
        with self._lock:
            refusal = Closed() if self._closed else self._shut
            if refusal is None:
                self._waiting.append(waiting)
                if self._seen_to:
                    return
                self._seen_to = True
        if refusal is not None:
            waiting.requester.refused(refusal)
            return
        self._see_to_all(may_block=False)

    def begin(self) -> None:
        """See that extensions are loaded, before anybody needs them."""
        with self._lock:
            if self._seen_to or self._closed or self._shut is not None:
                return
            self._seen_to = True
        self._see_to_all(may_block=False)

    def abort(self) -> list[Callable[[], None]]:
        """What extensions are being asked about does not happen; or else the first that waits is aborted as it begins,
        unless something runs. Called under the session's lock; returns what is left to be done without it.
        """
        if self._asking is not None:
            return [self._asking.set]
        if not self._jobs.active and not self._doomed:
            jobs = (each for each in self._here if isinstance(each.command, commands.Prompt | commands.Compact))
            for first in islice(jobs, 1):
                self.doom(first.number)
        return []

    def is_doomed(self, number: int) -> bool:
        """Whether it was aborted before it got here. Called under the session's lock."""
        return number in self._doomed

    def doom(self, number: int) -> bool:
        """Whether this one waits here: it is aborted as it begins. Called under the session's lock."""
        found = any(each.number == number for each in self._here)
        if found:
            self._doomed.add(number)
            self._extending.hurry()
        return found

    @property
    def _here(self) -> list[Waiting]:
        return [*([self._passing] if self._passing is not None else ()), *self._waiting]

    def close(self) -> None:
        """Refuse what waits, and end what is asked. Idempotent."""
        with self._lock:
            self._closed = True
            refused, self._waiting = list(self._waiting), deque()
            asking = self._asking
        self._extending.hurry()
        for each in refused:
            each.requester.refused(Closed(SHUTTING_DOWN))
        if asking is not None:
            asking.set()

    def _see_to_all(self, *, may_block: bool) -> None:
        """Until nobody waits."""
        while True:
            if not self._extending.ready:
                if not may_block:
                    self._hand_over()
                    return
                try:
                    self._extending.load(unless=self._next_is_doomed)
                except Exception as fault:
                    self._shut_for_good(as_error(fault, "extensions could not be loaded"))
                    return
            with self._lock:
                if not self._waiting:
                    self._seen_to = False
                    if may_block:
                        self._jobs.look_idle()  # Somebody may wait for that, and nothing else will tell.
                    return
                has_to_wait = self._blocks(self._waiting[0]) and not may_block
                if not has_to_wait:
                    self._passing = self._waiting.popleft()
            if has_to_wait:
                self._hand_over()
                return
            self._see_to(self._passing)

    def _next_is_doomed(self) -> bool:
        """Called under the session's lock."""
        return bool(self._waiting) and self._waiting[0].number in self._doomed

    def _shut_for_good(self, error: LinnetError) -> None:
        """Tell everybody who waits, and then that it is over: whoever ends the process for it has told them all."""
        with self._lock:
            self._shut, self._shutting = error, True
            refused, self._waiting = list(self._waiting), deque()
        for each in refused:
            each.requester.refused(error)
        self._broke(error)
        with self._lock:
            self._shutting = self._seen_to = False
            self._jobs.look_idle()

    def _hand_over(self) -> None:
        try:
            start(Thread(target=self._see_to_all, kwargs={"may_block": True}, name="linnet-door", daemon=True))
        except LinnetError as error:
            with self._lock:
                refused, self._waiting = list(self._waiting), deque()
                self._seen_to = False
            for each in refused:
                each.requester.refused(error)

    def _blocks(self, waiting: Waiting) -> bool:
        return isinstance(waiting.command, commands.Reload) or self._question(waiting) is not None

    def _see_to(self, waiting: Waiting | None) -> None:
        assert waiting is not None
        try:
            if isinstance(waiting.command, commands.Reload):
                self._reload(waiting)
            elif not isinstance(waiting.command, commands.Move) or self._may_move(waiting, waiting.command):
                self._pass(waiting)
        except Exception as fault:
            waiting.requester.refused(as_error(fault, f"a command broke: {type(waiting.command).__name__}"))
        with self._lock:
            self._passing = None
            doomed = waiting.number in self._doomed
            self._doomed.discard(waiting.number)
        if doomed:
            self._jobs.abort(waiting.number)

    def _reload(self, waiting: Waiting) -> None:
        with self._lock:
            if self._jobs.active:
                raise BadInput(AT_WORK)
        self._before_reload()
        self._extending.reload()
        waiting.requester.finished(commands.Ok())

    def _may_move(self, waiting: Waiting, move: commands.Move) -> bool:
        """If not, it was answered. Raises LinnetError for a move that is bound to fail."""
        question, chain = self._question(waiting), self._extending.chain
        with self._lock:
            doomed = waiting.number in self._doomed
        if not doomed and (question is None or chain is None):
            return True
        self._jobs.check(move)
        with self._lock:
            asking = self._asking = CancelToken()
            if self._closed or doomed:
                asking.set()
        try:
            asking.check()
            assert question is not None
            assert chain is not None
            stopped = chain.ask(question, asking).stop is not None
        except Cancelled:
            stopped = True
        with self._lock:
            self._asking = None
            if self._closed:
                raise Closed(SHUTTING_DOWN)
            if stopped:
                waiting.requester.finished(self._jobs.called_off(move))
        return not stopped

    def _question(self, waiting: Waiting) -> Hook | None:
        """What extensions want to be asked about it; None if nothing."""
        chain = self._extending.chain
        if chain is None or not isinstance(waiting.command, commands.Move):
            return None
        question = _question(waiting.command)
        return question if chain.handles(question.name) else None


def _question(move: commands.Move) -> Hook:
    match move:
        case commands.NewSession():
            return SessionSwitching("new")
        case commands.SwitchSession(session):
            return SessionSwitching("resume", session)
        case commands.Branch(entry):
            return SessionBranching("branch", entry)
        case commands.CloneSession():
            return SessionBranching("clone")
        case commands.Navigate(entry):
            return SessionBranching("navigate", entry)
