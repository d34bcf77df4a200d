"""Whether a model that failed is asked again, and the wait before that, which an abort or the client may end."""

from collections.abc import Sequence

from linnet.concurrency.cancel import CancelToken
from linnet.core.events import Event
from linnet.errors import Cancelled, LinnetError, ProviderUnavailable
from linnet.runtime.run.active_job import ActiveJob
from linnet.runtime.settings.settings import Settings

LONGEST_WAIT = 60.0  # A vendor that asks for more than this is not waited for.


class Retries:
    """The retries of one job. Works in its thread."""

    def __init__(self, job: ActiveJob, settings: Settings) -> None:
        self._job = job
        self.most = settings.retries
        self._first_delay = settings.retry_delay

    def may(self, failure: LinnetError | None, attempt: int) -> bool:
        """Return whether to try again after this failure; `attempt` is how often that was done before."""
        if not isinstance(failure, ProviderUnavailable):
            return False
        patient = (failure.retry_after or 0) <= LONGEST_WAIT
        return self._job.auto_retry and attempt < self.most and patient

    def delay(self, failure: LinnetError | None, attempt: int) -> float:
        """Return the seconds to wait before this attempt: twice as long each time, and at least what the vendor
        asks.
        """
        asked = failure.retry_after if isinstance(failure, ProviderUnavailable) else None
        return max(self._first_delay * float(2 ** (attempt - 1)), asked or 0)

    def wait(self, seconds: float, before: Sequence[Event]) -> bool:
        """Publish `before`, wait, and return whether to try again: not after an abort, nor if the retry was aborted."""
        wait = CancelToken()
        self._job.end_wait = wait.set  # Before it is told that there is a wait: whoever hears that may end it at once.
        self._job.emit(before)
        try:
            with self._job.cancel.interrupting(wait.set):
                wait.sleep(seconds)
        except Cancelled:
            return False
        finally:
            self._job.end_wait = None
        return True
