"""Works out from its events where a prompt was left off by a process that ended in the middle of it.

A process that goes on with the prompt must know four things of each call of the last reply: that it was answered, that
nobody knows what came of it, that somebody was being asked about it, or that its turn had not come. The events say so:
ToolStarted is told before a call begins, the question whether it may before it does anything. Messages alone do not, so
that every call without a result is one that may have run.

What no event says: what a reply had cost that did not end; how long the prompt had worked; which of several inputs an
extension had seen to when their messages were only partly told.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.core.events import (
    Cleared,
    CompactionEnded,
    CompactionStarted,
    Event,
    Interrupted,
    JobContinued,
    JobInterrupted,
    JobStarted,
    Navigated,
    NoteAdded,
    QuestionAsked,
    QuestionClosed,
    QueueChanged,
    ReplyEnded,
    RetryEnded,
    RetryScheduled,
    RunEnded,
    RunStarted,
    SessionEntered,
    Settled,
    StepEnded,
    StepStarted,
    ToolFinished,
    ToolStarted,
    UserSaid,
)
from linnet.core.inputs import Input
from linnet.core.messages import AssistantMessage, BashRun, Message, Note, SystemMessage, ToolResult, Usage, UserMessage
from linnet.core.questions import Permit

Known: TypeAlias = ToolResult | Literal["unknown", "asked", "not_begun"]
"""A call's result, if it was told; or that it may have begun, that somebody was asked whether it may, or neither."""


class OpenRun(Struct, frozen=True, kw_only=True):
    """A run that was told to have begun, and not to have ended."""

    said: tuple[Message, ...] = ()
    """The messages that were told in it."""
    step: int = 0
    """How many of its replies were told."""
    reply: AssistantMessage | None = None
    """The last of them; None if the model is to be asked now, for the first time or again."""
    known: tuple[Known, ...] = ()
    """What is known of each call of the reply."""
    step_ended: bool = False
    inputs: tuple[Input, ...] = ()
    """What had been taken out of the queues and not been said yet."""
    objected: bool = False
    """The model was told once that its answer cannot be used."""
    interrupted: AssistantMessage | None = None
    """The reply there was not, if it was told that the run was cut short."""

    @property
    def begun(self) -> int:
        """Return the number of calls up to the last that is answered, unknown or asked about."""
        return max((at + 1 for at, known in enumerate(self.known) if known != "not_begun"), default=0)


class LeftOff(Struct, frozen=True, kw_only=True):
    """A prompt that was told to have begun, and not to be settled."""

    run: OpenRun | None = None
    """None between two runs."""
    inputs: tuple[Input, ...] = ()
    """What the next run is to begin with: it had not been said yet."""
    first: bool = False
    """`inputs` are what the prompt itself said."""
    ended: RunEnded | None = None
    """How the last run ended, if one did."""
    again: Literal["", "ask", "compact"] = ""
    """What was to follow a run that failed: another, or a compaction and then another."""
    attempt: int = 0
    """How many runs were begun because others had failed."""
    overflowed: bool = False
    """The conversation was found to be too long, and compacted for it."""
    steering: tuple[Input, ...] = ()
    follow_ups: tuple[Input, ...] = ()
    questions: tuple[QuestionAsked, ...] = ()
    """Those that were open: nobody waits for their answers any more."""
    earlier: Usage | None = None
    """What the session had cost before the prompt, if that is known."""
    cut_short: JobInterrupted | None = None
    """The prompt was being aborted, or its time was up."""

    def fits(self, messages: Sequence[Message]) -> bool:
        """Return whether a conversation ends where the run was left off: only then can the run go on in it.

        A command that the client ran meanwhile may follow, unless there are calls to be answered first.
        """
        if self.run is None:
            return True
        messages = _said(messages)
        after = len(messages)
        while after and isinstance(messages[after - 1], BashRun):
            after -= 1
        unanswered = any(not isinstance(known, ToolResult) for known in self.run.known)
        if after < len(messages) and unanswered:
            return False
        if self.run.reply is None and _awaits_results(messages[:after]):
            return False
        said = self.run.said
        return len(said) <= after and all(map(_alike, said, messages[after - len(said) : after]))


