"""The interface of those who submit commands and are answered, and what a session keeps about a command meanwhile."""

from collections.abc import Callable
from threading import Timer
from typing import TYPE_CHECKING

from linnet.concurrency.cancel import CancelToken
from linnet.core.commands import Answer, Ok, Ordered
from linnet.errors import BadInput, Busy, Closed, LinnetError, NotRunning

if TYPE_CHECKING:
    from linnet.core.loop.schedule_facts import Why
    from linnet.runtime.run.background import Task
    from linnet.runtime.sessions.places import Place

AT_WORK = "Extensions are read again between runs; wait for the last event of this one, or abort it."
_REFUSALS: "dict[Why, Callable[[], LinnetError]]" = {
    "busy": Busy,
    "idle": NotRunning,
    "at_work": lambda: BadInput(AT_WORK),
    "closed": Closed,
    "closing": lambda: Closed("the agent is shutting down"),
}


def refusal(why: "Why") -> LinnetError:
    """Return the error with which a command is refused for this reason."""
    return _REFUSALS[why]()


class Requester:
    """Is told what becomes of one command. Invariant: `finished` or `refused` is called once, as the last; but what is
    said to a run that goes on is only `accepted`. Work that takes its turn is accepted and started before that, and may
    still be refused after either.

    Override what matters. No method may block: most are called under the session's lock, so that an answer keeps its
    place among the events around it, or, if the log may wait, when all that came before is written.
    """

    def accepted(self, *, queued: bool, asked: bool = False) -> None:
        """Take note that the work will be done when its turn comes; or that what was said is `queued`, and will be said
        to the agent that is working. With `asked`, extensions are asked about a prompt, unless it is queued:
        `heard` follows.
        """

    def heard(self, *, handled: bool) -> None:
        """Take note that extensions were asked about a prompt: one of them has `handled` it, or a run begins."""

    def started(self) -> None:
        """Take note that the work is begun."""

    def finished(self, answer: Answer) -> None:
        """Take the answer. A prompt is answered with Done, also if it failed."""

    def refused(self, error: LinnetError) -> None:
        """Take the reason why the command was not carried out."""


class PendingRequest:
    """A command that is not answered yet: who asked for it, how to abort it, and what was made ready for it."""

    def __init__(self, requester: Requester, command: Ordered | None = None, *, may_wait: bool = True) -> None:
        self.requester = requester
        self.command = command  # If it has to wait for extensions.
        self.may_wait = may_wait  # If not, it is refused while other work is active.
        self.cancel = CancelToken()
        self.task: Task | None = None  # Of a background command.
        self.place: Place | None = None  # The session that was fetched to switch to.
        self.timer: Timer | None = None  # Of a job whose seconds are limited.
        self.followers: list[Requester] = []  # Answered after it, when it has ended.

    def stop_timer(self) -> None:
        """Stop the timer, if there is one."""
        if self.timer is not None:
            self.timer.cancel()

    def let_go(self) -> None:
        """Close the session that was fetched for it, if there is one. Idempotent."""
        if self.place is not None:
            self.place.store.log.close()

    def refuse(self, error: LinnetError) -> None:
        """Close what was fetched, and tell the requester why."""
        self.let_go()
        self.requester.refused(error)
        self._tell_followers()

    def answer(self, outcome: Answer | LinnetError) -> None:
        """Tell the requester the answer, or refuse it with the error."""
        if isinstance(outcome, LinnetError):
            self.refuse(outcome)
        else:
            self.requester.finished(outcome)
            self._tell_followers()

    def _tell_followers(self) -> None:
        followers, self.followers = self.followers, []
        for each in followers:
            each.finished(Ok())
