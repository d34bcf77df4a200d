"""What came of a run: the result, and the fold of events that it is made from."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from msgspec import UNSET, Struct

from linnet.core import events
from linnet.core.commands import Done
from linnet.core.context.cost import subtract
from linnet.core.messages import AssistantMessage, Message, Usage
from linnet.errors import BadOutput, LinnetError
from linnet.wire.zot import frames
from linnet.wire.zot.encode import STOP
from linnet.wire.zot.transcript import listed, tokens

T = TypeVar("T")


class Result(Struct, Generic[T], frozen=True, kw_only=True):
    """How a run ended, and what it cost.

    `text` is the last thing the model said. `stop` is why the run ended: `end_turn` if the model had no more to do.
    Otherwise `code` is one word for programs and, if it failed, `error` a sentence for people and `failure` the error
    itself, which was not raised. `usage` and `cost`, in US dollars, are of this run alone; `cost` is None if a price is
    not known. `steps` counts model calls, `messages` are those of this run, `session_file` is where they are kept.
    `warnings` are sentences about what was asked for and could not be done; a runtime says each of them once.
    """

    text: str
    stop: str
    error: str | None = None
    code: str | None = None
    usage: frames.Tokens
    cost: float | None
    steps: int
    session_file: str | None = None
    messages: Sequence[frames.Message]
    failure: LinnetError | None = None
    warnings: Sequence[str] = ()
    _value: Any = UNSET

    @property
    def value(self) -> T:
        """Return the answer in the form that `output` asked for. Raises BadOutput if there is none, and says why."""
        if self._value is UNSET:
            raise BadOutput(self.error or "this run was not asked for a value; give `output`")
        value: T = self._value
        return value


class Recording:
    """A run so far, as the fold of its events."""

    def __init__(self) -> None:
        self._steps = 0
        self._messages: list[Message] = []

    def add(self, batch: Sequence[events.Event]) -> None:
        for event in batch:
            if type(event) in events.PASSING:
                continue
            match event:
                case events.UserSaid(message):
                    self._messages.append(message)
                case events.ReplyEnded(message) | events.Interrupted(message):
                    self._messages.append(message)
                case events.ToolFinished(result):
                    self._messages.append(result)
                case events.StepStarted():
                    self._steps += 1
                case events.RetryScheduled():
                    self._forget_failure()
                case events.CompactionEnded(will_retry=True):
                    self._forget_failure()
                case _:
                    pass

    def result(
        self,
        done: Done,
        before: Usage,
        after: Usage,
        file: str | None,
        warnings: Sequence[str] = (),
    ) -> Result[Any]:
        """Return what came of the run. `before` and `after` is what the session had cost by then."""
        used = tokens(subtract(after, before))
        return Result(
            text=self._text,
            stop=STOP[done.stop],
            error=done.error or None,
            code=done.code,
            usage=used,
            cost=used.cost_usd if used.cost_known else None,
            steps=self._steps,
            session_file=file,
            messages=listed(self._messages),
            failure=done.failure,
            warnings=tuple(warnings),
            _value=done.value,
        )

    @property
    def _text(self) -> str:
        for message in reversed(self._messages):
            if isinstance(message, AssistantMessage) and message.text:
                return message.text
        return ""

    def _forget_failure(self) -> None:
        """Drop a reply that failed, as the conversation does: it is about to be asked for again."""
        last = self._messages[-1] if self._messages else None
        if isinstance(last, AssistantMessage) and last.stop == "error":
            self._messages.pop()
