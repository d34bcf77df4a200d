"""Questions to whoever hosts the runtime: functions of theirs that say whether a tool may run, or answer anything."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeAlias

from linnet.core.commands import AnswerQuestion
from linnet.core.events import Event, QuestionAsked
from linnet.core.messages import ToolCall
from linnet.core.questions import DENY, PERMISSIONS, Given, Permit, Question
from linnet.errors import LinnetError
from linnet.runtime.fault import start
from linnet.runtime.listener import Listener
from linnet.runtime.requester import Requester

if TYPE_CHECKING:
    from linnet.runtime.session import Session

Answer: TypeAlias = bool | str | None
Permission: TypeAlias = Callable[[ToolCall, str], Answer | Awaitable[Answer]]
"""Given a call and what it is about to do: True if it may run, False or a reason if not. Plain or `async def`."""
OnQuestion: TypeAlias = Callable[[Question], Answer | Awaitable[Answer]]
"""Given a question: True or False, the text that was chosen or written, or None for no answer. Plain or `async def`."""


def blocking(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, to be called from any thread: one that is `async def` runs in a loop of its own."""
    if not inspect.iscoroutinefunction(function):
        return function

    def call(*args: Any) -> Any:
        import asyncio

        return asyncio.run(function(*args))

    return call


class Answering(Listener):
    """Calls a function with each question, in a thread of its own, and takes its answer to the session."""

    def __init__(self, on_question: OnQuestion) -> None:
        self._answer: Callable[[Question], Any] = blocking(on_question)
        self.session: Session | None = None

    def hear(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, QuestionAsked):
                thread = Thread(target=self._ask, args=(event.id, event.question), name="linnet-asking", daemon=True)
                try:
                    start(thread)
                except LinnetError:
                    return  # Nobody can be asked now; no answer is a no, once the deadline is over or the run ends.

    def _ask(self, id: str, question: Question) -> None:
        try:
            given = _given(question, self._answer(question))
        except Exception as fault:
            given = Given(cancelled=True, reason=f"the callback failed: {type(fault).__name__}: {fault}")
        if self.session is not None:
            self.session.submit(AnswerQuestion(id, given), _Dismissing(self.session, id))


class _Dismissing(Requester):
    """An answer that does not fit is taken for none."""

    def __init__(self, session: "Session", id: str) -> None:
        self._session = session
        self._id = id

    def refused(self, error: LinnetError) -> None:
        self._session.submit(AnswerQuestion(self._id, Given(cancelled=True, reason=str(error))), Requester())


def _given(question: Question, answer: object) -> Given:
    if answer is True or answer is False:
        return Given(confirmed=answer)
    if isinstance(answer, str):
        if isinstance(question, Permit) and answer not in PERMISSIONS:
            return Given(DENY, reason=answer)
        return Given(answer)
    return Given(cancelled=True)
