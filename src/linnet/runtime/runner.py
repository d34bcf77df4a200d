"""One run: carries out what the machine in `core/run.py` asks for. Nothing else in a run blocks."""

from collections.abc import Callable, Sequence
from typing import assert_never

from linnet.core.cost import priced
from linnet.core.draft import Draft
from linnet.core.events import Event, ReplyStarted, RunEnded, ToolProgressed
from linnet.core.history import repaired
from linnet.core.inputs import Input
from linnet.core.messages import AssistantMessage, StopReason, Text, ToolCall, ToolResult, Usage, UserMessage
from linnet.core.run import (
    Aborted,
    Answered,
    AskModel,
    Fact,
    Prepare,
    Prepared,
    Prompted,
    Replied,
    Run,
    RunTool,
    Task,
    not_run,
)
from linnet.errors import BadInput, Cancelled, LimitReached, ProviderError
from linnet.providers.base import Request
from linnet.runtime.active_job import ActiveJob
from linnet.runtime.fault import explained
from linnet.runtime.prepare import prepared
from linnet.runtime.settings import Settings
from linnet.runtime.side_by_side import SideBySide
from linnet.runtime.toolbox import Toolbox
from linnet.tools.context import ToolContext

MOST_UNTOLD = 64 * 1024  # Characters of a tool's progress that are kept for a reader who is behind.


class Runner:
    """`failure` is why the last reply failed, if it did; `limit` why the last run was not gone on with."""

    def __init__(self, job: ActiveJob, toolbox: Toolbox, settings: Settings) -> None:
        self._job = job
        self._toolbox = toolbox
        self._resources = toolbox.resources
        self._settings = settings
        self.failure: ProviderError | None = None
        self.limit: LimitReached | None = None
        self._unsaid = ""  # Why something that was said could not be made a message.

    def run(self, prompted: Prompted) -> RunEnded:
        """One run. Its end is returned, for the caller to publish together with what follows from it."""
        job = self._job
        run = Run(job.limits, job.spent, job.queues, self._settings.calls_at_once, job.earlier)
        tasks = SideBySide(self._carry_out)
        following = self._job.advance(run, prompted)
        self._resources.look()
        while not isinstance(following, RunEnded):
            following = self._job.advance(run, tasks.next(following))
        self.limit = run.limit
        return following

    def prepared(self, input: Input) -> UserMessage:
        """The message that the model is sent. If what it stands for cannot be had, the model is not asked, and the run
        fails for that reason.
        """
        try:
            return prepared(input, self._resources.inputs.fetched(input.text, self._job.cancel))
        except Cancelled:
            return prepared(input)
        except BadInput as error:
            self._unsaid = str(error)
            return prepared(input)

    def ask_apart(self, system: str, question: str) -> AssistantMessage:
        """A question that is no part of the conversation, and that nobody watches being answered."""
        asked = UserMessage((Text(question),), self._job.now())
        return self._stream(Request(self._job.model, system, [asked]), lambda events: None)

    def _carry_out(self, task: Task) -> Fact:
        match task:
            case Prepare(inputs):
                return Prepared(tuple(map(self.prepared, inputs)))
            case AskModel():
                return Replied(self._ask())
            case RunTool(index, call):
                result = self._run_tool(call)
                aborted = self._job.cancel.is_set
                return Aborted(index, result, self._not_asked()) if aborted else Answered(index, result)
            case _:
                assert_never(task)

    def _ask(self) -> AssistantMessage:
        if self._unsaid:
            reason, self._unsaid = self._unsaid, ""
            return Draft().message(self._job.now(), self._job.model, Usage(), "error", reason)
        try:
            self._resources.begin(self._job.cancel)
        except Cancelled:
            return self._not_asked()
        messages = repaired(self._job.conversation.messages)
        specs = self._toolbox.tools.specs
        system = self._resources.system([spec.name for spec in specs])
        request = Request(self._job.model, system, messages, specs, self._job.reasoning)
        return self._stream(request, self._job.emit)

    def _stream(self, request: Request, emit: Callable[[Sequence[Event]], None]) -> AssistantMessage:
        """The reply, however it ended: a failure is how a reply stops, not something that is thrown."""
        draft = Draft()
        model, time = request.model, self._job.now()
        opened = False
        stop: StopReason | None = None
        error = ""
        self.failure = None
        try:
            provider = self._resources.provider(model.provider, self._job.cancel)
            for batch in provider.stream(request, self._job.cancel):
                events = draft.add(batch)
                if not opened:
                    opened = True
                    events.insert(0, ReplyStarted(model.api, model.provider, model.id, time))
                if events:
                    emit(events)
                if request.tools:
                    self._resources.expect_commands()
        except Cancelled:
            stop, error = self._job.cut_short()
        except ProviderError as failure:
            stop, error, self.failure = "error", str(failure), failure
        except Exception as fault:
            stop, error = "error", explained(fault, "a provider broke")
        return draft.message(time, model, priced(draft.usage, model.prices), stop, error)

    def _not_asked(self) -> AssistantMessage:
        return Draft().message(self._job.now(), self._job.model, Usage(), *self._job.cut_short())

    def _run_tool(self, call: ToolCall) -> ToolResult:
        untold = ""

        def progress(text: str) -> None:
            nonlocal untold
            untold = (untold + text)[-MOST_UNTOLD:]
            if self._job.preview(ToolProgressed(call.id, call.name, untold)):
                untold = ""

        cancel = self._job.cancel
        settings = self._settings
        context = ToolContext(
            settings.cwd,
            cancel,
            progress,
            self._resources.processes,
            settings.wording,
            self._toolbox.asking(cancel),
            settings.bash_timeout,
            self._resources.bounds,
            self._resources.shell,
        )
        try:
            cancel.check()
            output = self._toolbox.tools.run(call, context)
        except Cancelled:
            return not_run(call, self._job.now())
        return ToolResult(call.id, call.name, output.content, self._job.now(), output.is_error, output.details)
