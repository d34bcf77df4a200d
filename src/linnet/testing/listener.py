"""A listener and a requester that only remember what they hear, for tests of a session without a protocol."""

from collections.abc import Callable, Sequence

from linnet.core.commands import Answer
from linnet.core.events import Event, Internal
from linnet.errors import LinnetError
from linnet.runtime.listener import Listener
from linnet.runtime.requester import Requester


class Quiet(Listener):
    """A Listener that keeps all events but those that no dialect would tell."""

    def __init__(self) -> None:
        self.heard: list[Event] = []
        self.breaths: list[list[type[Event]]] = []
        """The kinds of events that were told together."""
        self.story: list[str] = []
        """When the session was at rest, among what the test adds."""

    def hear(self, events: Sequence[Event]) -> None:
        told = [event for event in events if not isinstance(event, Internal)]
        if told:
            self.heard += told
            self.breaths.append([type(event) for event in told])

    def idle(self) -> None:
        self.story.append("at rest")


class Asking(Requester):
    """A Requester that keeps what it is answered."""

    def __init__(
        self,
        *,
        finished: Callable[[Answer], None] = lambda answer: None,
        refused: Callable[[str], None] = lambda reason: None,
    ) -> None:
        """`finished` and `refused` are called with each answer and each refusal."""
        self.answers: list[Answer] = []
        self.refusals: list[str] = []
        self._finished = finished
        self._refused = refused

    def finished(self, answer: Answer) -> None:
        self.answers.append(answer)
        self._finished(answer)

    def refused(self, error: LinnetError) -> None:
        self.refusals.append(str(error))
        self._refused(str(error))
