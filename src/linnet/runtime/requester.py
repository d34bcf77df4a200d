"""Who asked for something, and is answered."""

from linnet.core.commands import Answer
from linnet.errors import LinnetError


class Requester:
    """Told what becomes of a command: it is refused; or it is finished, with its answer. Work that takes its turn is
    accepted and started before that, and may still be refused after either.

    Override what matters. No method may block: most calls come under the session's lock, so that an answer keeps its
    place among the events around it.
    """

    def accepted(self) -> None:
        """It will be seen to."""

    def started(self) -> None:
        """It is what the agent does now."""

    def finished(self, answer: Answer) -> None:
        """It is done. A prompt is answered with Done, also if it failed."""

    def refused(self, error: LinnetError) -> None:
        """It was not carried out."""
