"""Something that was asked for and takes its time."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from linnet.core.commands import Answer, Work
from linnet.runtime.cancel import CancelToken

if TYPE_CHECKING:
    from linnet.runtime.sessions import Place


def _nobody(*_: object) -> None:
    pass


class Job:
    """Told of what becomes of it: accepted or refused, started, and finished, with its answer, or refused after all."""

    def __init__(
        self,
        work: Work,
        *,
        accepted: Callable[[], None] = _nobody,
        started: Callable[[], None] = _nobody,
        finished: Callable[[Answer], None] = _nobody,
        refused: Callable[[str], None] = _nobody,
    ) -> None:
        self.work = work
        self.accepted = accepted
        self.started = started
        self.finished = finished
        self.refused = refused
        self.cancel = CancelToken()
        self.fetched: Place | None = None
        self.ending = False  # It has been aborted: what is said from now on is not said to it.

    def drop(self, reason: str) -> None:
        """Refuse it, and let go of what was fetched for it."""
        if self.fetched is not None:
            self.fetched.store.log.close()
            self.fetched = None
        if reason:
            self.refused(reason)