def left_off(events: Iterable[Event]) -> LeftOff | None:
    """Return where the last prompt was left off; None if it was settled, or none was begun.

    `events` begin before the prompt does. Where they go on in another process that took the prompt up, they are those
    of both. A compaction that somebody asked for is not taken up: it changes nothing before its end.
    """
    job: _Job | None = None
    for event in events:
        match event:
            case JobStarted(taken_up=True) if job is not None:
                job.take_up()
            case JobStarted("prompt"):
                job = _Job(event)
            case JobStarted() | Settled():
                job = None
            case Cleared() | Navigated() | SessionEntered():
                job = None  # What the run still says is said in a conversation that was left.
            case _:
                if job is not None:
                    job.add(event)
    return None if job is None else job.left_off()


def left_off_in(messages: Sequence[Message]) -> LeftOff | None:
    """Return where a run was left off, as far as the conversation alone can tell; None if it may have ended.

    Every call that has no result may have begun. Replies since the user last said something count as the run's steps.
    """
    messages = _said(messages)
    begin = max((at for at, each in enumerate(messages) if isinstance(each, UserMessage | Note)), default=0)
    said = tuple(messages[begin:])
    replies = [each for each in said if isinstance(each, AssistantMessage)]
    if not said or not isinstance(said[-1], UserMessage | Note | AssistantMessage | ToolResult):
        return None
    if not replies:
        return LeftOff(run=OpenRun(said=said))
    reply = replies[-1]
    if not reply.calls:
        return None
    results = {each.call_id: each for each in said[said.index(reply) :] if isinstance(each, ToolResult)}
    known: tuple[Known, ...] = tuple(results.get(call.id, "unknown") for call in reply.calls)
    return LeftOff(run=OpenRun(said=said, step=len(replies), reply=reply, known=known))


