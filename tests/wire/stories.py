"""Whole sessions as their events: what the machines of `core` decide when anything may happen next.

`Schedule` says what runs and what waits, `Run` what a run does, `Draft` what a reply is told as. What they leave open
is chosen by chance, and so is what happens beside them: questions, notices, commands, settings, moves.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from random import Random
from typing import Any

from msgspec.structs import replace

from linnet.core import commands, deltas, events, ui_events
from linnet.core.context.conversation import identified
from linnet.core.inputs import Input
from linnet.core.loop import schedule
from linnet.core.loop import schedule_facts as facts
from linnet.core.loop.draft import Draft
from linnet.core.loop.limits import Limits
from linnet.core.loop.queues import Queues
from linnet.core.loop.run import Run, cut_off
from linnet.core.loop.run_facts import (
    Aborted,
    Answered,
    AskModel,
    Emit,
    Fact,
    MakeRoom,
    Opening,
    Prepare,
    Prepared,
    Prompted,
    Replied,
    Review,
    Reviewed,
    RoomMade,
    RunTool,
    Task,
)
from linnet.core.messages import (
    AssistantMessage,
    BashRun,
    Image,
    Note,
    Sent,
    StopReason,
    Summary,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    UserPart,
)
from linnet.core.models import Model
from linnet.core.questions import Confirm, EditText, EnterText, Permit, Question, RunClientTool, Select
from linnet.core.toolspec import ToolSpec

MODEL = Model("m", "anthropic", api="anthropic-messages")
SPENT = Usage(3, 4)
TEXTS = ("hello", "", 'a "b"\n', "\u2028", "größer", "\U0001f600", "\ud83d", "x" * 300)
ARGUMENTS = ('{"path":"a', ".txt", '","content":"x\\ny', '"}', "{}", "{", "1,2", "\u2028")
LONG = "".join(f"line {number}\n" for number in range(3_000))  # More than pi shows of what a tool prints.
STOPS: tuple[StopReason, ...] = ("end", "length", "error", "aborted")

Going: Any = Iterator[None]
"""A job: at each yield anything else may happen."""


class Story:
    """`happened` is all of it so far."""

    def __init__(self, random: Random) -> None:
        self.happened: list[events.Event] = []
        self._random = random
        self._time = count(1)
        self._numbers = count(1)
        self._queues = Queues()
        self._schedule = schedule.Schedule(self._queues)
        self._job: Going | None = None
        self._kind: events.JobKind = "prompt"
        self._cancelled: set[int] = set()
        self._background: list[int] = []
        self._listening = False
        self._asked: dict[str, Question] = {}

    def go_on(self) -> None:
        """Let one thing happen."""
        random = self._random
        if self._job is not None and random.random() < 0.75:
            self._advance()
        elif random.random() < 0.35:
            self._submit()
        else:
            random.choice((self._aside, self._ask, self._close_question, self._bash, self._bash_ended, self._abort))()

    def publish(self, *told: events.Event) -> None:
        for event in told:
            if type(event) in ui_events.KINDS:
                event = replace(event, id=f"s{next(self._numbers)}")
            self.happened.append(identified(event, lambda: f"e{next(self._numbers)}"))

    def _text(self) -> str:
        return self._random.choice(TEXTS)

    def _may(self, chance: float = 0.5) -> bool:
        return self._random.random() < chance

    def _now(self) -> int:
        return next(self._time)

    # What is asked of the agent, and what the schedule makes of it.

    def _submit(self) -> None:
        random = self._random
        work: commands.Work = random.choice(
            (
                self._prompt(),
                self._prompt(),
                self._prompt(),
                commands.Compact(at_once=self._may()),
                commands.NewSession(),
                commands.Navigate(None),
            )
        )
        job = facts.Job(next(self._numbers), work, self._now())
        self._feed(facts.Submitted(job, self._listening))

    def _prompt(self) -> commands.Prompt:
        text = self._random.choice(("go", "stop", "x\n\ny"))
        when: Any = self._random.choice(("wait", "refuse", "steer", "follow_up"))
        if self._may(0.7):
            return commands.Prompt(text, when_busy=when)
        images = (Image("image/png", "AAAA"),)
        content: tuple[UserPart, ...] = (Text(text), *images)
        return commands.Prompt(text, images, when, sent=Sent("short", (), b'[{"id":1}]', content))

    def _abort(self) -> None:
        if self._may(0.3):
            self._feed(facts.AbortAsked())

    def _bash(self) -> None:
        self._feed(facts.BackgroundSubmitted(next(self._numbers), commands.Bash("true")))

    def _bash_ended(self) -> None:
        if self._background:
            run = BashRun("true", self._text(), 0, self._now())
            self._feed(facts.BackgroundEnded(self._background.pop(), run=run))

    def _feed(self, fact: facts.Fact) -> None:
        for effect in self._schedule.feed(fact):
            match effect:
                case facts.Begin(job):
                    self._begin(job)
                case facts.Launch(number):
                    self._background.append(number)
                case facts.Interrupt(number):
                    self._cancelled.add(number)
                    if self._schedule.active is not None and self._schedule.active.number == number:
                        self.publish(events.JobInterrupted())
                case facts.Tell(event):
                    self.publish(event)
                case _:
                    pass

    def _begin(self, job: facts.Job) -> None:
        work = job.work
        if isinstance(work, commands.Prompt | commands.Compact):
            self._kind = "prompt" if isinstance(work, commands.Prompt) else "compact"
            self._listening = self._kind == "prompt"
            self.publish(events.JobStarted(self._kind))
            if isinstance(work, commands.Prompt):
                self._job = self._prompted(work.as_input(job.time))
            else:
                self._job = self._compacted("manual")
            return
        if isinstance(work, commands.NewSession):
            self.publish(events.SessionEntered(session_id="s", reason="new"), events.ModelSet(MODEL))
        else:
            self.publish(events.Navigated(None, events.Past()))
        self._feed(facts.JobEnded())

    # A prompt or a compaction, as `runtime` carries it out.

    def _is_cancelled(self) -> bool:
        return self._schedule.active is not None and self._schedule.active.number in self._cancelled

    def _advance(self) -> None:
        assert self._job is not None
        if self._may(0.05):  # It breaks, in the middle of anything.
            self._over(events.Settled(self._kind, "error", "it broke"))
            return
        next(self._job, None)

    def _over(self, *last: events.Event) -> None:
        self._job, self._listening = None, False
        self.publish(*last)
        self._feed(facts.JobEnded())

    def _settle(self, told: Sequence[events.Event], settled: events.Settled) -> list[Input]:
        """Returns what was said meanwhile, if something was: then it is not over."""
        heard = self._queues.take_next() if settled.kind == "prompt" else []
        if heard:
            self.publish(*told, self._queue(), events.JobContinued())
        else:
            self._over(*told, settled)
        return heard

    def _queue(self) -> events.Event:
        return events.QueueChanged(tuple(self._queues.steering), tuple(self._queues.follow_ups))

    def _prompted(self, input: Input) -> Going:
        heard = [input]
        while heard:
            yield
            if self._may(0.1):
                yield from self._compaction("threshold", [])
            if self._may(0.25):  # Extensions have seen to it.
                heard = self._settle([], events.Settled("prompt", "end"))
                continue
            system = [self._system()] if self._may(0.3) else []
            stop, error, closing = yield from self._tries((*system, *map(_message, heard)))
            heard = self._settle(closing, events.Settled("prompt", stop, error))

    def _system(self) -> SystemMessage:
        return SystemMessage({"preamble": self._text()}, self._now(), (ToolSpec("read", self._text(), {}),), ("ls",))

    def _tries(self, messages: tuple[Opening, ...]) -> Going:
        attempt = 0
        while True:
            ended = yield from self._run(messages)
            messages = ()
            failed = ended.stop == "error" and not self._is_cancelled()
            if failed and self._may(0.2):
                if (yield from self._compaction("overflow", [ended])):
                    continue
                return ended.stop, ended.error, [events.RetryEnded(False, attempt, ended.error)] if attempt else []
            if failed and attempt < 2 and self._may():
                attempt += 1
                self.publish(ended, events.RetryScheduled(attempt, 3, 2000, ended.error))
                yield
                if not self._is_cancelled():
                    continue
                return ended.stop, ended.error, [events.RetryEnded(False, attempt, "Retry cancelled")]
            closing: list[events.Event] = [ended]
            if self._may(0.1):
                closing.insert(0, events.OutputRead({"a": 1}) if self._may() else events.OutputRead(problem="no"))
            if attempt:
                closing.append(events.RetryEnded(not ended.error, attempt, ended.error))
            if self._may(0.1):
                yield from self._compaction("threshold", closing)
                closing = []
            return ended.stop, ended.error, closing

    def _compacted(self, reason: events.CompactReason) -> Going:
        yield
        if self._may(0.2):
            ended = events.CompactionEnded(reason, None, error="Already compacted")
        else:
            self.publish(events.CompactionStarted(reason))
            yield
            ended = self._compaction_ended(reason)
        stop: StopReason = "end" if ended.result else "aborted" if ended.aborted else "error"
        self._settle([ended], events.Settled("compact", stop, ended.error))

    def _compaction(self, reason: events.CompactReason, before: Sequence[events.Event]) -> Going:
        self.publish(*before, events.CompactionStarted(reason))
        yield
        if self._may(0.2):
            self.publish(events.SummaryRetry("scheduled", reason, 1, 3, 2000, "anthropic: http 529: {}"))
            yield
            self.publish(events.SummaryRetry("begun", reason), events.SummaryRetry("finished", reason))
        ended = self._compaction_ended(reason)
        self.publish(ended)
        return ended.result is not None

    def _compaction_ended(self, reason: events.CompactReason) -> events.CompactionEnded:
        if self._is_cancelled():
            return events.CompactionEnded(reason, None, aborted=True)
        if self._may(0.3):
            return events.CompactionEnded(reason, None, error="no summary")
        result = events.Compaction(Summary("s", 9, self._now()), 1, "e1", ("a",), ("b",), SPENT)
        return events.CompactionEnded(reason, result, will_retry=reason == "overflow")

    # A run.

    def _run(self, messages: tuple[Opening, ...]) -> Going:
        run = Run(
            Limits(3),
            Usage(),
            self._queues,
            self._random.choice((1, 3)),
            reviews=self._may(0.3),
            makes_room=self._may(0.2),
        )
        doing: list[Going] = []
        facts: list[Fact] = [Prompted(messages)]
        while True:
            for fact in facts:
                told: list[events.Event] = []
                for effect in run.feed(fact):
                    if isinstance(effect, Emit):
                        told.append(effect.event)
                    else:
                        doing.append(self._carried_out(effect))
                if told and isinstance(told[-1], events.RunEnded):
                    self.publish(*told[:-1])
                    return told[-1]
                self.publish(*told)
            yield
            facts = []
            task = self._random.choice(doing)
            try:
                next(task)
            except StopIteration as done:
                doing.remove(task)
                facts = [done.value]

    def _carried_out(self, task: Task) -> Going:
        match task:
            case Prepare(inputs):
                yield
                return Prepared(() if self._may(0.1) else tuple(map(_message, inputs)))
            case AskModel():
                return Replied((yield from self._reply()))
            case RunTool(index, call):
                return (yield from self._tool(index, call))
            case MakeRoom():
                yield from self._compaction("threshold", [])
                return RoomMade(self._not_asked() if self._is_cancelled() else None)
            case Review():
                yield
                if self._is_cancelled():
                    return Reviewed(cut=self._not_asked())
                again = UserMessage((Text("again"),), self._now())
                return Reviewed(again if self._may() else None)

    def _reply(self) -> Going:
        if self._is_cancelled():
            return self._not_asked()
        if self._may(0.2):
            return Draft().message(self._now(), MODEL, Usage(), "error", "anthropic: http 529: {}")
        draft, time = Draft(), self._now()
        self.publish(events.ReplyStarted(MODEL.api, MODEL.provider, MODEL.id, time))
        for _ in range(self._random.randrange(8)):
            self.publish(*draft.add([self._delta()]))
            if self._may(0.2):
                self.publish(events.UsageGrew(Usage(7, self._now())))
            yield
            if self._is_cancelled():
                return draft.message(time, MODEL, SPENT, "aborted")
        if self._may(0.2):
            return draft.message(time, MODEL, SPENT, "error", "cut")
        self.publish(*draft.add([deltas.Stopped("length" if self._may(0.1) else "end")]))
        return draft.message(time, MODEL, SPENT)

    def _delta(self) -> deltas.Delta:
        id = self._random.choice("abc")
        return self._random.choice(
            (
                deltas.TextDelta(self._text()),
                deltas.ThinkingDelta(self._text()),
                deltas.ThinkingSigned("sig", self._may()),
                deltas.CallOpened(id, self._random.choice(("read", "wri\u2029te"))),
                deltas.CallOpened(id, "bash"),
                deltas.CallDelta(id, self._random.choice(ARGUMENTS)),
                deltas.PartClosed(),
            )
        )

    def _not_asked(self) -> AssistantMessage:
        return Draft().message(self._now(), MODEL, Usage(), "aborted")

    def _tool(self, index: int, call: ToolCall) -> Going:
        for _ in range(self._random.randrange(4)):
            text = LONG if self._may(0.05) else self._text()
            self.publish(events.ToolProgressed(call.id, call.name, text))
            yield
        if self._is_cancelled():
            return Aborted(index, cut_off(call, self._now(), begun=True, late=False), self._not_asked())
        details = {"exit_code": 1} if self._may() else None
        result = ToolResult(call.id, call.name, (Text(self._text()),), self._now(), self._may(), details)
        return Answered(index, result)

    # What happens beside all that.

    def _ask(self) -> None:
        id = f"q{next(self._numbers)}"
        call = ToolCall("a", "bash", {"command": "ls"})
        question: Question = self._random.choice(
            (
                Confirm("sure?", self._text()),
                Select("which?", ("a", "b")),
                EnterText("name?", self._text()),
                EditText("text?", self._text()),
                Permit(call, "may it?", self._text()),
                RunClientTool(call),
            )
        )
        self._asked[id] = question
        self.publish(events.QuestionAsked(id, question, self._random.choice((None, 1.5))))

    def _close_question(self) -> None:
        if self._asked:
            id = self._random.choice(list(self._asked))
            how: Any = self._random.choice(("answered", "expired", "withdrawn"))
            self.publish(events.QuestionClosed(id, self._asked.pop(id), how))

    def _aside(self) -> None:
        text = self._text()
        happening: tuple[Callable[[], events.Event], ...] = (
            lambda: ui_events.Notified("ext", text, self._random.choice(("info", "success", "warning", "error"))),
            lambda: ui_events.Displayed("ext", text),
            lambda: ui_events.StatusSet("ext", "key", self._random.choice((None, text))),
            lambda: ui_events.WidgetSet("ext", "key", self._random.choice((None, (text,)))),
            lambda: ui_events.TitleSet("ext", text),
            lambda: ui_events.EditorTextSet("ext", text),
            lambda: events.HookFailed("ext.py", "input", text),
            lambda: events.StateKept("ext", {"a": text}),
            lambda: events.FailureForgotten(),
            lambda: events.EntryAppended(b'{"type":"custom","id":"a"}'),
            lambda: events.BashPrinted(self._random.choice((b"", b'"b1"')), text),
            lambda: events.ModelSet(MODEL),
            lambda: events.ThinkingSet("high"),
            lambda: events.LevelChanged("high"),
            lambda: events.PermissionSet("deny"),
            lambda: events.SteeringModeSet("all"),
            lambda: events.FollowUpModeSet("all"),
            lambda: events.AutoCompactionSet(self._may()),
            lambda: events.AutoRetrySet(self._may()),
            lambda: events.SessionNamed(text),
            lambda: events.SessionFailed("a.jsonl", text),
            lambda: events.ProjectUntrusted("/p", (events.Brought("skill", "a"),), ("b",) if self._may() else ()),
            lambda: events.ProjectTrustSet(self._may()),
            lambda: events.Cleared(),
        )
        if self._job is None and self._may(0.2):
            self.publish(events.NoteAdded(Note("extension", (Text(text),), self._now())))
        else:
            self.publish(self._random.choice(happening)())


def _message(input: Input) -> UserMessage | Note:
    content: tuple[UserPart, ...] = (Text(input.text), *input.images)
    if input.text == "stop":
        return Note("extension", content, input.time)
    return UserMessage(content, input.time, input.sent)


def story(random: Random) -> list[events.Event]:
    """Everything that happens in one session, from its beginning on; it ends in the middle of anything."""
    told = Story(random)
    for _ in range(random.randrange(1, 60)):
        told.go_on()
    return told.happened
