"""Replaces the older part of a conversation by a summary that the model writes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from linnet.core.context.compact import SYSTEM, Plan, joined, keep_messages, keep_tokens, questions, touched_files
from linnet.core.context.cost import add, subtract
from linnet.core.context.token_estimate import context_tokens
from linnet.core.events import Compaction, CompactionEnded, CompactionStarted, CompactReason, Event, SummaryRetry
from linnet.core.messages import AssistantMessage, Message, Summary, SystemMessage, Usage
from linnet.errors import Cancelled, NothingToCompact
from linnet.runtime.run.active_job import ActiveJob
from linnet.runtime.run.retries import Retries
from linnet.runtime.run.runner import Runner
from linnet.runtime.settings.settings import Settings

if TYPE_CHECKING:
    from linnet.core.extensions.hooks import SessionCompacting
    from linnet.extensions.chain import Chain

CALLED_OFF = "Compaction cancelled"
EMPTY_SUMMARY = "the model returned an empty summary; nothing was changed"


class Compactor:
    """Compacts the conversation of one job, in its thread."""

    def __init__(
        self, job: ActiveJob, runner: Runner, settings: Settings, retries: Retries, chain: "Chain | None" = None
    ) -> None:
        """`chain`: extensions that may call it off, or write the summary themselves."""
        self._job = job
        self._retries = retries
        self._chain = chain
        self._runner = runner
        self._settings = settings

    def compact(self, reason: CompactReason, instructions: str = "", before: Sequence[Event] = ()) -> CompactionEnded:
        """Publish `before` and CompactionStarted in one step, compact, and return how it ended, for the caller to
        publish. The conversation changes when that is published, not here.

        Raises NothingToCompact before anything is published.
        """
        conversation = self._job.conversation
        messages = _without_failure(conversation.messages) if reason == "overflow" else conversation.messages
        if conversation.compacted:
            raise NothingToCompact("Already compacted")
        plan = self._plan(messages, reason)
        self._job.emit(before, [CompactionStarted(reason)])
        decided = None
        if self._chain is not None and self._chain.handles("session_before_compact"):
            try:
                decided = self._asked(self._chain, messages, plan, reason, instructions)
            except Cancelled:
                return CompactionEnded(reason, None, aborted=True)
            if decided is None:
                return CompactionEnded(reason, None, error=CALLED_OFF)
            instructions = decided.instructions
        spent: Usage = self._job.spent
        if decided is not None and decided.summary:
            return self._ended(messages, plan, reason, decided.summary, spent, by_extension=True)
        answers: list[str] = []
        for question in questions(plan, instructions):
            if not question:
                answers.append("")
                continue
            reply, cost = self._ask(question, reason)
            spent = add(spent, cost)
            if reply.stop in ("error", "aborted"):
                return CompactionEnded(reason, None, aborted=reply.stop == "aborted", error=reply.error, total=spent)
            if not reply.text.strip():
                return CompactionEnded(reason, None, error=EMPTY_SUMMARY, total=spent)
            answers.append(reply.text)
        history, turn = answers
        text = joined(plan, history, turn, *self._files([*plan.old, *plan.prefix]))
        return self._ended(messages, plan, reason, text, spent)

    def _ask(self, question: str, reason: CompactReason) -> tuple[AssistantMessage, Usage]:
        """Return the model's answer, and what it cost. A model that fails for a passing reason is asked again."""
        reply = self._runner.ask_apart(SYSTEM, question)
        cost, attempt = reply.usage, 0
        while reply.stop == "error" and self._retries.may(failure := self._runner.failure, attempt):
            attempt += 1
            delay = self._retries.delay(failure, attempt)
            most, milliseconds = self._retries.most, round(delay * 1000)
            scheduled = SummaryRetry("scheduled", reason, attempt, most, milliseconds, reply.error)
            if not self._retries.wait(delay, [scheduled]):
                aborted = self._job.cancel.is_set
                reply = replace(reply, stop="aborted", error="") if aborted else reply
                break
            self._job.emit([SummaryRetry("begun", reason)])
            reply = self._runner.ask_apart(SYSTEM, question)
            cost = add(cost, reply.usage)
        if attempt:
            self._job.emit([SummaryRetry("finished", reason)])
        return reply, cost

    def _ended(
        self,
        messages: Sequence[Message],
        plan: Plan,
        reason: CompactReason,
        text: str,
        spent: Usage,
        *,
        by_extension: bool = False,
    ) -> CompactionEnded:
        """Return the end of a compaction whose summary is this text."""
        conversation = self._job.conversation
        read, modified = self._files([*plan.old, *plan.prefix])
        summary = Summary(text, context_tokens(messages), self._job.now())
        result = Compaction(
            summary,
            plan.kept,
            conversation.ids[len(messages) - plan.kept] if plan.kept else "",
            tuple(read),
            tuple(modified),
            spent,
            conversation.system if self._settings.session_format != "0.73" else None,
            subtract(spent, self._job.spent),
            context_tokens([summary, *messages[len(messages) - plan.kept :]]),
            by_extension,
        )
        return CompactionEnded(reason, result, will_retry=reason == "overflow")

    def _asked(
        self, chain: "Chain", messages: Sequence[Message], plan: Plan, reason: CompactReason, instructions: str
    ) -> "SessionCompacting | None":
        """Return what extensions made of the compaction; None if one of them calls it off. Raises Cancelled."""
        from linnet.core.extensions.hooks import SessionCompacting

        going = tuple(messages[: len(messages) - plan.kept])
        asked = SessionCompacting(reason, going, plan.kept, context_tokens(messages), instructions)
        outcome = chain.ask(asked, self._job.cancel)
        return None if outcome.stop is not None else outcome.event

    def _plan(self, messages: Sequence[Message], reason: CompactReason) -> Plan:
        """Return which messages go and which are kept. A compaction that nobody asked for is there to make room, so it
        goes by tokens: a few messages may be too long.
        """
        keep = self._settings.keep_messages if reason == "manual" else None
        planner = keep_tokens(self._settings.compact_keep) if keep is None else keep_messages(keep)
        try:
            return planner(messages)
        except NothingToCompact:
            said = any(not isinstance(each, Summary | SystemMessage) for each in messages)
            if reason != "manual" or not self._settings.compact_tiny or not said:
                raise
            return Plan(tuple(messages), (), len(messages))  # It is summed up, and stays.

    def _files(self, gone: Sequence[Message]) -> tuple[list[str], list[str]]:
        """Return the files that were read and those that were modified, in the messages that go and in those that an
        earlier summary replaced.
        """
        read, modified = touched_files(gone)
        earlier = self._job.conversation.last_compaction
        if earlier is not None:
            modified = list(dict.fromkeys([*earlier.modified_files, *modified]))
            read = [path for path in dict.fromkeys([*earlier.read_files, *read]) if path not in modified]
        return read, modified


def _without_failure(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages without a failed reply at the end: it is about to be asked for again."""
    last = messages[-1] if messages else None
    return messages[:-1] if isinstance(last, AssistantMessage) and last.stop == "error" else messages