def _said(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages that somebody said: a change of what the model is told before them is no part of a run."""
    return [each for each in messages if not isinstance(each, SystemMessage)]


class _Run:
    """A run so far."""

    def __init__(self) -> None:
        self.said: list[Message] = []
        self.step = 0
        self.reply: AssistantMessage | None = None
        self.step_ended = False
        self.inputs: tuple[Input, ...] = ()
        self.objected = False
        self.interrupted: AssistantMessage | None = None
        self._asked = 0
        self._results: dict[int, ToolResult] = {}
        self._started: set[int] = set()
        self._to_start: deque[int] = deque()  # In the order in which they are told to start.
        self._held: dict[str, str] = {}  # Questions whether a call may run, with its id, unless one was answered.

    def take_up(self) -> None:
        """Forget what the next process will tell again: the questions it asks, and which open calls it starts."""
        self._started = {at for at in self._started if self._known(at) == "unknown"}
        self._held = {}
        calls = self.reply.calls if self.reply is not None else ()
        self._to_start = deque(at for at in range(len(calls)) if at not in self._results)

    def add(self, event: Event) -> None:
        match event:
            case UserSaid(message):
                self.objected = self.objected or (self.reply is not None and not self.inputs)
                self._say(message)
            case NoteAdded(note):
                self._say(note)
            case StepStarted(step):
                if step > self.step:  # Or else it is told again, by whoever took the run up.
                    self.reply = None
                    self._asked = step
                self.inputs = ()
            case ReplyEnded(message):
                self._replied(message)
            case ToolStarted():
                if self._to_start:
                    self._started.add(self._to_start.popleft())
            case ToolFinished(result):
                self._finished(result)
            case StepEnded():
                self.step_ended = True
            case Interrupted(message):
                self.said.append(message)
                self.interrupted = message
            case QuestionAsked(id, Permit(call)):
                self._held[id] = call.id
            case QuestionClosed(id, Permit(), "answered"):
                self._held.pop(id, None)
            case _:
                pass

    def open(self) -> OpenRun:
        calls = self.reply.calls if self.reply is not None else ()
        return OpenRun(
            said=tuple(self.said),
            step=self.step,
            reply=self.reply,
            known=tuple(map(self._known, range(len(calls)))),
            step_ended=self.step_ended,
            inputs=self.inputs,
            objected=self.objected,
            interrupted=self.interrupted,
        )

    def _say(self, message: UserMessage | Note) -> None:
        self.said.append(message)
        self.inputs = self.inputs[1:]
        self.reply = None

    def _replied(self, message: AssistantMessage) -> None:
        self.said.append(message)
        self.step, self.reply, self.step_ended = self._asked, message, False
        self._results, self._started, self._held = {}, set(), {}
        self._to_start = deque(range(len(message.calls)))

    def _finished(self, result: ToolResult) -> None:
        self.said.append(result)
        calls = self.reply.calls if self.reply is not None else ()
        at = next((at for at in range(len(calls)) if at not in self._results), None)  # They are told in order.
        if at is not None:
            self._results[at] = result
        asked = [id for id, call in self._held.items() if call == result.call_id]
        for id in asked[:1]:
            del self._held[id]

    def _known(self, at: int) -> Known:
        if at in self._results:
            return self._results[at]
        if at not in self._started:
            return "not_begun"
        assert self.reply is not None
        id = self.reply.calls[at].id
        # Calls may have one id: then only as many questions as there are such calls hold all of them back.
        open_calls = [other for other in self._started - set(self._results) if self.reply.calls[other].id == id]
        return "asked" if list(self._held.values()).count(id) >= len(open_calls) else "unknown"


class _Job:
    """A prompt so far."""

    def __init__(self, started: JobStarted) -> None:
        self._earlier: Usage | None = None if started.taken_up else started.spent
        self._inputs: tuple[Input, ...] = () if started.input is None else (started.input,)
        self._first = True
        self._run: _Run | None = None
        self._ended: RunEnded | None = None
        self._again: Literal["", "ask", "compact"] = ""
        self._attempt = 0
        self._overflowed = False
        self._steering: tuple[Input, ...] = ()
        self._follow_ups: tuple[Input, ...] = ()
        self._questions: dict[str, QuestionAsked] = {}
        self._cut_short: JobInterrupted | None = None

    def take_up(self) -> None:
        if self._run is not None:
            self._run.take_up()

    def add(self, event: Event) -> None:
        match event:
            case QueueChanged():
                self._queue(event)
            case RunStarted():
                self._run = self._run or _Run()
            case RunEnded():
                self._run, self._ended, self._again = None, event, ""
            case RetryScheduled(attempt):
                self._attempt, self._again = attempt, "ask"
            case RetryEnded():
                self._attempt, self._again = 0, ""
            case CompactionStarted("overflow"):
                self._overflowed, self._again = True, "compact"
            case CompactionEnded("overflow"):
                self._again = "ask" if event.result is not None else ""
            case JobContinued():
                self._overflowed = False
            case JobInterrupted():
                self._cut_short = self._cut_short or event
            case QuestionAsked(id):
                self._questions[id] = event
            case QuestionClosed(id):
                self._questions.pop(id, None)
            case UserSaid() | NoteAdded() if self._run is not None:
                self._inputs, self._first = self._inputs[1:], self._first and len(self._inputs) > 1
            case StepStarted():
                self._inputs = ()
            case _:
                pass
        if self._run is not None:
            self._run.add(event)

    def left_off(self) -> LeftOff:
        return LeftOff(
            run=None if self._run is None or self._inputs else self._run.open(),
            inputs=self._inputs,
            first=self._first and bool(self._inputs),
            ended=self._ended,
            again=self._again,
            attempt=self._attempt,
            overflowed=self._overflowed,
            steering=self._steering,
            follow_ups=self._follow_ups,
            questions=tuple(self._questions.values()),
            earlier=self._earlier,
            cut_short=self._cut_short,
        )

    def _queue(self, event: QueueChanged) -> None:
        """Take note of the queues. What is no longer in them, and was not dropped, has been taken out to be said."""
        taken = [*self._steering, *self._follow_ups]
        for each in (*event.steering, *event.follow_ups, *event.dropped):
            if each in taken:
                taken.remove(each)
        self._steering, self._follow_ups = event.steering, event.follow_ups
        if taken and self._run is not None:
            self._run.inputs = tuple(taken)
        elif taken:
            self._inputs, self._first, self._ended = tuple(taken), False, None


def _awaits_results(messages: Sequence[Message]) -> bool:
    """Return whether the last reply has calls without results, and nobody has said anything since."""
    for results, message in enumerate(reversed(messages)):
        if isinstance(message, AssistantMessage):
            return len(message.calls) > results
        if not isinstance(message, ToolResult):
            return False
    return False


def _alike(told: Message, read: Message) -> bool:
    """Return whether a message may be the one that was told, as far as its kind and its calls say."""
    if isinstance(told, AssistantMessage) and isinstance(read, AssistantMessage):
        return [call.id for call in told.calls] == [call.id for call in read.calls]
    if isinstance(told, ToolResult) and isinstance(read, ToolResult):
        return told.call_id == read.call_id
    return type(told) is type(read)
