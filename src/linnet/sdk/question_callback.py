"""Has a function of the program answer the questions of a session: whether a tool may run, and whatever else
is asked.
"""

from collections.abc import Awaitable, Callable, Sequence
from threading import Thread
from typing import TYPE_CHECKING, TypeAlias

from linnet.concurrency.cancel import CancelToken
from linnet.core.commands import AnswerQuestion
from linnet.core.events import Event, QuestionAsked, QuestionClosed
from linnet.core.questions import DENY, PERMISSIONS, Given, Permit, Question
from linnet.errors import Cancelled, LinnetError
from linnet.runtime.config.config import Answer
from linnet.runtime.error_report import start
from linnet.runtime.listener import Listener
from linnet.runtime.requester import Requester

if TYPE_CHECKING:
    from linnet.runtime.resources import Resources
    from linnet.runtime.session import Session

OnQuestion: TypeAlias = Callable[[Question], Answer | Awaitable[Answer]]
"""Is given a question. Returns True or False, the text that was chosen or written, or None for no answer. May
be async.
"""


class Answering(Listener):
    """Calls the function with each question, in a thread of its own, since it is told under the session's lock; and
    submits the answer to the session.

    Invariant: once a question is closed, nobody waits for the function; if it is `async def`, it is cancelled.
    """

    def __init__(self, on_question: OnQuestion, resources: "Resources") -> None:
        self._on_question = on_question
        self._resources = resources
        self._open: dict[str, CancelToken] = {}  # Set when the question is closed.
        self.session: Session | None = None  # Set once it is open; nothing is asked before that.

    def hear(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, QuestionAsked):
                self._open[event.id] = closed = CancelToken()
                thread = Thread(
                    target=self._ask, args=(event.id, event.question, closed), name="linnet-asking", daemon=True
                )
                try:
                    start(thread)
                except LinnetError:
                    return  # Nobody can be asked now; no answer is a no, once the deadline is over or the run ends.
            elif isinstance(event, QuestionClosed) and event.id in self._open:
                self._open.pop(event.id).set()

    def _ask(self, id: str, question: Question, closed: CancelToken) -> None:
        """Call the function, and submit its answer. If it fails, that counts as no answer."""
        try:
            given = _given(question, self._resources.foreign.call(self._on_question, closed, question))
        except Cancelled:
            if closed.is_set:
                return
            given = Given(cancelled=True)
        except Exception as fault:
            given = Given(cancelled=True, reason=f"the callback failed: {type(fault).__name__}: {fault}")
        if self.session is not None:
            self.session.submit(AnswerQuestion(id, given), _Dismissing(self.session, id))


class _Dismissing(Requester):
    """Dismisses a question whose answer was refused: one that does not fit counts as none."""

    def __init__(self, session: "Session", id: str) -> None:
        self._session = session
        self._id = id

    def refused(self, error: LinnetError) -> None:
        self._session.submit(AnswerQuestion(self._id, Given(cancelled=True, reason=str(error))), Requester())


def _given(question: Question, answer: object) -> Given:
    """Return the answer that a function's result stands for. For a permission, any other text is a no with
    that reason.
    """
    if answer is True or answer is False:
        return Given(confirmed=answer)
    if isinstance(answer, str):
        if isinstance(question, Permit) and answer not in PERMISSIONS:
            return Given(DENY, reason=answer)
        return Given(answer)
    return Given(cancelled=True)
