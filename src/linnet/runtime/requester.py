"""Who asked for something, and is answered."""

from collections.abc import Callable
from threading import Timer
from typing import TYPE_CHECKING

from linnet.concurrency.cancel import CancelToken
from linnet.core.commands import Answer, Ordered
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
    """Return what whoever asked is told."""
    return _REFUSALS[why]()


class Requester:
    """Told what becomes of a command: it is refused; or it is finished, with its answer. Work that takes its turn is
    accepted and started before that, and may still be refused after either.

    Override what matters. No method may block: most calls come under the session's lock, so that an answer keeps its
    place among the events around it; where the log may wait, they come when what was to be written before is written.
    """

    def accepted(self) -> None:
        """It will be seen to."""

    def started(self) -> None:
        """It is what the agent does now."""

    def finished(self, answer: Answer) -> None:
        """It is done. A prompt is answered with Done, also if it failed."""

    def refused(self, error: LinnetError) -> None:
        """It was not carried out."""


class PendingRequest:
    """Something that takes its time: who asked for it, how to abort it, and what was made ready for it. `command` is
    there if it has to wait for extensions.
    """

    def __init__(self, requester: Requester, command: Ordered | None = None, *, may_wait: bool = True) -> None:
        self.requester = requester
        self.command = command
        self.may_wait = may_wait
        self.cancel = CancelToken()
        self.task: Task | None = None
        self.place: Place | None = None
        self.timer: Timer | None = None

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()

    def let_go(self) -> None:
        """Let go of the session that was fetched for it. Idempotent."""
        if self.place is not None:
            self.place.store.log.close()

    def refuse(self, error: LinnetError) -> None:
        self.let_go()
        self.requester.refused(error)

    def answer(self, outcome: Answer | LinnetError) -> None:
        if isinstance(outcome, LinnetError):
            self.refuse(outcome)
        else:
            self.requester.finished(outcome)
