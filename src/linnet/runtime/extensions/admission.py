"""Carries out what the schedule wants of extensions: they are loaded, asked about a move, read again, and what waited
for them is admitted. Nothing is decided here.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from linnet.concurrency.cancel import CancelToken
from linnet.core import commands
from linnet.core.extensions.hooks import Hook, SessionBranching, SessionSwitching
from linnet.core.loop import schedule_facts as facts
from linnet.errors import Cancelled, LinnetError
from linnet.extensions.chain import Chain
from linnet.runtime.broadcast import Action, act
from linnet.runtime.error_report import as_error, hand_over
from linnet.runtime.extensions.session_extensions import SessionExtensions
from linnet.runtime.jobs import Jobs
from linnet.runtime.requester import PendingRequest

Effect: TypeAlias = facts.Load | facts.Hurry | facts.Reload | facts.AskAbout | facts.Admit | facts.GiveUp


class Admission:
    """Whatever is begun here ends with its fact. What blocks does so in a thread, which goes on with what follows; the
    rest happens in the thread of whoever brought the command.
    """

    def __init__(
        self,
        extensions: SessionExtensions,
        jobs: Jobs,
        carry_out: Callable[[int, PendingRequest], None],
        before_reload: Callable[[], None],
        broke: Callable[[LinnetError], None],
    ) -> None:
        """`carry_out` submits or answers a command; it may raise LinnetError. `broke` is told why nothing will be done
        any more.
        """
        self._extensions = extensions
        self._jobs = jobs
        self._carry_out = carry_out
        self._before_reload = before_reload
        self._broke = broke
        self._hurry = CancelToken()

    def action_locked(self, effect: Effect, requests: Mapping[int, PendingRequest]) -> Action:
        """Return what is to be done without the lock. Called under it, so that Hurry is about the load it was meant
        for, and no later one.
        """
        match effect:
            case facts.Load():
                self._hurry = CancelToken()
                return partial(self._in_thread, partial(self._load, self._hurry), self._unable)
            case facts.Hurry():
                return self._hurry.set
            case facts.Reload(number):
                return partial(self._in_thread, partial(self._reload, number), self._unable)
            case facts.AskAbout(number):
                return partial(self._ask, number, requests[number])
            case facts.Admit(number):
                return partial(self._admit, number, requests[number])
            case facts.GiveUp(error):
                return partial(self._give_up, error)

    def _in_thread(self, action: Action, otherwise: Callable[[LinnetError], Sequence[Action]]) -> Sequence[Action]:
        """Begin this in a thread. Where there is none, return what is to be done for that reason."""
        try:
            hand_over("linnet-admit", lambda: act([action]))
        except LinnetError as error:
            return otherwise(error)
        return ()

    def _unable(self, error: LinnetError) -> Sequence[Action]:
        """Refuse whatever waits for extensions, for now."""
        return self._jobs.decide(facts.ExtensionsFailed(error, for_good=False))

    def _refused(self, number: int, error: LinnetError) -> Sequence[Action]:
        return self._jobs.decide(facts.SeenTo(number), number, error)

    def _load(self, hurry: CancelToken) -> Sequence[Action]:
        try:
            self._extensions.load(hurry)
        except Exception as fault:
            error = as_error(fault, "extensions could not be loaded")
            return self._jobs.decide(facts.ExtensionsFailed(error))
        return self._jobs.decide(facts.ExtensionsLoaded())

    def _give_up(self, error: LinnetError) -> Sequence[Action]:
        self._broke(error)
        return self._jobs.decide(facts.FailureTold())

    def _reload(self, number: int | None) -> Sequence[Action]:
        outcome: commands.Answer | LinnetError = commands.Ok()
        try:
            self._before_reload()
            self._extensions.reload()
        except Exception as fault:
            outcome = as_error(fault, "extensions could not be read again")
        return self._jobs.decide(facts.ExtensionsReloaded(), number, outcome)

    def _ask(self, number: int, request: PendingRequest) -> Sequence[Action]:
        move, chain = request.command, self._extensions.chain
        assert isinstance(move, commands.Move)
        question = _question(move)
        if chain is not None and chain.handles(question.name):
            asked = partial(self._asked, number, request, move, lambda: _stops(chain, question, request.cancel))
            return self._in_thread(asked, partial(self._refused, number))
        if request.cancel.is_set:
            return self._asked(number, request, move, lambda: False)
        return self._jobs.decide(facts.MoveAnswered(number, permitted=True))

    def _asked(
        self, number: int, request: PendingRequest, move: commands.Move, stops: Callable[[], bool]
    ) -> Sequence[Action]:
        """Answer whether a move may happen. One that is bound to fail is refused, and nobody is asked about it."""
        try:
            self._jobs.check(move)
            request.cancel.check()
            permitted = not stops()
        except Cancelled:
            permitted = False
        except Exception as fault:
            return self._refused(number, _broken(fault, move))
        return self._jobs.decide(facts.MoveAnswered(number, permitted))

    def _admit(self, number: int, request: PendingRequest) -> Sequence[Action]:
        try:
            self._carry_out(number, request)
        except Exception as fault:
            return self._refused(number, _broken(fault, request.command))
        return self._jobs.decide(facts.SeenTo(number))


def _stops(chain: Chain, question: Hook, cancel: CancelToken) -> bool:
    return chain.ask(question, cancel).stop is not None


def _broken(fault: Exception, command: commands.Command | None) -> LinnetError:
    return as_error(fault, f"a command broke: {type(command).__name__}")


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
