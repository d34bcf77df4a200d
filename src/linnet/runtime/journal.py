"""Keeps a session's store in step with what happens. What cannot be saved is told, once, and stops nothing."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from linnet.core.conversation import Conversation, Past
from linnet.core.cost import subtract
from linnet.core.events import (
    BashRan,
    CompactionEnded,
    Event,
    Interrupted,
    ReplyEnded,
    RetryScheduled,
    SessionFailed,
    SessionNamed,
    ToolFinished,
    UserSaid,
)
from linnet.core.messages import AssistantMessage, BashRun, Message, Usage, UserMessage, texts
from linnet.core.sessions import OutlineEntry
from linnet.errors import BadInput, SessionError
from linnet.store.entries import Compacted, Content, ModelChanged, Named, Ran, Said, Spent, ThinkingChanged
from linnet.store.store import Store


class Journal:
    """Invariants: whoever hears of an event can find it in the store; it is written before it is told. `model` and
    `thinking` are what somebody who opens the session now would find to have been set last.
    """

    def __init__(
        self,
        store: Store,
        tell: Callable[[Sequence[Event]], None],
        problem: str = "",
        model: ModelChanged | None = None,
        thinking: str | None = None,
    ) -> None:
        self.store = store
        self.problem = problem
        self.model = model
        self.thinking = thinking
        self._tell = tell

    def record(self, event: Event, conversation: Conversation, spent: Usage) -> None:
        """`conversation` has taken the event in; `spent` is what had been spent before it."""
        match event:
            case UserSaid(message) | Interrupted(message):
                self._said(message, conversation)
            case ReplyEnded(message):
                self._said(message, conversation)
            case ToolFinished(message):
                self._said(message, conversation)
            case BashRan(message):
                self._said(message, conversation)
            case RetryScheduled():
                self._forget_failure()
            case CompactionEnded() if event.result is not None:
                if event.will_retry:
                    self._forget_failure()
                own = replace(event.result, total=subtract(event.result.total, spent))
                self.note(Compacted(own), conversation.ids[0])
            case CompactionEnded() if event.total is not None:
                self.paid(subtract(event.total, spent))
            case _:
                pass

    def note(self, content: Content, id: str | None = None) -> None:
        if isinstance(content, ModelChanged):
            self.model = content
        elif isinstance(content, ThinkingChanged):
            self.thinking = content.level
        elif isinstance(content, Said) and isinstance(content.message, AssistantMessage):
            self.model = ModelChanged(content.message.provider, content.message.model)
        self._try(lambda: self.store.append(content, id))

    def keep(self, run: BashRun) -> None:
        """It is said when the run that goes on has ended; whatever happens until then, it is not lost."""
        self._try(lambda: self.store.append(Ran(run)))

    def paid(self, usage: Usage) -> None:
        """For something that left nothing else behind."""
        if usage != Usage():
            self.note(Spent(usage))

    def leave(self) -> None:
        """Go back to the very beginning, where nothing has been set."""
        self._try(lambda: self.store.move(None))
        self.model = self.thinking = None

    def name(self, name: str) -> None:
        """Raises SessionError if that cannot be saved, and then nothing has changed."""
        self.store.append(Named(name), strict=True)
        self._saved()
        self._tell([SessionNamed(name)])
        self.sync()

    def move(self, target: str | None) -> Past:
        """What was said there. Raises SessionError if that cannot be saved, and then nothing has changed."""
        self.store.move(target, strict=True)
        self._saved()
        position = self.store.position()
        self.model, self.thinking = position.model, position.thinking
        return self.store.past(position)

    def settle(self) -> None:
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
        try:
            self.store.log.sync()
        except SessionError as error:
            self._fail(error)

    def close(self) -> None:
        self.store.log.close()

    def branch_messages(self) -> list[tuple[str, str]]:
        """What the user said, wherever in the tree."""
        said = self.store.entries(node for node in self.store.tree.nodes if node.role == "user")
        found = ((entry.id, user_text(entry.content)) for entry in said)
        return [(id, text) for id, text in found if text]

    def entries_since(self, id: str | None) -> list[bytes]:
        if id is None:
            return self.store.lines()
        node = self.store.tree.find(id)
        if node is None:
            raise BadInput(f"Entry {id} not found")
        return self.store.lines(node.index + 1)

    def outline(self) -> list[OutlineEntry]:
        from linnet.runtime.outline import outline

        return outline(self.store)

    def _said(self, message: Message, conversation: Conversation) -> None:
        self.note(Said(message), conversation.ids[-1])

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
        if self.store.path is not None and not self.store.log.lost:
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
