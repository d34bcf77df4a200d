"""Writes the events of a session to its store, as entries. What cannot be saved is told, once, and stops nothing."""

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
    FailureForgotten,
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
    SystemTold,
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
from linnet.store.entries import (
    Compacted,
    Content,
    Custom,
    Labelled,
    ModelChanged,
    Named,
    Ran,
    Said,
    Spent,
    ThinkingChanged,
)


class Journal(Listener):
    """Invariant: all that it has heard and that a session keeps is in the store. All of it is called with the session's
    lock held, but for `sync`, which the threads of runs call without it.

    A model or a level of thinking that was set is written as soon as anything is said: a session is not changed by
    being looked at.
    """

    def __init__(
        self, place: Place, model: Model, thinking: Reasoning, tell: Callable[[Sequence[Event]], None]
    ) -> None:
        """`model` and `thinking` are what is set now, here or elsewhere. `tell` publishes events, and takes
        the lock.
        """
        self._made = place.made
        self.store = place.store
        self.problem = place.problem  # Why something is not saved; empty if all is.
        self.model = place.model  # What somebody who opens the session now would find to have been set last.
        self.thinking = place.thinking  # The same.
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
        """Name the session. Raises SessionError if that cannot be saved, and then nothing has changed."""
        self.store.append(Named(name), strict=True)
        self._saved()

    def label(self, target: str, label: str) -> None:
        """Label an entry; an empty label takes it away. Raises BadInput if there is no such entry."""
        if self.store.tree.find(target) is None:
            raise BadInput(f"Entry {target} not found")
        self._note(Labelled(target, label))

    def move(self, target: str | None) -> Past:
        """Go on from that entry, or from before the first. Returns the conversation up to there.

        Raises SessionError if that cannot be saved, and then nothing has changed.
        """
        self.store.move(target, strict=True)
        self._saved()
        position = self.store.position()
        self.model, self.thinking = position.model, position.thinking
        return self.store.past(position)

    def flush(self) -> None:
        """Write what could not be written before. Raises SessionError if that still fails: to leave the session would
        be to lose it. If the file itself is lost, that is told, and not raised: there is nothing to wait for.
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
        """See that what was written is on disk. May wait for the disk; what goes wrong is told."""
        try:
            self.store.log.sync()
        except SessionError as error:
            self._fail(error)

    def close(self) -> str | None:
        """Close the log. Returns the session's key if it was made here and nothing was said in it; None otherwise."""
        self.store.log.close()
        return self.store.log.key or None if self._made and self.store.is_blank else None

    def branch_messages(self) -> list[tuple[str, str]]:
        """Return the ids and texts of all that the user said, on any branch."""
        said = self.store.entries(node for node in self.store.tree.nodes if node.role == "user")
        found = ((entry.id, user_text(entry.content)) for entry in said)
        return [(id, text) for id, text in found if text]

    def entries_since(self, id: str | None) -> list[bytes]:
        """Return the lines of the file after that entry, or all. Raises BadInput if there is no such entry."""
        if id is None:
            return self.store.lines()
        node = self.store.tree.find(id)
        if node is None:
            raise BadInput(f"Entry {id} not found" if self.store.format == "0.73" else f"Entry not found: {id}")
        return self.store.lines(node.index + 1)

    def outline(self) -> list[OutlineEntry]:
        """Return the tree of entries as a list, each with a line of its content."""
        from linnet.runtime.sessions.outline import outline

        return outline(self.store)

    def _record(self, event: Event) -> None:
        """Write what a session keeps of an event."""
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
                self._try(self.store.keep)
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
        """Write an event of the conversation that goes on."""
        match event:
            case UserSaid(message):
                self._try(self.store.keep)
                self._note_settings()
                self._said(message, event.id)
            case SystemTold(system):
                self._note_settings()
                self._said(system, event.id)
            case NoteAdded(note):
                self._try(self.store.keep)
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
            case RetryScheduled() | FailureForgotten():
                self._forget_failure()
                self._note_settings()
            case CompactionEnded():
                self._record_compaction(event)
                self._note_settings()
            case _:
                pass

    def _record_compaction(self, event: CompactionEnded) -> None:
        """Append the summary with what it cost by itself; if there is none, only what was spent on it."""
        if event.result is None:
            self._record_cost(event)
            return
        if event.will_retry:
            self._forget_failure()
        own = replace(event.result, total=subtract(event.result.total, self._spent))
        self._note(Compacted(own), event.id)

    def _record_cost(self, event: Event) -> None:
        """Append a Spent entry for a reply or a compaction whose messages are not stored."""
        spent = Spent(Usage())
        if isinstance(event, ReplyEnded):
            spent = Spent(event.message.usage, "reply", event.message.provider, event.message.model)
        elif isinstance(event, CompactionEnded) and event.spent is not None:
            used = subtract(event.spent, self._spent)
            spent = Spent(used, "compaction", self._set_model.provider, self._set_model.id)
        if spent.usage != Usage():
            self._note(spent)

    def _said(self, message: Message, id: str) -> None:
        self._note(Said(message), id)

    def _note(self, content: Content, id: str | None = None) -> None:
        """Append an entry, and keep `model` and `thinking` in step with it."""
        if isinstance(content, ModelChanged):
            self.model = content
        elif isinstance(content, ThinkingChanged):
            self.thinking = content.level
        elif isinstance(content, Said) and isinstance(content.message, AssistantMessage):
            self.model = ModelChanged(content.message.provider, content.message.model)
        self._try(lambda: self.store.append(content, id))

    def _note_settings(self) -> None:
        """Append what is set now, if the session says otherwise."""
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
        """Go on from before the reply that failed: it is asked for again."""

        def forget() -> None:
            if self.store.forget_failure():
                self.model = self.thinking = None

        self._try(forget)

    def _try(self, write: Callable[[], None]) -> None:
        """Write something, and tell if it cannot be saved."""
        try:
            write()
        except SessionError as error:
            self._fail(error)
        else:
            self._saved()

    def _saved(self) -> None:
        """Take note that all is saved: a log writes what has waited before anything else. What is only in memory is not
        saved by that.
        """
        if self.store.log.key and not self.store.log.lost:
            self.problem = ""

    def _fail(self, error: SessionError) -> None:
        """Tell that something could not be saved, unless that was told."""
        if str(error) != self.problem:
            self.problem = str(error)
            self._tell([SessionFailed(self.store.path or "", self.problem)])


def user_text(content: Content) -> str:
    """Return the text of a user's message; empty for any other content."""
    if isinstance(content, Said) and isinstance(content.message, UserMessage):
        return texts(content.message.content)
    return ""
