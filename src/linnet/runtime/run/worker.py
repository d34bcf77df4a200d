"""Carries out one job to its last event: the runs of a prompt, retries after a failure, compactions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from linnet.core.commands import Compact, Compacted, Done, Prompt
from linnet.core.context.token_estimate import context_tokens
from linnet.core.events import (
    CompactionEnded,
    CompactionStarted,
    CompactReason,
    Event,
    FailureForgotten,
    OutputRead,
    RetryEnded,
    RetryScheduled,
    RunEnded,
    Settled,
)
from linnet.core.form import Reading
from linnet.core.inputs import Input
from linnet.core.loop.run_facts import Prompted, TakenUp
from linnet.core.messages import AssistantMessage, StopReason
from linnet.core.slash import RunNamed
from linnet.errors import (
    BadOutput,
    Cancelled,
    ContextOverflow,
    LinnetError,
    NothingToCompact,
    ProviderError,
)
from linnet.runtime.run.active_job import ActiveJob, Outcome
from linnet.runtime.run.prepare import asking
from linnet.runtime.run.retries import Retries
from linnet.runtime.run.runner import Runner
from linnet.runtime.run.warnings import warnings
from linnet.runtime.settings.settings import Settings
from linnet.runtime.tools.session_tools import SessionTools

if TYPE_CHECKING:
    from linnet.core.left_off import LeftOff
    from linnet.extensions.chain import Chain
    from linnet.runtime.run.compactor import Compactor

COMPACTION_CANCELLED = "Compaction cancelled"
RETRY_CANCELLED = "Retry cancelled"
COMMAND_LOST = "the agent's process ended while /{} ran: it may have done some of its work, and is not run again"
_SMALL_WINDOW = 32_768  # Tokens. A model on this machine may have few.


class Worker:
    """Works in the thread of the job, and never under the session's lock. Invariant: the job is settled exactly once,
    when all that was said to it is answered; `ActiveJob.settle` decides whether that is so.
    """

    def __init__(self, job: ActiveJob, session_tools: SessionTools, settings: Settings, work: Prompt | Compact) -> None:
        self._job = job
        self._settings = settings
        self._session_tools = session_tools
        self._work = work
        self._form = work.form if isinstance(work, Prompt) else None
        self._runner = Runner(job, session_tools, settings, self._form)
        self._runner.make_room = self._make_room
        self._retries = Retries(job, settings)

    def carry_out(self) -> None:
        """Carry out the job. Its last event is Settled."""
        work = self._work
        if isinstance(work, Compact):
            self._compact(work)
            return
        for sentence in warnings(self._job):
            self._job.warn(sentence)
        if self._job.left_off is not None:
            self._take_up(self._job.left_off)
            return
        input = work.as_input(self._job.began)
        chain = self._session_tools.chain
        if chain is not None and isinstance(input.meant, RunNamed):
            self._say_all(self._command(chain, input.meant))
        else:
            self._say_all((input,), input)

    def _take_up(self, left: "LeftOff") -> None:
        """Go on from where another process left this prompt off: in a run, before one, in the wait for a retry or a
        compaction, or at its end.
        """
        if left.run is not None:
            self._say_all(self._see_through(self._runner.take_up(left.run), left.attempt, overflowed=left.overflowed))
        elif left.inputs:
            self._say_all(*self._unsaid(left))
        elif left.again and not self._job.cancel.is_set and self._compacted(left):
            self._say_all(self._see_through(Prompted(), left.attempt, overflowed=left.overflowed))
        elif left.ended is not None:
            self._say_all(self._conclude(left.ended, left.attempt))

    def _conclude(self, ended: RunEnded, attempt: int) -> tuple[Input, ...]:
        """Settle a prompt whose last run has ended, which was told. Returns what is queued, if the prompt goes on."""
        if self._form is not None:
            replies = [each for each in ended.messages if isinstance(each, AssistantMessage)]
            self._runner.review(replies[-1].text if replies else "")
        done = self._done(ended, None)
        return self._job.settle(_retried(ended, attempt), Settled("prompt", done.stop, done.error), done)

    def _unsaid(self, left: "LeftOff") -> tuple[tuple[Input, ...], Input | None]:
        """Return the inputs to be said, and which of them is the prompt's own. A command of an extension is not run
        again: it may have run.
        """
        inputs = tuple(replace(each, time=each.time or self._job.began) for each in left.inputs)
        meant = inputs[0].meant if left.first else None
        if isinstance(meant, RunNamed):
            reason = COMMAND_LOST.format(meant.name)
            lost = Done("error", reason, LinnetError(reason))
            return self._job.settle([], Settled("prompt", lost.stop, reason), lost), None
        return inputs, inputs[0] if left.first else None

    def _compacted(self, left: "LeftOff") -> bool:
        """Return whether another run may begin, after doing again a compaction that was left off."""
        return left.again == "ask" or self._try_compact("overflow", [])

    def _say_all(self, heard: tuple[Input, ...], input: Input | None = None) -> None:
        """Have these inputs answered, and then those that were queued meanwhile, until the job is settled. `input` is
        the prompt's own, to which the form of the answer belongs.
        """
        while heard:
            self._make_room()
            messages = self._runner.prepare(heard)
            self._job.tell_heard(handled=not messages)
            if not messages:  # Extensions have seen to all of it: there is nothing to ask the model.
                seen_to = self._judged(Done("end"))
                heard = self._job.settle(self._output(seen_to), Settled("prompt", "end", seen_to.error), seen_to)
                continue
            if heard[0] is input and self._form is not None:
                messages = (asking(messages[0], self._form.question), *messages[1:])
            heard = self._see_through(Prompted(self._runner.begin(messages)))

    def _see_through(
        self, fact: Prompted | TakenUp, attempt: int = 0, *, overflowed: bool = False
    ) -> tuple[Input, ...]:
        """Run until there is an answer, and settle the prompt. Returns what is queued, if the prompt goes on."""
        while True:
            ended, failure, closing = self._answer(fact, attempt, overflowed=overflowed)
            done = self._done(ended, failure)
            if self._runner.settles and done.stop != "aborted" and self._job.over is None and not self._job.waits:
                self._job.emit(closing)
                closing = []
                if self._runner.goes_on("error" if done.stop == "error" else "completed"):
                    fact, attempt, overflowed = Prompted(), 0, False
                    continue
            return self._job.settle(closing, Settled("prompt", done.stop, done.error), done)

    def _command(self, chain: "Chain", run: RunNamed) -> tuple[Input, ...]:
        """Run a command of an extension, and settle the prompt. Returns what is queued, if the prompt goes on."""
        stop: StopReason = "end"
        try:
            chain.run_command(run.name, run.arguments, self._job.cancel)
        except Cancelled:
            stop = "aborted"
        return self._job.settle((), Settled("prompt", stop), Done(stop))

    def _compact(self, command: Compact) -> None:
        """Carry out a compaction that was asked for, and settle it."""
        failure: LinnetError | None = None
        try:
            ended = self._compactor.compact("manual", command.instructions)
            failure = self._runner.failure
        except NothingToCompact as error:
            ended, failure = CompactionEnded("manual", None, error=str(error)), error
        outcome: Outcome
        if ended.result:
            settled, outcome = Settled("compact", "end"), Compacted(ended.result)
        else:
            settled = Settled("compact", "aborted" if ended.aborted else "error", ended.error)
            reason = None if ended.aborted else failure  # What failed before was to be tried again.
            outcome = reason or LinnetError(ended.error or COMPACTION_CANCELLED)
        self._job.settle([ended], settled, outcome)

    def _done(self, ended: RunEnded, failure: ProviderError | None) -> Done:
        """Return the outcome of a prompt whose last run ended so. If a limit cut it short, that is the reason, whatever
        else went wrong.
        """
        limit = self._job.limit or self._runner.limit
        if limit is None or ended.stop not in ("error", "aborted"):
            return self._judged(Done(ended.stop, ended.error, failure))
        return Done("error", str(limit), limit)

    def _judged(self, done: Done) -> Done:
        """Return the outcome with the value of the answer, or with the reason why there is none, if the answer was to
        have a form.
        """
        if self._form is None or done.stop in ("error", "aborted", "length"):
            return done
        reading = self._runner.reading or Reading(problem="there is none: the model was not asked")
        if not reading.problem:
            return Done(done.stop, value=reading.value)
        failure = BadOutput(f"the answer does not fit: {reading.problem}")
        return Done(done.stop, str(failure), failure)

    def _output(self, done: Done) -> list[Event]:
        """Return the event that tells the value of the answer, or why there is none; no event if no form was
        asked for.
        """
        if isinstance(done.failure, BadOutput):
            return [OutputRead(problem=str(done.failure))]
        reading = self._runner.reading
        return [OutputRead(reading.data)] if reading is not None and done.value is not UNSET else []

    def _answer(
        self, prompted: Prompted | TakenUp, attempt: int, *, overflowed: bool
    ) -> tuple[RunEnded, ProviderError | None, list[Event]]:
        """Run, compact and retry until there is an answer, or none to be had. Returns how the last run ended, why it
        failed, and the events that are still to be told. `attempt` is how many runs have failed before; `overflowed`
        says that one of them failed because the conversation was too long.
        """
        while True:
            ended = self._runner.run(prompted)
            failure = self._runner.failure if ended.stop == "error" else None
            prompted = Prompted()
            tried: list[Event] = []
            if attempt and failure is not None and _has_answer(ended):  # What it was tried again for has succeeded.
                tried, attempt = [RetryEnded(True, attempt)], 0
            may_go_on = self._job.over is None
            if isinstance(failure, ContextOverflow) and self._job.auto_compaction and not overflowed and may_go_on:
                overflowed = True  # Once: a conversation that is too long after a compaction will stay so.
                if self._try_compact("overflow", [ended, *tried]):
                    continue
                return ended, failure, [RetryEnded(False, attempt, ended.error)] if attempt else []
            if may_go_on and self._retries.may(failure, attempt):
                attempt += 1
                delay = self._retries.delay(failure, attempt)
                scheduled = RetryScheduled(attempt, self._retries.most, round(delay * 1000), ended.error)
                if self._retries.wait(delay, [replace(ended, again=True), *tried, scheduled]):
                    continue
                return ended, failure, [RetryEnded(False, attempt, str(self._job.limit or RETRY_CANCELLED))]
            output = self._output(self._done(ended, failure)) if self._form is not None else []
            closing: list[Event] = [*output, ended, *tried, *_retried(ended, attempt)]
            if ended.stop not in ("error", "aborted") and self._is_full():
                self._try_compact("threshold", closing)
                closing = []
            return ended, failure, closing

    @property
    def _compactor(self) -> "Compactor":
        from linnet.runtime.run.compactor import Compactor  # Not needed by most runs.

        return Compactor(self._job, self._runner, self._settings, self._retries, self._session_tools.chain)

    def _is_full(self) -> bool:
        """Return whether the conversation is to be compacted unasked before more is said."""
        conversation, model = self._job.conversation, self._job.model
        if not self._job.auto_compaction or conversation.compacted or self._job.over is not None:
            return False
        window, reserve = model.context_window, self._settings.compact_reserve
        if window <= min(reserve, _SMALL_WINDOW):
            reserve = window // 2  # Else it would be full from the start.
        return context_tokens(conversation.messages) > window - reserve

    def _make_room(self) -> None:
        if self._is_full():
            self._try_compact("threshold", [])

    def _try_compact(self, reason: CompactReason, before: Sequence[Event]) -> bool:
        """Compact the conversation unasked; return whether that worked. `before` is published in one step with the
        start. A compaction that would change nothing is not told, unless a run failed for want of room.
        """
        going_on = [replace(each, again=True) if isinstance(each, RunEnded) else each for each in before]
        if reason == "overflow" and self._settings.session_format != "0.73":
            before, going_on = [*before, FailureForgotten()], [*going_on, FailureForgotten()]
        try:
            ended = self._compactor.compact(reason, before=going_on if reason == "overflow" else before)
        except NothingToCompact as error:
            if reason == "threshold":
                if before:
                    self._job.emit(before)
                return False
            self._job.emit(before, [CompactionStarted(reason)])
            ended = CompactionEnded(reason, None, error=str(error))
        self._job.emit([ended])
        return ended.result is not None


def _has_answer(ended: RunEnded) -> bool:
    """Return whether the model has answered in this run, if only to ask for tools."""
    replies = [each for each in ended.messages if isinstance(each, AssistantMessage)]
    return any(each.stop not in ("error", "aborted") for each in replies)


def _retried(ended: RunEnded, attempt: int) -> list[Event]:
    """Return the event that tells how the retries ended; no event if there were none."""
    succeeded = ended.stop not in ("error", "aborted")
    return [RetryEnded(succeeded, attempt, "" if succeeded else ended.error or RETRY_CANCELLED)] if attempt else []
