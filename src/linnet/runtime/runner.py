"""Carries out what the core decides. Nothing else in a run blocks."""

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

from linnet.core import compact
from linnet.core.cancel import Cancel
from linnet.core.commands import Compact, Prompt
from linnet.core.conversation import Conversation
from linnet.core.cost import add, priced
from linnet.core.draft import Draft
from linnet.core.events import Compacted, Event, Interrupted, ReplyStarted, RunEnded, RunStarted, ToolProgressed
from linnet.core.history import repaired
from linnet.core.messages import AssistantMessage, StopReason, Text, ToolCall, ToolResult, Usage, UserMessage, UserPart
from linnet.core.models import Model
from linnet.core.turn import Aborted, Answered, AskModel, Effect, Emit, Prompted, Replied, RunTool, Turn, not_run
from linnet.errors import Cancelled, NothingToCompact, ProviderError
from linnet.providers.base import Request
from linnet.runtime.config import Settings
from linnet.runtime.machinery import Machinery
from linnet.tools.context import ToolContext


class Runner:
    """One run. It reads the conversation and changes it only through the events it emits."""

    def __init__(
        self,
        *,
        machinery: Machinery,
        conversation: Conversation,
        spent: Usage,
        model: Model,
        settings: Settings,
        cancel: Cancel,
        emit: Callable[[Sequence[Event]], None],
        clock: Callable[[], int],
    ) -> None:
        self._machinery = machinery
        self._conversation = conversation
        self._spent = spent
        self._model = model
        self._settings = settings
        self._cancel = cancel
        self._emit = emit
        self._clock = clock

    def prompt(self, prompt: Prompt) -> None:
        content: tuple[UserPart, ...] = (*([Text(prompt.text)] if prompt.text else []), *prompt.images)
        turn = Turn(self._settings.max_steps, self._spent)
        todo: deque[Effect] = deque(turn.feed(Prompted(UserMessage(content, self._clock()))))
        while todo:
            match todo.popleft():
                case Emit(event):
                    together = [event]
                    while todo and isinstance(following := todo[0], Emit):
                        together.append(following.event)
                        todo.popleft()
                    self._emit(together)
                case AskModel():
                    todo.extend(turn.feed(Replied(self._ask())))
                case RunTool(call):
                    result = self._run(call)
                    todo.extend(turn.feed(Aborted(result) if self._cancel.is_set else Answered(result)))

    def compact(self, command: Compact) -> None:
        self._emit([RunStarted("compact")])
        try:
            plan = compact.plan(self._conversation.messages)
        except NothingToCompact as error:
            self._emit([RunEnded("compact", "error", str(error))])
            return
        question = UserMessage((Text(compact.question(plan.old, command.instructions)),), self._clock())
        request = Request(self._model, compact.SYSTEM, [question])
        reply = self._stream(request, lambda events: None)
        if reply.stop == "aborted":
            self._emit([Interrupted(), RunEnded("compact", "aborted")])
        elif reply.stop == "error":
            self._emit([RunEnded("compact", "error", reply.error)])
        elif not reply.text.strip():
            self._emit([RunEnded("compact", "error", "the model returned an empty summary; nothing was changed")])
        else:
            message = compact.summary_message(reply.text, self._clock())
            total = add(self._spent, reply.usage)
            self._emit([Compacted(reply.text, message, plan.kept, total), RunEnded("compact", "end")])

    def _ask(self) -> AssistantMessage:
        messages = repaired(self._conversation.messages)
        request = Request(
            self._model, self._machinery.system, messages, self._machinery.tools.specs, self._settings.reasoning
        )
        return self._stream(request, self._emit)

    def _stream(self, request: Request, emit: Callable[[Sequence[Event]], None]) -> AssistantMessage:
        """The reply, however it ended: a failure is how a reply stops, not something that is thrown."""
        draft = Draft()
        model, time = request.model, self._clock()
        opened = False
        stop: StopReason | None = None
        error = ""
        try:
            for batch in self._machinery.provider.stream(request, self._cancel):
                events = draft.add(batch)
                if not opened:
                    opened = True
                    events.insert(0, ReplyStarted(model.provider, model.id, time))
                if events:
                    emit(events)
        except Cancelled:
            stop = "aborted"
        except ProviderError as failure:
            stop, error = "error", str(failure)
        return draft.message(time, model.provider, model.id, priced(draft.usage, model.prices), stop, error)

    def _run(self, call: ToolCall) -> ToolResult:
        def progress(text: str) -> None:
            self._emit([ToolProgressed(call.id, call.name, text)])

        context = ToolContext(Path(self._settings.cwd), self._cancel, progress, self._machinery.processes)
        try:
            self._cancel.check()
            output = self._machinery.tools.run(call, context)
        except Cancelled:
            return not_run(call, self._clock())
        return ToolResult(call.id, call.name, output.content, self._clock(), output.is_error, output.details)
