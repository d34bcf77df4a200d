"""Something that was asked for and takes its time."""

from collections.abc import Callable

from linnet.core.commands import Answer, Work
from linnet.runtime.cancel import CancelToken


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
        self.ending = False  # It has been aborted: what is said from now on is not said to it.
