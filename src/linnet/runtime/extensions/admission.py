"""Carries out the effects of the schedule that are about extensions: loads them, asks them about a move, reads them
again, and submits the commands that waited for that. The schedule decides; nothing is decided here.
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
from linnet.runtime.requester import PendingRequest, Requester

CarryOut: TypeAlias = Callable[[int, commands.Command, Requester, bool], None]
Effect: TypeAlias = facts.Load | facts.Hurry | facts.Reload | facts.AskAbout | facts.Admit | facts.GiveUp


class Admission:
    """Invariant: each effect ends with its fact being fed to the schedule, also if something goes wrong. What may block
    is done in a thread of its own, which also does what follows from the fact; the rest is done by the thread that
    brought the command.
    """

    def __init__(
        self,
        extensions: SessionExtensions,
        jobs: Jobs,
        carry_out: CarryOut,
        before_reload: Callable[[], None],
        broke: Callable[[LinnetError], None],
    ) -> None:
        """`carry_out(number, command, requester, may_wait)` submits or answers a command; it may raise LinnetError.
        `before_reload` is called, without the lock, before extensions are read again; it may raise ConfigError. `broke`
        is told why the session can do nothing any more.
        """
        self._extensions = extensions
        self._jobs = jobs
        self._carry_out = carry_out
        self._before_reload = before_reload
        self._broke = broke
        self._hurry = CancelToken()  # Of the load that was begun last. Once set, it waits for none that can join later.

    def action_locked(self, effect: Effect, requests: Mapping[int, PendingRequest]) -> Action:
        """Return what to do without the lock. What it needs is looked up now, so that Hurry is about the load it was
        meant for, and not about a later one.
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
        """Do the action, and what follows from it, in a thread. If the system gives none, return what `otherwise` says
        is to be done.
        """
        try:
            hand_over("linnet-admit", lambda: act([action]))
        except LinnetError as error:
            return otherwise(error)
        return ()

    def _unable(self, error: LinnetError) -> Sequence[Action]:
        """Tell the schedule that extensions could not be loaded this time: it refuses what waits for them."""
        return self._jobs.decide(facts.ExtensionsFailed(error, for_good=False))

    def _refused(self, number: int, error: LinnetError) -> Sequence[Action]:
        """Refuse that command, in one step with telling the schedule that it is seen to."""
        return self._jobs.decide(facts.SeenTo(number), number, error)

    def _load(self, hurry: CancelToken) -> Sequence[Action]:
        try:
            self._extensions.load(hurry)
        except Exception as fault:
            error = as_error(fault, "extensions could not be loaded")
            return self._jobs.decide(facts.ExtensionsFailed(error))
        return self._jobs.decide(facts.ExtensionsLoaded())

    def _give_up(self, error: LinnetError) -> Sequence[Action]:
        """Tell listeners that the session can do nothing any more: extensions cannot be loaded."""
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
        """Ask extensions whether a move may happen, in a thread, if any of them wants to be asked."""
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
        """Tell the schedule whether a move may happen: no, if `stops` returns True or an abort came. One that is bound
        to fail is refused, and nobody is asked about it.
        """
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
        """Submit or answer a command that has waited for extensions."""
        assert request.command is not None
        try:
            self._carry_out(number, request.command, request.requester, request.may_wait)
        except Exception as fault:
            return self._refused(number, _broken(fault, request.command))
        return self._jobs.decide(facts.SeenTo(number))


def _stops(chain: Chain, question: Hook, cancel: CancelToken) -> bool:
    return chain.ask(question, cancel).stop is not None


def _broken(fault: Exception, command: commands.Command | None) -> LinnetError:
    return as_error(fault, f"a command broke: {type(command).__name__}")


def _question(move: commands.Move) -> Hook:
    """Return what extensions are asked about a move."""
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
