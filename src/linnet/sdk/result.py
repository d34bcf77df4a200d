"""The result of a run, and the fold of its events that it is made from."""

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
    """How a run ended, and what it cost."""

    text: str
    """The last thing that the model said."""
    stop: str
    """Why the run ended: `end_turn` if the model had no more to do."""
    error: str | None = None
    """A sentence for people, if the run failed."""
    code: str | None = None
    """One word for programs, if the run ended otherwise than with `end_turn`."""
    usage: frames.Tokens
    """The tokens of this run alone."""
    cost: float | None
    """US dollars of this run alone; None if a price is not known."""
    steps: int
    """How often the model was asked."""
    session_file: str | None = None
    """Where the messages are kept, if they are."""
    messages: Sequence[frames.Message]
    """Those of this run."""
    failure: LinnetError | None = None
    """The error, if the run failed. It was not raised."""
    warnings: Sequence[str] = ()
    """Sentences about what was asked for and could not be done; a runtime says each of them once."""
    _value: Any = UNSET

    @property
    def value(self) -> T:
        """Return the answer in the form that `output` asked for. Raises BadOutput if there is none, and says why."""
        if self._value is UNSET:
            raise BadOutput(self.error or "this run was not asked for a value; give `output`")
        value: T = self._value
        return value


class Recording:
    """A fold of the events of a run into its result."""

    def __init__(self) -> None:
        self._steps = 0
        self._messages: list[Message] = []

    def add(self, batch: Sequence[events.Event]) -> None:
        """Take in these events."""
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
        """Return the result. `before` and `after` are what the session had cost before the run and after it."""
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
