"""All that changes about a session in memory, as a fold of its events."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from linnet.core.context.conversation import CHANGING, Conversation
from linnet.core.events import (
    AutoCompactionSet,
    AutoRetrySet,
    Cleared,
    CompactionEnded,
    CompactionStarted,
    Event,
    FollowUpModeSet,
    JobContinued,
    JobStarted,
    ModelSet,
    Navigated,
    ReplyEnded,
    RetryEnded,
    RetryScheduled,
    RunEnded,
    RunStarted,
    SessionEntered,
    Settled,
    SteeringModeSet,
    ThinkingSet,
    UserSaid,
)
from linnet.core.loop.queues import Queues
from linnet.core.messages import Usage, UserMessage
from linnet.core.models import Model, Reasoning, possible

if TYPE_CHECKING:
    from linnet.runtime.settings.settings import Settings


class SessionState:
    """Invariant: only `apply` changes it, but for `queues`, which the machines of `core` work on. All of it is read and
    changed with the session's lock held.
    """

    def __init__(self, model: Model, thinking: Reasoning, *, auto_compaction: bool, auto_retry: bool) -> None:
        self.model = model
        self.asked_thinking = thinking
        self.has_tools: Callable[[], bool] = lambda: False  # Whether the model is offered any.
        self.auto_compaction = auto_compaction
        self.auto_retry = auto_retry
        self.queues = Queues()
        self.spent = Usage()  # What the session has cost so far.
        self.prompting = False  # A prompt has begun, and is not over.
        self.streaming = False  # The agent works or is about to try again, so that what is said now is said to it.
        self.compacting = False
        self.session_id = ""
        self.session_file: str | None = None
        self.conversation = Conversation()
        self._sent: dict[str, UserMessage] = {}  # Since the conversation was last new: those with attachments.
        self._working = False
        self._detached: Conversation | None = None  # That of a job which began before the conversation was cleared.

    @property
    def thinking(self) -> Reasoning:
        """Return the level of thinking that the model can do, at most the one that was asked for."""
        return self.possible(self.model)

    def possible(self, model: Model, asked: Reasoning | None = None) -> Reasoning:
        """Return the same for another model, and for another level if one is asked for."""
        return possible(asked or self.asked_thinking, model, with_tools=self.has_tools())

    def as_pis_variables(self) -> dict[str, str | None]:
        """Return what pi tells commands of the session it is in, as variables. Takes no lock."""
        return {
            "PI_SESSION_ID": self.session_id,
            "PI_SESSION_FILE": self.session_file,
            "PI_PROVIDER": self.model.provider,
            "PI_MODEL": self.model.id,
            "PI_REASONING_LEVEL": self.thinking,
        }

    def apply(self, *events: Event) -> None:
        """Change the state by what has happened."""
        for event in events:
            if type(event) in CHANGING:
                (self._detached or self.conversation).apply(event)
            match event:
                case UserSaid(message):
                    if message.sent is not None:
                        self._sent[event.id] = message
                case ReplyEnded():
                    self.spent = event.total
                case RunStarted() | RetryScheduled() | JobContinued():
                    self.streaming = True
                case RunEnded() | RetryEnded():
                    self.streaming = False
                case CompactionStarted():
                    self.compacting = True
                case CompactionEnded():
                    self.compacting = False
                    self.streaming = self.streaming or event.will_retry  # The run goes on.
                    self.spent = event.spent or self.spent
                case JobStarted(kind):
                    self._working = True
                    self.streaming = self.prompting = kind == "prompt"
                case Settled():
                    self._working = self.streaming = self.prompting = self.compacting = False
                    self._detached = None
                case ModelSet(model):
                    self.model = model
                case ThinkingSet(level):
                    self.asked_thinking = level
                case SteeringModeSet(mode):
                    self.queues.steering_mode = mode
                case FollowUpModeSet(mode):
                    self.queues.follow_up_mode = mode
                case AutoCompactionSet(enabled):
                    self.auto_compaction = enabled
                case AutoRetrySet(enabled):
                    self.auto_retry = enabled
                case Cleared():
                    self._detached = (self._detached or self.conversation) if self._working else None
                    self.conversation = Conversation()
                    self._sent = {}
                case Navigated(_, past):
                    self.conversation = Conversation(past, self._sent)
                    self.conversation.read()
                case SessionEntered():
                    self._sent = {} if event.reason == "new" else self._sent
                    self.conversation = Conversation(event.past, self._sent)
                    self.session_id = event.session_id
                    self.session_file = event.file
                    self.spent = event.spent
                case _:
                    pass


def begun_with(settings: "Settings") -> SessionState:
    """Return the state of a session that begins with these settings."""
    state = SessionState(
        settings.model, settings.reasoning, auto_compaction=settings.auto_compaction, auto_retry=settings.retry_runs
    )
    state.queues.steering_mode = settings.steering_mode
    state.queues.follow_up_mode = settings.follow_up_mode
    return state
