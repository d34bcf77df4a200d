"""The agent loop as a machine: facts in, effects out. It never waits, so any order of facts can be tried."""

from collections import deque
from typing import TypeAlias, assert_never

from msgspec import Struct

from linnet.core import cost
from linnet.core.events import (
    Event,
    Interrupted,
    ReplyEnded,
    RunEnded,
    RunStarted,
    StepEnded,
    StepStarted,
    ToolFinished,
    ToolStarted,
    UserSaid,
)
from linnet.core.messages import AssistantMessage, StopReason, Text, ToolCall, ToolResult, Usage, UserMessage

NOT_RUN = "Not run: the turn was aborted."


class Prompted(Struct, frozen=True):
    message: UserMessage


class Replied(Struct, frozen=True):
    """Whatever came of the model call: a failure or an abort is a reply that stopped for that reason."""

    message: AssistantMessage


class Answered(Struct, frozen=True):
    result: ToolResult


class Aborted(Struct, frozen=True):
    """While a tool ran; `result` is what it had by then. An abort while the model speaks arrives as a reply."""

    result: ToolResult


class AskModel(Struct, frozen=True):
    step: int


class RunTool(Struct, frozen=True):
    call: ToolCall


class Emit(Struct, frozen=True):
    event: Event


Fact: TypeAlias = Prompted | Replied | Answered | Aborted
Effect: TypeAlias = AskModel | RunTool | Emit


class Turn:
    """Invariants: one effect that blocks is outstanding at a time, every call is answered before the next question, and
    the run ends exactly once.
    """

    def __init__(self, max_steps: int, spent: Usage) -> None:
        self._max_steps = max_steps
        self._total = spent
        self._step = 0
        self._asked = False
        self._reply: AssistantMessage | None = None
        self._running: ToolCall | None = None
        self._waiting: deque[ToolCall] = deque()
        self._results: list[ToolResult] = []

    def feed(self, fact: Fact) -> list[Effect]:
        match fact:
            case Prompted(message):
                return [Emit(RunStarted("prompt")), Emit(UserSaid(message)), *self._ask()]
            case Replied(message):
                return self._replied(message) if self._asked else []
            case Answered(result):
                if self._running is None or result.call_id != self._running.id:
                    return []
                return [self._answer(result), *self._next()]
            case Aborted(result):
                if self._running is None or result.call_id != self._running.id:
                    return []
                return [self._answer(result), *self._abandon(result.time)]
            case _:
                assert_never(fact)

    def _ask(self) -> list[Effect]:
        self._step += 1
        self._asked = True
        return [Emit(StepStarted(self._step)), AskModel(self._step)]

    def _replied(self, message: AssistantMessage) -> list[Effect]:
        self._asked = False
        self._total = cost.add(self._total, message.usage)
        self._reply = message
        self._waiting = deque(message.calls)
        self._results = []
        ended = Emit(ReplyEnded(message, self._total))
        if self._waiting:
            return [ended, *self._next()]
        return [ended, *self._finish(message.stop, message.error)]

    def _next(self) -> list[Effect]:
        if self._waiting:
            self._running = self._waiting.popleft()
            return [Emit(ToolStarted(self._running)), RunTool(self._running)]
        if self._step >= self._max_steps:
            return self._finish("error", f"max steps ({self._max_steps}) exceeded")
        return [self._step_ended(), *self._ask()]

    def _answer(self, result: ToolResult) -> Effect:
        self._running = None
        self._results.append(result)
        return Emit(ToolFinished(result))

    def _abandon(self, time: int) -> list[Effect]:
        effects: list[Effect] = []
        while self._waiting:
            call = self._waiting.popleft()
            effects += [Emit(ToolStarted(call)), self._answer(not_run(call, time))]
        return [*effects, Emit(Interrupted()), *self._finish("aborted")]

    def _step_ended(self) -> Effect:
        assert self._reply is not None
        return Emit(StepEnded(self._reply, tuple(self._results)))

    def _finish(self, stop: StopReason, error: str = "") -> list[Effect]:
        effects = [self._step_ended(), Emit(RunEnded("prompt", stop, error))]
        self._reply = None
        return effects


def not_run(call: ToolCall, time: int) -> ToolResult:
    return ToolResult(call.id, call.name, (Text(NOT_RUN),), time, is_error=True)
