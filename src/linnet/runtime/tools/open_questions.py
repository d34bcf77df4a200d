"""Asks whoever drives the agent, and waits for the answer without any lock."""

from collections.abc import Callable, Sequence
from threading import Event as Signal
from time import monotonic
from typing import TYPE_CHECKING, Literal

from linnet.core.commands import AnswerQuestion, Control, ReportToolProgress, ReturnTool
from linnet.core.events import QuestionAsked, QuestionClosed
from linnet.core.questions import Dismissed, Given, Question, Reply, RunClientTool, ToolReturned, understood
from linnet.errors import BadInput, Cancelled
from linnet.runtime.broadcast import Action, Broadcast

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel

NOT_OPEN = "the question {} is not open: it was answered, withdrawn, or never asked"


class _Open:
    """A question that somebody waits for an answer to."""

    def __init__(self, question: Question, timeout: float | None, progress: Callable[[str], None]) -> None:
        self.question = question
        self.until = None if timeout is None else monotonic() + timeout
        self.progress = progress
        self.closed = Signal()
        self.reply: Reply | None = None

    def left(self) -> float | None:
        """Seconds until no answer is waited for any more; None if there is no end to that."""
        return None if self.until is None else max(0.0, self.until - monotonic())


class OpenQuestions:
    """Invariants: each question that was asked is told to be closed, once; whoever waits for an answer gets one, or
    None: no answer in time, and none that could still come, is no answer.
    """

    def __init__(self, broadcast: Broadcast, new_id: Callable[[], str], *, answerable: bool = True) -> None:
        """`answerable`: somebody may answer at all; otherwise nothing is asked."""
        self._broadcast = broadcast
        self._lock = broadcast.lock
        self._new_id = new_id
        self._answerable = answerable
        self._open: dict[str, _Open] = {}

    @property
    def open(self) -> Sequence[QuestionAsked]:
        """Those that wait for an answer, in the order they were asked, as if they were asked now: with the time that is
        left. Whoever looks holds the session's lock.
        """
        return [QuestionAsked(id, each.question, each.left()) for id, each in self._open.items()]

    def ask(
        self,
        question: Question,
        cancel: "Cancel",
        timeout: float | None = None,
        progress: Callable[[str], None] = lambda text: None,
    ) -> Reply | None:
        """Wait for the answer, a deadline, or the end of whoever could answer. Raises Cancelled if an abort comes
        before any of them. Not to be called under the session's lock.
        """
        cancel.check()
        waiting = _Open(question, timeout, progress)
        with self._lock:
            if not self._answerable:
                return None
            id = self._new_id()
            self._open[id] = waiting
            self._broadcast.publish([QuestionAsked(id, question, timeout)])
        try:
            with cancel.interrupting(waiting.closed.set):
                waiting.closed.wait(timeout)
        except Cancelled:
            with self._lock:
                if waiting.reply is None:
                    self._close(id, "withdrawn")
            raise
        with self._lock:
            if waiting.reply is None:
                self._close(id, "withdrawn" if waiting.closed.is_set() else "expired")
            return waiting.reply

    def take_locked(self, command: Control) -> list[Action]:
        """Take it to whoever waits for it, if it is an answer. Returns what is left to be done without the lock. Raises
        BadInput.
        """
        match command:
            case AnswerQuestion(id, given):
                self.answer(id, given)
            case ReturnTool(id, returned):
                self.return_tool(id, returned)
            case ReportToolProgress(id, text):
                return [self.report(id, text)]
            case _:
                pass
        return []

    def answer(self, id: str, given: Given) -> None:
        """Whoever calls this holds the session's lock. Raises BadInput for an answer that does not fit, and then the
        question stays open; and for a question that is not.
        """
        waiting = self._get(id)
        self._reply(id, waiting, understood(waiting.question, given))

    def return_tool(self, id: str, returned: ToolReturned) -> None:
        """As `answer`, for a tool that the client runs."""
        self._reply(id, self._get_tool(id), returned)

    def report(self, id: str, text: str) -> Callable[[], None]:
        """Returns what tells the progress, to be called without the lock."""
        waiting = self._get_tool(id)

        def tell() -> None:
            with self._lock:
                if id in self._open:  # Or else a deadline has just passed, and the run may be over.
                    waiting.progress(text)

        return tell

    def close(self) -> None:
        """Nobody will answer any more: neither what is open nor what is asked from now on."""
        with self._lock:
            self._answerable = False
            waiting = list(self._open.values())
        for each in waiting:
            each.closed.set()

    def _get(self, id: str) -> _Open:
        waiting = self._open.get(id)
        if waiting is None:
            raise BadInput(NOT_OPEN.format(id))
        return waiting

    def _get_tool(self, id: str) -> _Open:
        waiting = self._get(id)
        if not isinstance(waiting.question, RunClientTool):
            raise BadInput(f"the question {id} is not about a tool that you run")
        return waiting

    def _reply(self, id: str, waiting: _Open, reply: Reply) -> None:
        waiting.reply = None if isinstance(reply, Dismissed) else reply
        del self._open[id]
        self._broadcast.publish([QuestionClosed(id, waiting.question, "answered")])
        waiting.closed.set()

    def _close(self, id: str, how: Literal["expired", "withdrawn"]) -> None:
        waiting = self._open.pop(id, None)
        if waiting is not None:
            self._broadcast.publish([QuestionClosed(id, waiting.question, how)])
