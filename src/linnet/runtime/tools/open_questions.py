"""Puts questions to the client, and has the threads that ask wait for the answers, without the session's lock."""

from collections.abc import Callable, Sequence
from threading import Event as Signal
from time import monotonic
from typing import TYPE_CHECKING, Literal

from linnet.core.commands import AnswerQuestion, Control, ReportToolProgress, ReturnTool
from linnet.core.events import QuestionAsked, QuestionClosed
from linnet.core.questions import Dismissed, Given, Permit, Question, Reply, RunClientTool, ToolReturned, understood
from linnet.errors import BadInput, Cancelled
from linnet.runtime.broadcast import Action, Broadcast

if TYPE_CHECKING:
    from linnet.core.cancel import Cancel

NOT_OPEN = "the question {} is not open: it was answered, withdrawn, or never asked"


class NotYetAsked(BadInput):
    """The question is one of another process, and was not asked again yet."""


class _Open:
    """A question that a thread waits for an answer to."""

    def __init__(self, question: Question, timeout: float | None, progress: Callable[[str], None]) -> None:
        self.question = question
        self.until = None if timeout is None else monotonic() + timeout
        self.progress = progress
        self.closed = Signal()
        self.reply: Reply | None = None

    def left(self) -> float | None:
        """Return the seconds until the deadline; None if there is none."""
        return None if self.until is None else max(0.0, self.until - monotonic())


class OpenQuestions:
    """Invariants: for each QuestionAsked there is one QuestionClosed; whoever asks gets an answer, or None if it does
    not come in time or cannot come any more.
    """

    def __init__(self, broadcast: Broadcast, new_id: Callable[[], str], *, answerable: bool = True) -> None:
        """`answerable`: there is a client that may answer; otherwise nothing is asked."""
        self._broadcast = broadcast
        self._lock = broadcast.lock
        self._new_id = new_id
        self._answerable = answerable
        self._open: dict[str, _Open] = {}
        self._expected: dict[str, Question] = {}  # Asked by another process, and about to be asked again.

    def expect(self, questions: Sequence[QuestionAsked]) -> None:
        """Take note of questions that another process asked and that nobody has answered: they are the same when they
        are asked again. Who answers one before that is told NotYetAsked, and is to come again.
        """
        with self._lock:
            self._expected = {each.id: each.question for each in questions}

    def expect_no_more(self) -> None:
        """Take note that what was not asked again by now is not asked any more. Idempotent."""
        with self._lock:
            expected, self._expected = self._expected, {}
            if expected:
                closed = [QuestionClosed(id, question, "withdrawn") for id, question in expected.items()]
                self._broadcast.publish_locked(closed)

    @property
    def answerable(self) -> bool:
        """Return whether there is a client that may answer. Without the lock, that is true of a moment."""
        return self._answerable

    @property
    def open(self) -> Sequence[QuestionAsked]:
        """Return the open questions in the order in which they were asked, with the time that is left for each. Read
        with the session's lock held.
        """
        return [QuestionAsked(id, each.question, each.left()) for id, each in self._open.items()]

    def ask(
        self,
        question: Question,
        cancel: "Cancel",
        timeout: float | None = None,
        progress: Callable[[str], None] = lambda text: None,
    ) -> Reply | None:
        """Ask the client, and wait for the answer. Returns None after `timeout` seconds, and when the client sends
        nothing any more. `progress` is called with what the client reports meanwhile. Not to be called under the
        session's lock.

        Raises Cancelled if an abort comes first.
        """
        cancel.check()
        waiting = _Open(question, timeout, progress)
        with self._lock:
            if not self._answerable:
                return None
            id = self._id_locked(question)
            self._open[id] = waiting
            self._broadcast.publish_locked([QuestionAsked(id, question, timeout)])
        try:
            with cancel.interrupting(waiting.closed.set):
                waiting.closed.wait(timeout)
        except Cancelled:
            with self._lock:
                if waiting.reply is None:
                    self._close_locked(id, "withdrawn")
            raise
        with self._lock:  # Looked at once more under it: the answer may have come as the wait ended.
            if waiting.reply is None:
                self._close_locked(id, "withdrawn" if waiting.closed.is_set() else "expired")
            return waiting.reply

    def take_locked(self, command: Control) -> list[Action]:
        """Pass an answer to the thread that waits for it, if the command is one. Returns what is left to be done
        without the lock. Raises BadInput if it fits no open question.
        """
        match command:
            case AnswerQuestion(id, given):
                self.answer_locked(id, given)
            case ReturnTool(id, returned):
                self.return_tool_locked(id, returned)
            case ReportToolProgress(id, text):
                return [self.report_locked(id, text)]
            case _:
                pass
        return []

    def answer_locked(self, id: str, given: Given) -> None:
        """Answer a question. Raises BadInput if it is not open, or if the answer does not fit, and then it
        stays open.
        """
        waiting = self._get_locked(id)
        self._reply_locked(id, waiting, understood(waiting.question, given))

    def return_tool_locked(self, id: str, returned: ToolReturned) -> None:
        """Give the result of a tool that the client runs. Raises BadInput if nobody waits for it."""
        self._reply_locked(id, self._get_tool_locked(id), returned)

    def report_locked(self, id: str, text: str) -> Callable[[], None]:
        """Return a function that tells the progress of a tool that the client runs, to be called without the lock.
        Raises BadInput if nobody waits for that tool.
        """
        waiting = self._get_tool_locked(id)

        def tell() -> None:
            with self._lock:
                if id in self._open:  # Or else a deadline has just passed, and the run may be over.
                    waiting.progress(text)

        return tell

    def close(self) -> None:
        """Take note that nobody will answer any more: open questions end without an answer, and later ones are not
        asked. Idempotent.
        """
        with self._lock:
            self._answerable = False
            waiting = list(self._open.values())
        for each in waiting:
            each.closed.set()

    def _id_locked(self, question: Question) -> str:
        """Return the id of a question that is expected, or else a new one."""
        for id, expected in self._expected.items():
            if _is_same(question, expected):
                del self._expected[id]
                return id
        return self._new_id()

    def _get_locked(self, id: str) -> _Open:
        waiting = self._open.get(id)
        if waiting is None and id in self._expected:
            raise NotYetAsked(f"the question {id} is about to be asked again")
        if waiting is None:
            raise BadInput(NOT_OPEN.format(id))
        return waiting

    def _get_tool_locked(self, id: str) -> _Open:
        waiting = self._get_locked(id)
        if not isinstance(waiting.question, RunClientTool):
            raise BadInput(f"the question {id} is not about a tool that you run")
        return waiting

    def _reply_locked(self, id: str, waiting: _Open, reply: Reply) -> None:
        """Keep the reply, tell that the question is closed, and wake whoever waits, in that order."""
        waiting.reply = None if isinstance(reply, Dismissed) else reply
        del self._open[id]
        self._broadcast.publish_locked([QuestionClosed(id, waiting.question, "answered")])
        waiting.closed.set()

    def _close_locked(self, id: str, how: Literal["expired", "withdrawn"]) -> None:
        """Close a question without an answer, unless it is closed."""
        waiting = self._open.pop(id, None)
        if waiting is not None:
            self._broadcast.publish_locked([QuestionClosed(id, waiting.question, how)])


def _is_same(question: Question, other: Question) -> bool:
    """Return whether one question is asked again. What is shown with a call may have changed meanwhile."""
    if isinstance(question, Permit | RunClientTool) and type(question) is type(other):
        return question.call == other.call
    return question == other
