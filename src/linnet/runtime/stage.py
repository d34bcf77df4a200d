"""What a run sees of its session, and the only way it can change it."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from linnet.core.cancel import Cancel
from linnet.core.conversation import Conversation
from linnet.core.events import Event, JobKind, RunEnded
from linnet.core.messages import StopReason, Usage, UserMessage
from linnet.core.models import Model, Reasoning
from linnet.core.queues import Queues
from linnet.core.run import AskModel, Fact, RunTool, Turn

Next: TypeAlias = AskModel | RunTool | RunEnded


class Stage(Protocol):
    """`model` and `reasoning` are those the job began with; a change meanwhile is for the next one."""

    conversation: Conversation
    model: Model
    reasoning: Reasoning
    queues: Queues

    @property
    def cancel(self) -> Cancel: ...

    @property
    def spent(self) -> Usage: ...

    @property
    def auto_retry(self) -> bool: ...

    @property
    def auto_compaction(self) -> bool: ...

    def now(self) -> int: ...

    def emit(self, events: Sequence[Event]) -> None:
        """Apply them, tell them, and let the reader catch up. Never raises."""

    def preview(self, event: Event) -> bool:
        """Tell what can wait: if the reader is behind, it is not told now, and nobody waits for that."""

    def advance(self, turn: Turn, fact: Fact) -> Next:
        """Feed the machine and tell what happened, all at once, so that nothing said meanwhile falls between. What is
        left to do is returned; the end of the run is not told yet, for what follows belongs to the same moment.
        """

    def settle(
        self,
        events: Sequence[Event],
        kind: JobKind,
        stop: StopReason,
        error: str,
        answer: Callable[[], None] = lambda: None,
    ) -> tuple[UserMessage, ...]:
        """Tell these last events and that the job is over; or, if something is waiting to be said, return that.

        `answer` is called before anything else can begin.
        """

    def waiting(self, end: Callable[[], None] | None) -> None:
        """While a retry is waited for, how to end the wait."""
