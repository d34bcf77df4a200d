"""Everything about a session that changes. Whoever touches it holds the session's lock; it has none of its own."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, assert_never, get_args, overload

from linnet import __version__
from linnet.core import commands
from linnet.core.conversation import Conversation
from linnet.core.cost import subtract
from linnet.core.events import (
    CompactionEnded,
    CompactionStarted,
    Event,
    ReplyEnded,
    RetryEnded,
    RetryScheduled,
    RunEnded,
    RunStarted,
    UserSaid,
)
from linnet.core.messages import AssistantMessage, Message, Usage
from linnet.core.models import Model, Reasoning
from linnet.core.queues import Queues
from linnet.errors import BadInput, ConfigError, MissingKey, UnknownModel
from linnet.runtime.config import Settings

if TYPE_CHECKING:
    from linnet.runtime.journal import Journal
    from linnet.runtime.sessions import Place, Sessions

LEVELS: tuple[Reasoning, ...] = ("off", "minimal", "low", "medium", "high")


class State:
    """`streaming`: the agent is at work or about to try again, so that what is said now is said to it."""

    def __init__(
        self,
        settings: Settings,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        new_session_id: Callable[[], str],
        tell: Callable[[Sequence[Event]], None],
    ) -> None:
        """Raises SessionError if a session was asked for that cannot be used."""
        self._settings = settings
        self._new_id = new_id
        self._new_session_id = new_session_id
        self._tell = tell
        self._thinking: Reasoning = settings.reasoning
        self.model = settings.model
        self.spent = Usage()
        self.queues = Queues()
        self.streaming = False
        self.compacting = False
        self.auto_compaction = settings.policy.auto_compacts
        self.auto_retry = settings.policy.retries_runs
        self.conversation = Conversation(new_id)
        self.session_id = ""
        self.journal: Journal | None = None
        self.sessions: Sessions | None = None
        self.remarks: list[str] = []  # What whoever started the program should know.
        if settings.keeping.wanted:
            from linnet.runtime import sessions
            from linnet.store.store import Sources

            sources = Sources(clock, new_id)
            self.sessions = sessions.Sessions(settings.keeping, settings.cwd, sources, new_session_id)
            place = self.sessions.begin()
            self.remarks = self.sessions.remarks
            try:
                self._begin(place)
            except BaseException:
                place.discard()
                raise
        else:
            self.session_id = new_session_id()

    @property
    def thinking(self) -> Reasoning:
        """What the model can do of what was asked for."""
        if not self.model.reasoning:
            return "off"
        return "high" if self._thinking == "xhigh" and "codex-max" not in self.model.id else self._thinking

    def apply(self, events: Sequence[Event], conversation: Conversation) -> None:
        for event in events:
            conversation.apply(event)
            self._record(event, conversation)
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
                    self.spent = _total(event) or self.spent
                case _:
                    pass

    def _record(self, event: Event, conversation: Conversation) -> None:
        if self.journal is None:
            return
        if conversation is self.conversation:
            if isinstance(event, UserSaid):
                self._note_settings()  # A session is not changed by being looked at, only by being gone on with.
            self.journal.record(event, conversation, self.spent)
            if isinstance(event, ReplyEnded | RetryScheduled | CompactionEnded):
                self._note_settings()  # What was set while it went on is still what is set.
        elif isinstance(event, ReplyEnded):
            self.journal.paid(event.message.usage)  # The rest of it is forgotten.
        elif isinstance(event, CompactionEnded):
            self.journal.paid(subtract(_total(event) or self.spent, self.spent))

    def rest(self) -> None:
        """A run has ended. A model that was set meanwhile is for the next one, also if that is after a restart."""
        self._note_settings()

    def clear(self) -> None:
        """A run that is under way goes on with the conversation it has, and leaves no trace in the new one."""
        if self.journal is not None:
            self.journal.leave()
        self._note_settings()
        self.conversation = Conversation(self._new_id)

    def open_session(self, parent: str | None) -> None:
        """Raises SessionError, and then nothing has changed."""
        if self.sessions is not None:
            self.enter(self.sessions.new(parent))
        else:
            self.clear()
            self.spent = Usage()
            self.session_id = self._new_session_id()

    def enter(self, place: "Place", *, remember: bool = False) -> str:
        """`remember`: the model and the level of thinking that were last used there, instead of the present ones.

        Returns why that is not possible, if it is not.
        """
        from linnet.runtime.journal import Journal

        unusable = self._remember(place) if remember else ""
        if self.journal is not None:
            self.journal.close()
        self.journal = Journal(place.store, self._tell, place.problem, place.model, place.thinking)
        self._new_id = place.store.new_id
        self.conversation = Conversation(self._new_id, place.past)
        self.session_id = place.store.header.id
        self.spent = place.spent
        if place.made:
            self._note_settings()
        return self._instead(unusable)

    def go_to(self, entry: str | None) -> None:
        """Raises SessionError if that cannot be saved, and then nothing has changed."""
        assert self.journal is not None
        self.conversation = Conversation(self._new_id, self.journal.move(entry))
        self.conversation.read()
        self._note_settings()

    def _begin(self, place: "Place") -> None:
        """What was asked for on the command line wins over what a session remembers."""
        settings, model, level = self._settings, self.model, self._thinking
        unusable = self._remember(place)
        other = place.model is not None and place.model.provider != model.provider
        if settings.chosen_model or (settings.chosen_provider and other):
            self.model, unusable = model, ""
        if settings.chosen_reasoning:
            self._thinking = level
        try:
            settings.accounts.require(self.model.provider)
        except MissingKey as error:
            raise (ConfigError(f"{unusable}, and {error}") if unusable else error) from None
        self.enter(place)
        self.remarks += [f"this session is not saved: {place.problem}"] if place.problem else []
        self.remarks += [self._instead(unusable)] if unusable else []

    def _remember(self, place: "Place") -> str:
        """Why the model that was last used there cannot be, if it cannot."""
        for level in get_args(Reasoning):
            if level == place.thinking:
                self._thinking = level
        if place.model is None:
            return ""
        try:
            self.model = self._settings.accounts.choose(place.model.provider, place.model.model)
        except ConfigError as error:
            reason = "" if isinstance(error, UnknownModel) else f" ({error})"
            return f"the session's model {place.model.provider}/{place.model.model} cannot be used here{reason}"
        return ""

    def _instead(self, unusable: str) -> str:
        return f"{unusable}; going on with {self.model.provider}/{self.model.id}" if unusable else ""

    def _note_settings(self) -> None:
        """Where they are not what the session says they are."""
        self._note_model()
        self._note_thinking()

    def _note_model(self) -> None:
        if self.journal is not None:
            from linnet.store.entries import ModelChanged

            here = ModelChanged(self.model.provider, self.model.id)
            if self.journal.model != here:
                self.journal.note(here)

    def _note_thinking(self) -> None:
        if self.journal is not None and self.journal.thinking != self._thinking:
            from linnet.store.entries import ThinkingChanged

            self.journal.note(ThinkingChanged(self._thinking))

    def _set_model(self, model: Model) -> None:
        self.model = model
        self._note_model()

    def _set_thinking(self, level: Reasoning) -> None:
        self._thinking = level
        self._note_thinking()

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
                return commands.Stats(self.conversation.messages, self.spent, self.session_id, self._file)
            case commands.GetLastText():
                return commands.LastText(self._last_text())
            case commands.GetModels(everywhere):
                accounts = self._settings.accounts
                models = accounts.available() if everywhere else accounts.models(self.model.provider)
                return commands.ModelList(models)
            case commands.SetModel(id, provider):
                self._set_model(self._settings.accounts.choose(provider or self.model.provider, id))
                return commands.ModelChosen(self.model)
            case commands.CycleModel():
                return self._cycle_model()
            case commands.SetThinking(level):
                self._set_thinking(level)
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
            case commands.GetBranchMessages():
                return commands.BranchMessages(self._kept.branch_messages())
            case commands.GetTree():
                return commands.Outline(self._kept.outline(), self._kept.store.leaf)
            case commands.GetEntries(since):
                return commands.EntryList(self._kept.entries_since(since), self._kept.store.leaf)
            case commands.SetSessionName(name):
                self._kept.name(name)
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
            messages=_Counted(self.conversation),
            thinking=self.thinking,
            steering_mode=self.queues.steering_mode,
            follow_up_mode=self.queues.follow_up_mode,
            auto_compaction=self.auto_compaction,
            pending=len(self.queues),
            session_id=self.session_id,
            session_file=self._file,
            session_name=self.journal.store.name if self.journal is not None else "",
            session_error=self.journal.problem if self.journal is not None else "",
        )

    @property
    def _file(self) -> str | None:
        return self.journal.store.path if self.journal is not None else None

    @property
    def _kept(self) -> "Journal":
        if self.journal is None:
            raise BadInput("this agent keeps no session; start it with --session or --continue")
        return self.journal

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
        self._set_model(models[after % len(models)])
        return commands.ModelCycled(self.model, self.thinking)

    def _cycle_thinking(self) -> Reasoning | None:
        if not self.model.reasoning:
            return None
        at = LEVELS.index(self.thinking) if self.thinking in LEVELS else -1
        self._set_thinking(LEVELS[(at + 1) % len(LEVELS)])
        return self._thinking


def _total(event: CompactionEnded) -> Usage | None:
    """What had been spent when it ended, if anything was asked for its sake."""
    return event.result.total if event.result else event.total


class _Counted(Sequence[Message]):
    """A conversation whose length can be told without reading it."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def __len__(self) -> int:
        return len(self._conversation)

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...

    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        return self._conversation.messages[index]
