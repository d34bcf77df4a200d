"""Carries out one run of the agent: asks the model and runs tools, as the pure machine in `core/loop/run.py` demands.

All of it happens in the thread of the job, or in those of `ParallelTasks`, and never under the session's lock.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar, assert_never

from msgspec.structs import replace

from linnet.core.context.cost import priced
from linnet.core.context.history import repaired
from linnet.core.events import Event, NoteAdded, ReplyStarted, RunEnded, SystemTold, ToolProgressed, UsageGrew
from linnet.core.form import Form, Reading
from linnet.core.inputs import Input
from linnet.core.loop.draft import Draft
from linnet.core.loop.run import Run, cut_off
from linnet.core.loop.run_facts import (
    Aborted,
    Answered,
    AskModel,
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
    TakenUp,
    Task,
)
from linnet.core.messages import (
    AssistantMessage,
    Message,
    Note,
    StopReason,
    SystemMessage,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from linnet.core.slash import Fetch
from linnet.core.toolspec import ToolSpec
from linnet.errors import BadInput, Cancelled, LimitReached, ProviderError
from linnet.providers.base import Request
from linnet.runtime.error_report import explained
from linnet.runtime.run.active_job import ActiveJob
from linnet.runtime.run.parallel_tasks import ParallelTasks
from linnet.runtime.run.prepare import prepared
from linnet.runtime.settings.settings import Settings
from linnet.runtime.tools.session_tools import SessionTools
from linnet.tools.context import ToolContext

if TYPE_CHECKING:
    from linnet.core.left_off import OpenRun
    from linnet.runtime.run.run_hooks import RunHooks

AnyMessage = TypeVar("AnyMessage", bound=Message)
NOT_USED = "appeared while the agent worked in a sandbox, and is not used: {}"
MOST_NAMED = 5
MOST_UNTOLD = 64 * 1024  # Characters of a tool's progress that are kept for a reader who is behind.


class Runner:
    """Carries out the runs of one job. An answer that does not fit the form that was asked for is asked for again,
    once.
    """

    def __init__(
        self, job: ActiveJob, session_tools: SessionTools, settings: Settings, form: Form | None = None
    ) -> None:
        self._job = job
        self._session_tools = session_tools
        self._resources = session_tools.resources
        self._settings = settings
        self._hooks = _hooks(session_tools, job)
        self.failure: ProviderError | None = None  # Why the last reply failed, if it did.
        self.limit: LimitReached | None = None  # The limit that ended the last run, if one did.
        self.reading: Reading | None = None  # What the last answer says, if it was to have a form.
        self._form = form
        self._objected = False  # Whether the model was asked again for an answer that fits.
        self.make_room: Callable[[], None] = lambda: None  # Shortens the conversation if it is too long.
        self._unsaid = ""  # Why something that was said could not be made a message.
        self._keeps_system = settings.session_format != "0.73"  # And how long things took.
        self._looked = False  # What people wrote was read again for the run that is about to begin.

    def prepare(self, inputs: Sequence[Input], *, queued: bool = False) -> tuple[UserMessage | Note, ...]:
        """Return the messages that the model is sent for these inputs; none, if extensions have seen to all of them."""
        heard = inputs if self._hooks is None else self._hooks.heard(inputs, queued=queued)
        return tuple(map(self.prepared, heard))

    def begin(self, messages: tuple[UserMessage | Note, ...]) -> tuple[Opening, ...]:
        """Return the messages that a run begins with: these, and the notes that extensions add; before them, where the
        session keeps it, what has changed about what the model is told before the conversation.
        """
        if self._keeps_system:
            self._resources.look()
            self._looked = True
        if self._hooks is not None:
            try:
                messages = (*messages, *self._hooks.starting(messages, self._system, self._job.now()))
            except Cancelled:
                return messages  # The run notices the abort by itself.
            messages = tuple(map(self._hooks.ended, messages))
        if not self._keeps_system or (self._settings.mcp and self._resources.known_servers is None):
            return messages  # Servers are waited for when the run has begun: the first step tells what they bring.
        change = self._system_change(self._session_tools.tools.specs)
        return messages if change is None else (change, *messages)

    def take_up(self, run: "OpenRun") -> TakenUp:
        """Return the fact with which a run goes on that another process left off."""
        self._objected = run.objected
        return TakenUp(run, self._job.now(), self._not_asked() if self._job.cancel.is_set else None)

    def run(self, prompted: Prompted | TakenUp) -> RunEnded:
        """Carry out one run. Return its end, for the caller to publish in one step with what follows from it."""
        job = self._job
        chain = self._session_tools.chain
        run = Run(
            job.limits,
            job.spent,
            job.queues,
            self._settings.calls_at_once,
            job.earlier,
            reviews=self._form is not None,
            skips=self._settings.steering_skips,
            makes_room=self._settings.compact_between_steps,
            alone=_never if chain is None else chain.runs_alone,
        )
        tasks = ParallelTasks(self._carry_out)
        following = self._job.advance(run, prompted)  # Tells that the run has started, before anything takes time.
        if not self._looked:
            self._resources.look()
        self._looked = False
        if (appeared := self._settings.project.appeared()) is not None:
            job.emit([appeared])
            job.warn(NOT_USED.format(", ".join(appeared.changed[:MOST_NAMED])))
        while not isinstance(following, RunEnded):
            following = self._job.advance(run, tasks.next(following))
        self.limit = run.limit
        if self._hooks is not None:
            self._hooks.ending(following.messages)
        return following

    @property
    def settles(self) -> bool:
        """Whether an extension has a say before the agent is done with a prompt."""
        return self._hooks is not None and self._hooks.settles

    def goes_on(self, outcome: str) -> bool:
        """Return whether an extension wants the agent to go on, which would be done otherwise; tell what it adds."""
        assert self._hooks is not None
        notes, more = self._hooks.settling(self._job.conversation.messages, outcome)
        if notes:
            self._job.emit([NoteAdded(note) for note in notes])
        return more and not self._job.cancel.is_set

    def prepared(self, input: Input) -> UserMessage | Note:
        """Return the message that the model is sent for one input. If the MCP server that it names refuses, the message
        is told as it was typed, and the next step fails for that reason instead of asking the model.
        """
        if not isinstance(input.meant, Fetch):
            return prepared(input)
        try:
            return prepared(input, self._resources.slash_names.fetched(input.meant, self._job.cancel))
        except Cancelled:
            return prepared(input)
        except BadInput as error:
            self._unsaid = str(error)
            return prepared(input)

    def ask_apart(self, system: str, question: str) -> AssistantMessage:
        """Return the model's reply to a question that is no part of the conversation. No event tells of it."""
        asked = UserMessage((Text(question),), self._job.now())
        # It is asked once, so that nothing of it is worth keeping.
        return self._stream(Request(self._job.model, system, [asked], cache="off"), lambda events: None)

    def _carry_out(self, task: Task) -> Fact:
        """Do a task of the machine, and return the fact with which it goes on. Called in several threads at once if
        several tools run.
        """
        match task:
            case Prepare(inputs):
                return Prepared(tuple(map(self._ended, self.prepare(inputs, queued=True))))
            case AskModel(step):
                return Replied(self._ended(self._ask(step)))
            case RunTool(index, call):
                result = self._run_tool(call)
                aborted = self._job.cancel.is_set
                if aborted:
                    return Aborted(index, result, self._not_asked())
                return Answered(index, result, self._ended(result))
            case Review(text):
                return self.review(text)
            case MakeRoom():
                self.make_room()
                return RoomMade(self._not_asked() if self._job.cancel.is_set else None)
            case _:
                assert_never(task)

    def _ended(self, message: AnyMessage) -> AnyMessage:
        """Return a message as extensions want it, before it is told."""
        return message if self._hooks is None else self._hooks.ended(message)

    def review(self, text: str) -> Reviewed:
        """Read the answer in the form that was asked for, into `reading`. The check may be a function of the program's:
        it is called so that an abort does not wait for it. Returns the fact, with a message that asks again if it did
        not fit for the first time.
        """
        assert self._form is not None
        try:
            self.reading = self._resources.foreign.call(self._form.read, self._job.cancel, text)
        except Cancelled:
            return Reviewed(cut=self._not_asked())
        assert self.reading is not None
        if not self.reading.problem or self._objected:
            return Reviewed()
        self._objected = True
        again = self._form.question_again(self.reading.problem)
        return Reviewed(UserMessage((Text(again),), self._job.now()))

    def _ask(self, step: int) -> AssistantMessage:
        """Ask the model for the reply of a step, and tell it as it comes. Returns it, however it ended."""
        if self._unsaid:
            reason, self._unsaid = self._unsaid, ""
            return Draft().message(self._job.now(), self._job.model, Usage(), "error", reason)
        hooks = self._hooks
        try:
            self._resources.begin(self._job.cancel)
            if hooks is not None and (reason := hooks.refusal(step)):
                return Draft().message(self._job.now(), self._job.model, Usage(), "error", reason)
            conversation = self._job.conversation
            messages = conversation.sendable() if hooks is None else repaired(hooks.context(conversation.messages))
        except Cancelled:
            return self._not_asked()
        tools = self._session_tools.tools.specs
        if self._keeps_system and (change := self._system_change(tools)) is not None:
            self._job.emit([SystemTold(change)])
        system = self._system(tools) if hooks is None or hooks.system is None else hooks.system
        request = Request(
            self._job.model,
            system,
            messages,
            tools,
            self._job.reasoning,
            self._settings.prompt_cache,
            self._job.session_id,
        )
        if hooks is None or not hooks.edits_replies:
            return self._stream(request, self._job.emit)
        from linnet.core.loop.edited_reply import retold

        held: list[Event] = []  # Not told until extensions have seen the whole reply.
        reply = self._stream(request, held.extend)
        edited = hooks.replied(reply)
        self._job.emit(held if edited is reply else retold(held, edited))
        return edited

    def _system(self, tools: Sequence[ToolSpec] | None = None) -> str:
        """Return the system prompt for a step in which the model has these tools, or those there are now."""
        specs = self._session_tools.tools.specs if tools is None else tools
        names = [spec.name for spec in specs]
        chain = self._session_tools.chain
        return self._resources.system(names, chain.hints(names) if chain is not None else ())

    def _system_change(self, tools: Sequence[ToolSpec]) -> SystemMessage | None:
        """Return how what the model is told before the conversation differs from what was told of it; None if it does
        not. It has these tools.
        """
        from linnet.core.context.system_changes import changed  # Few sessions keep it.

        own = None if self._hooks is None else self._hooks.system
        names, chain = [spec.name for spec in tools], self._session_tools.chain
        hints = chain.hints(names) if chain is not None else ()
        told = self._resources.system_sections(names, hints) if own is None else {"preamble": own}
        return changed(self._job.conversation.system, told, tools, self._job.now())

    def _stream(self, request: Request, emit: Callable[[Sequence[Event]], None]) -> AssistantMessage:
        """Send the request, and pass the events of the reply to `emit` as they come. Returns the reply, however it
        ended: a failure is in its stop reason, and in `failure`. Never raises.
        """
        draft = Draft()
        used = draft.usage
        model, time = request.model, self._job.now()
        opened = False
        stop: StopReason | None = None
        error = ""
        self.failure = None
        try:
            provider = self._resources.provider(model, self._job.cancel)
            for batch in provider.stream(request, self._job.cancel):
                events = draft.add(batch)
                if draft.usage is not used:
                    used = draft.usage
                    events.insert(0, UsageGrew(priced(used, model.prices, time)))
                if not opened:
                    opened = True
                    events.insert(0, ReplyStarted(model.api, model.provider, model.id, time))
                if events:
                    emit(events)
                if draft.has_calls:
                    self._resources.expect_commands()
        except Cancelled:
            stop, error = self._job.cut_short()
        except ProviderError as failure:
            stop, error, self.failure = "error", str(failure), failure
        except Exception as fault:
            stop, error = "error", explained(fault, "a provider broke")
        reply = draft.message(time, model, priced(draft.usage, model.prices, time), stop, error)
        return replace(reply, duration=self._job.now() - time) if self._keeps_system else reply

    def _not_asked(self) -> AssistantMessage:
        """Return the empty reply of a step that was interrupted before the model was asked."""
        return Draft().message(self._job.now(), self._job.model, Usage(), *self._job.cut_short())

    def _run_tool(self, call: ToolCall) -> ToolResult:
        """Run a tool call, and return its result; after an abort, one that says how far it had come."""
        untold = ""

        def progress(text: str) -> None:
            nonlocal untold
            untold = (untold + text)[-MOST_UNTOLD:]
            if self._job.preview(ToolProgressed(call.id, call.name, untold)):
                untold = ""

        cancel, began = self._job.cancel, self._job.now()
        settings = self._settings
        context = ToolContext(
            settings.cwd,
            cancel,
            progress,
            self._resources.processes,
            settings.wording,
            self._session_tools.asking(cancel),
            settings.bash_timeout,
            self._resources.bounds,
            self._resources.shell,
        )
        try:
            cancel.check()
            output = self._session_tools.tools.run(call, context)
        except Cancelled:
            late, ended = self._job.limit is not None, self._job.now()
            begun = context.has_begun
            result = cut_off(call, ended, begun=begun, late=late)
        else:
            begun, ended = output.ran, self._job.now()
            content, details = output.content, output.details
            result = ToolResult(call.id, call.name, content, ended, output.is_error, details, ends_run=output.ends_run)
        return replace(result, duration=ended - began) if self._keeps_system and begun else result


def _never(tool: str) -> bool:
    """Return that a tool does not mind others."""
    return False


def _hooks(session_tools: SessionTools, job: ActiveJob) -> "RunHooks | None":
    """Return what asks the extensions; None if there are none."""
    if session_tools.chain is None:
        return None
    from linnet.runtime.run.run_hooks import RunHooks  # Most agents have no extensions.

    return RunHooks(session_tools.chain, job.cancel)
