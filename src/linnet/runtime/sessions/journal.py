"""Keeps a session's store in step with what happens. What cannot be saved is told, once, and stops nothing."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from linnet.core.context.cost import subtract
from linnet.core.events import (
    PASSING,
    BashHeld,
    BashRan,
    Cleared,
    CompactionEnded,
    Event,
    Interrupted,
    JobStarted,
    ModelSet,
    Navigated,
    NoteAdded,
    Past,
    ReplyEnded,
    RetryScheduled,
    SessionFailed,
    SessionNamed,
    Settled,
    StateKept,
    ThinkingSet,
    ToolFinished,
    UserSaid,
)
from linnet.core.messages import AssistantMessage, Message, Usage, UserMessage, texts
from linnet.core.models import Model, Reasoning
from linnet.core.session_info import OutlineEntry
from linnet.errors import BadInput, SessionError
from linnet.runtime.listener import Listener
from linnet.runtime.sessions.places import Place
from linnet.store.entries import Compacted, Content, Custom, ModelChanged, Named, Ran, Said, Spent, ThinkingChanged


class Journal(Listener):
    """Invariants: what it has heard can be found in the store. `model` and `thinking` are what somebody who opens the
    session now would find to have been set last; what is set now is written down as soon as anything is said, so that a
    session is not changed by being looked at.
    """

    def __init__(
        self, place: Place, model: Model, thinking: Reasoning, tell: Callable[[Sequence[Event]], None]
    ) -> None:
        """`model` and `thinking` are what is set now, wherever that was done."""
        self._made = place.made
        self.store = place.store
        self.problem = place.problem
        self.model = place.model
        self.thinking = place.thinking
        self._set_model = model
        self._set_thinking: str = thinking
        self._tell = tell
        self._spent = place.spent
        self._working = False
        self._detached = False  # The job that goes on began before the conversation was cleared.
        if place.made:
            self._note_settings()

    def hear(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) not in PASSING:
                self._record(event)

    def name(self, name: str) -> None:
        """Raises SessionError if that cannot be saved, and then nothing has changed."""
        self.store.append(Named(name), strict=True)
        self._saved()

    def move(self, target: str | None) -> Past:
        """Go on from that entry. Returns what was said there. Raises SessionError if that cannot be saved, and then
        nothing has changed.
        """
        self.store.move(target, strict=True)
        self._saved()
        position = self.store.position()
        self.model, self.thinking = position.model, position.thinking
        return self.store.past(position)

    def flush(self) -> None:
        """Raises SessionError if something could not be saved yet: to leave it behind would be to lose it. Where the
        file itself is lost, that is told, and there is nothing to wait for.
        """
        try:
            self.store.log.flush()
        except SessionError as error:
            self._fail(error)
            if not self.store.log.lost:
                raise
        else:
            self._saved()

    def sync(self) -> None:
        """See that what was written is on the disk."""
        try:
            self.store.log.sync()
        except SessionError as error:
            self._fail(error)

    def close(self) -> str | None:
        """Return the session's key, if it was made here and nothing came of it."""
        self.store.log.close()
        return self.store.log.key or None if self._made and self.store.is_blank else None

    def branch_messages(self) -> list[tuple[str, str]]:
        """Ids and texts of what the user said, wherever in the tree."""
        said = self.store.entries(node for node in self.store.tree.nodes if node.role == "user")
        found = ((entry.id, user_text(entry.content)) for entry in said)
        return [(id, text) for id, text in found if text]

    def entries_since(self, id: str | None) -> list[bytes]:
        """The lines of the file after that entry, or all. Raises BadInput if there is no such entry."""
        if id is None:
            return self.store.lines()
        node = self.store.tree.find(id)
        if node is None:
            raise BadInput(f"Entry {id} not found")
        return self.store.lines(node.index + 1)

    def outline(self) -> list[OutlineEntry]:
        from linnet.runtime.sessions.outline import outline

        return outline(self.store)

    def _record(self, event: Event) -> None:
        match event:
            case JobStarted():
                self._working = True
            case Settled():
                self._working = self._detached = False
                self._note_settings()  # A model that was set meanwhile is for the next job, also after a restart.
            case ModelSet(model):
                self._set_model = model
                self._note_model()
            case ThinkingSet(level):
                self._set_thinking = level
                self._note_thinking()
            case Cleared():
                self._detached = self._working
                self._try(lambda: self.store.move(None))
                self.model = self.thinking = None  # Before the first entry nothing has been set.
                self._note_settings()
            case Navigated():
                self._note_settings()
            case SessionNamed():
                self.sync()
            case BashRan(run):
                self._said(run, event.id)
            case BashHeld(run):
                self._try(lambda: self.store.append(Ran(run)))
            case _ if self._detached:
                self._record_cost(event)
            case _:
                self._record_conversation(event)
        if isinstance(event, ReplyEnded):
            self._spent = event.total
        elif isinstance(event, CompactionEnded):
            self._spent = event.spent or self._spent

    def _record_conversation(self, event: Event) -> None:
        match event:
            case UserSaid(message):
                self._note_settings()
                self._said(message, event.id)
            case NoteAdded(note):
                self._note_settings()
                self._said(note, event.id)
            case StateKept(owner, data):
                self._note(Custom(owner, data))
            case Interrupted(message):
                self._said(message, event.id)
            case ToolFinished(message):
                self._said(message, event.id)
            case ReplyEnded(message):
                self._said(message, event.id)
                self._note_settings()  # What was set while it went on is still what is set.
            case RetryScheduled():
                self._forget_failure()
                self._note_settings()
            case CompactionEnded():
                self._record_compaction(event)
                self._note_settings()
            case _:
                pass

    def _record_compaction(self, event: CompactionEnded) -> None:
        if event.result is None:
            self._record_cost(event)
            return
        if event.will_retry:
            self._forget_failure()
        own = replace(event.result, total=subtract(event.result.total, self._spent))
        self._note(Compacted(own), event.id)

    def _record_cost(self, event: Event) -> None:
        """Of something that leaves nothing else behind."""
        used = Usage()
        if isinstance(event, ReplyEnded):
            used = event.message.usage
        elif isinstance(event, CompactionEnded) and event.spent is not None:
            used = subtract(event.spent, self._spent)
        if used != Usage():
            self._note(Spent(used))

    def _said(self, message: Message, id: str) -> None:
        self._note(Said(message), id)

    def _note(self, content: Content, id: str | None = None) -> None:
        if isinstance(content, ModelChanged):
            self.model = content
        elif isinstance(content, ThinkingChanged):
            self.thinking = content.level
        elif isinstance(content, Said) and isinstance(content.message, AssistantMessage):
            self.model = ModelChanged(content.message.provider, content.message.model)
        self._try(lambda: self.store.append(content, id))

    def _note_settings(self) -> None:
        """Write down what is set now, where that is not what the session says."""
        self._note_model()
        self._note_thinking()

    def _note_model(self) -> None:
        here = ModelChanged(self._set_model.provider, self._set_model.id)
        if self.model != here:
            self._note(here)

    def _note_thinking(self) -> None:
        if self.thinking != self._set_thinking:
            self._note(ThinkingChanged(self._set_thinking))

    def _forget_failure(self) -> None:
        def forget() -> None:
            if self.store.forget_failure():
                self.model = self.thinking = None

        self._try(forget)

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except SessionError as error:
            self._fail(error)
        else:
            self._saved()

    def _saved(self) -> None:
        """Whatever has waited was written down too. What is only in memory is no nearer to being saved."""
        if self.store.log.key and not self.store.log.lost:
            self.problem = ""

    def _fail(self, error: SessionError) -> None:
        if str(error) != self.problem:
            self.problem = str(error)
            self._tell([SessionFailed(self.store.path or "", self.problem)])


def user_text(content: Content) -> str:
    """Empty for what no user said."""
    if isinstance(content, Said) and isinstance(content.message, UserMessage):
        return texts(content.message.content)
    return ""
