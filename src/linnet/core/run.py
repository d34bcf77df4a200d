"""The agent loop as a machine: facts in, effects out. It never waits, so any order of facts can be tried."""

from collections import deque
from collections.abc import Iterable
from typing import TypeAlias, assert_never

from msgspec import Struct

from linnet.core import cost
from linnet.core.events import (
    Event,
    Interrupted,
    QueueChanged,
    ReplyEnded,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    ToolFinished,
    ToolStarted,
    UserSaid,
)
from linnet.core.messages import AssistantMessage, Message, StopReason, Text, ToolCall, ToolResult, Usage, UserMessage
from linnet.core.queues import Queues

NOT_RUN = "Not run: the turn was aborted."
SKIPPED = "Skipped due to queued user message."


class Prompted(Struct, frozen=True):
    """Without a message the run takes up a conversation where an earlier run failed."""

    messages: tuple[UserMessage, ...] = ()


class Replied(Struct, frozen=True):
    """Whatever came of the model call: a failure or an abort is a reply that stopped for that reason."""

    message: AssistantMessage


class Answered(Struct, frozen=True):
    result: ToolResult


class Aborted(Struct, frozen=True):
    """While a tool ran; `result` is what it had by then, `reply` the one that will not be asked for.

    An abort while the model speaks arrives as a reply.
    """

    result: ToolResult
    reply: AssistantMessage


class AskModel(Struct, frozen=True):
    step: int


class RunTool(Struct, frozen=True):
    call: ToolCall


class Emit(Struct, frozen=True):
    event: Event


Fact: TypeAlias = Prompted | Replied | Answered | Aborted
Effect: TypeAlias = AskModel | RunTool | Emit


class Turn:
    """One run. Invariants: one effect that blocks is outstanding at a time, every call is answered before the next
    question, and the run ends exactly once.
    """

    def __init__(self, max_steps: int, spent: Usage, queues: Queues) -> None:
        self._max_steps = max_steps
        self._total = spent
        self._queues = queues
        self._step = 0
        self._asked = False
        self._reply: AssistantMessage | None = None
        self._running: ToolCall | None = None
        self._waiting: deque[ToolCall] = deque()
        self._results: list[ToolResult] = []
        self._said: list[Message] = []

    def feed(self, fact: Fact) -> list[Effect]:
        match fact:
            case Prompted(messages):
                return [Emit(RunStarted()), *self._ask(messages)]
            case Replied(message):
                return self._replied(message) if self._asked else []
            case Answered(result):
                return [self._answer(result), *self._next(result.time)] if self._is_running(result) else []
            case Aborted(result, reply):
                return [self._answer(result), *self._abandon(reply)] if self._is_running(result) else []
            case _:
                assert_never(fact)

    def _is_running(self, result: ToolResult) -> bool:
        return self._running is not None and result.call_id == self._running.id

    def _ask(self, messages: Iterable[UserMessage] = ()) -> list[Effect]:
        self._step += 1
        self._asked = True
        messages = list(messages)
        self._said += messages
        said = [Emit(UserSaid(message)) for message in messages]
        return [*said, Emit(StepStarted(self._step)), AskModel(self._step)]

    def _replied(self, message: AssistantMessage) -> list[Effect]:
        self._asked = False
        self._total = cost.add(self._total, message.usage)
        self._reply = message
        self._said.append(message)
        self._waiting = deque(message.calls)
        self._results = []
        ended = Emit(ReplyEnded(message, self._total))
        if self._waiting:
            return [ended, *self._next(message.time)]
        if message.stop in ("error", "aborted"):
            return [ended, self._step_ended(), *self._finish(message.stop, message.error)]
        return [ended, self._step_ended(), *self._go_on(message.stop)]

    def _next(self, time: int) -> list[Effect]:
        effects: list[Effect] = []
        if self._results and self._queues.steering:
            effects = self._skip(SKIPPED, time)
        if self._waiting:
            self._running = self._waiting.popleft()
            return [Emit(ToolStarted(self._running)), RunTool(self._running)]
        effects.append(self._step_ended())
        if self._step >= self._max_steps:
            return [*effects, *self._finish("error", f"max steps ({self._max_steps}) exceeded")]
        return [*effects, *self._hear(self._queues.take_steering())]

    def _go_on(self, stop: StopReason) -> list[Effect]:
        """The agent has nothing left to do; perhaps somebody has something to say."""
        if self._step < self._max_steps and (heard := self._queues.take_next()):
            return self._hear(heard)
        return self._finish(stop, "")

    def _hear(self, heard: list[UserMessage]) -> list[Effect]:
        return [*([self.queue_changed()] if heard else []), *self._ask(heard)]

    def queue_changed(self) -> Effect:
        return Emit(QueueChanged(tuple(self._queues.steering), tuple(self._queues.follow_ups)))

    def _answer(self, result: ToolResult) -> Effect:
        self._running = None
        self._results.append(result)
        self._said.append(result)
        return Emit(ToolFinished(result))

    def _skip(self, reason: str, time: int) -> list[Effect]:
        effects: list[Effect] = []
        while self._waiting:
            call = self._waiting.popleft()
            effects += [Emit(ToolStarted(call)), self._answer(not_run(call, time, reason))]
        return effects

    def _abandon(self, reply: AssistantMessage) -> list[Effect]:
        effects = [*self._skip(NOT_RUN, reply.time), self._step_ended(), Emit(Interrupted(reply))]
        self._said.append(reply)
        return [*effects, *self._finish("aborted", "")]

    def _step_ended(self) -> Effect:
        assert self._reply is not None
        return Emit(StepEnded(self._reply, tuple(self._results)))

    def _finish(self, stop: StopReason, error: str) -> list[Effect]:
        self._reply = None
        return [Emit(RunEnded(stop, error, tuple(self._said)))]


def not_run(call: ToolCall, time: int, reason: str = NOT_RUN) -> ToolResult:
    return ToolResult(call.id, call.name, (Text(reason),), time, is_error=True)
