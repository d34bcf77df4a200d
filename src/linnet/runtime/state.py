"""Everything about a session that changes. Whoever touches it holds the session's lock; it has none of its own."""

from collections.abc import Callable, Sequence
from typing import assert_never

from linnet import __version__
from linnet.core import commands
from linnet.core.conversation import Conversation
from linnet.core.events import (
    CompactionEnded,
    CompactionStarted,
    Event,
    ReplyEnded,
    RetryEnded,
    RetryScheduled,
    RunEnded,
    RunStarted,
)
from linnet.core.messages import AssistantMessage, Usage
from linnet.core.models import Reasoning
from linnet.core.queues import Queues
from linnet.runtime.config import Settings

LEVELS: tuple[Reasoning, ...] = ("off", "minimal", "low", "medium", "high")


class State:
    """`streaming`: the agent is at work or about to try again, so that what is said now is said to it."""

    def __init__(self, settings: Settings, new_id: Callable[[], str], new_session_id: Callable[[], str]) -> None:
        self._settings = settings
        self._new_id = new_id
        self._new_session_id = new_session_id
        self._thinking: Reasoning = settings.reasoning
        self.model = settings.model
        self.spent = Usage()
        self.queues = Queues()
        self.streaming = False
        self.compacting = False
        self.auto_compaction = settings.policy.auto_compacts
        self.auto_retry = settings.policy.retries_runs
        self.conversation = Conversation(new_id)
        self.session_id = new_session_id()
        self.parent: str | None = None

    @property
    def thinking(self) -> Reasoning:
        """What the model can do of what was asked for."""
        if not self.model.reasoning:
            return "off"
        return "high" if self._thinking == "xhigh" and "codex-max" not in self.model.id else self._thinking

    def apply(self, events: Sequence[Event], conversation: Conversation) -> None:
        for event in events:
            conversation.apply(event)
            match event:
                case ReplyEnded():
                    self.spent = event.total
                case RunStarted() | RetryScheduled():
                    self.streaming = True
                case RunEnded() | RetryEnded():
                    self.streaming = False
                case CompactionStarted():
                    self.compacting = True
                case CompactionEnded():
                    self.compacting = False
                    self.spent = (event.result.total if event.result else event.total) or self.spent
                case _:
                    pass

    def clear(self) -> None:
        """A run that is under way goes on with the conversation it has, and leaves no trace in the new one."""
        self.conversation = Conversation(self._new_id)

    def open_session(self, parent: str | None) -> None:
        self.clear()
        self.spent = Usage()
        self.session_id = self._new_session_id()
        self.parent = parent

    def answer(self, query: commands.Query, *, busy: bool) -> commands.Answer:
        match query:
            case commands.Ping():
                return commands.Pong()
            case commands.Hello():
                return commands.Greeting(__version__, self.model.provider, self.model.id)
            case commands.GetState():
                return self._state(busy=busy)
            case commands.GetMessages():
                return commands.Transcript(self.conversation.messages)
            case commands.GetStats():
                return commands.Stats(self.conversation.messages, self.spent, self.session_id)
            case commands.GetLastText():
                return commands.LastText(self._last_text())
            case commands.GetModels(everywhere):
                accounts = self._settings.accounts
                models = accounts.available() if everywhere else accounts.models(self.model.provider)
                return commands.ModelList(models)
            case commands.SetModel(id, provider):
                self.model = self._settings.accounts.choose(provider or self.model.provider, id)
                return commands.ModelChosen(self.model)
            case commands.CycleModel():
                return self._cycle_model()
            case commands.SetThinking(level):
                self._thinking = level
                return commands.Ok()
            case commands.CycleThinking():
                return commands.ThinkingCycled(self._cycle_thinking())
            case commands.SetSteeringMode(mode):
                self.queues.steering_mode = mode
                return commands.Ok()
            case commands.SetFollowUpMode(mode):
                self.queues.follow_up_mode = mode
                return commands.Ok()
            case commands.SetAutoCompaction(enabled):
                self.auto_compaction = enabled
                return commands.Ok()
            case commands.SetAutoRetry(enabled):
                self.auto_retry = enabled
                return commands.Ok()
            case commands.Clear():
                self.clear()
                return commands.Ok()
            case commands.Abort() | commands.AbortBash() | commands.AbortRetry():
                return commands.Ok()
            case _:
                assert_never(query)

    def _state(self, *, busy: bool) -> commands.State:
        return commands.State(
            model=self.model,
            cwd=self._settings.cwd,
            busy=busy,
            streaming=self.streaming,
            compacting=self.compacting,
            spent=self.spent,
            messages=self.conversation.messages,
            thinking=self.thinking,
            steering_mode=self.queues.steering_mode,
            follow_up_mode=self.queues.follow_up_mode,
            auto_compaction=self.auto_compaction,
            pending=len(self.queues),
            session_id=self.session_id,
        )

    def _last_text(self) -> str | None:
        for message in reversed(self.conversation.messages):
            if isinstance(message, AssistantMessage) and message.content:
                return message.text
        return None

    def _cycle_model(self) -> commands.ModelCycled:
        models = self._settings.accounts.available()
        keys = [(model.provider, model.id) for model in models]
        here = (self.model.provider, self.model.id)
        if not models or keys == [here]:
            return commands.ModelCycled(None)
        after = keys.index(here) + 1 if here in keys else 0
        self.model = models[after % len(models)]
        return commands.ModelCycled(self.model, self.thinking)

    def _cycle_thinking(self) -> Reasoning | None:
        if not self.model.reasoning:
            return None
        at = LEVELS.index(self.thinking) if self.thinking in LEVELS else -1
        self._thinking = LEVELS[(at + 1) % len(LEVELS)]
        return self._thinking
