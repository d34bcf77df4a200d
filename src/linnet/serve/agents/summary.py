"""What a list of agents shows about one: a fold of its events."""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, field

from linnet.core import events
from linnet.core.messages import AssistantMessage, ToolCall, Usage
from linnet.core.permissions.rule import subject
from linnet.wire.pi.questions import waiting
from linnet.wire.pi.state import WaitingFor

State: TypeAlias = Literal["asleep", "idle", "working", "tool", "waiting", "compacting", "retrying"]
MOST_LETTERS = 200  # Of the last words, and of what a tool is about.


class RunningTool(Struct, frozen=True):
    name: str
    title: str
    """What it is about: a command, a path."""
    since: int


class Tokens(Struct, frozen=True):
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


class Summary(Struct, kw_only=True):
    """One agent as lists show it, on every transport. Times are milliseconds since 1970."""

    id: str
    state: State = "idle"
    cwd: str = ""
    name: str = ""
    model: str = ""
    provider: str = ""
    dialect: str = ""
    """What it was opened with; its clients may speak others."""
    session_id: str = ""
    session_file: str | None = None
    created: int = 0
    changed: int = 0
    since: int = 0
    """When it came into this state."""
    tool: RunningTool | None = None
    """The one that has run longest of those that run."""
    waiting: list[WaitingFor] = field(default_factory=list)
    """Questions that nobody has answered."""
    prompts: int = 0
    tokens: Tokens = Tokens()
    cost: float = 0.0
    last: str = ""
    """The last words of the model."""
    seq: int = 0
    """The number of its last event."""
    drivers: int = 0
    watchers: int = 0
    error: str = ""
    """Why the last run failed, if it did."""


_MATTERS = (
    events.JobStarted,
    events.Settled,
    events.StepStarted,
    events.ReplyEnded,
    events.ToolStarted,
    events.ToolReturned,
    events.ToolFinished,
    events.QuestionAsked,
    events.QuestionClosed,
    events.CompactionStarted,
    events.CompactionEnded,
    events.RetryScheduled,
    events.RetryEnded,
    events.SessionEntered,
    events.SessionNamed,
    events.ModelSet,
)
MATTERS = frozenset(_MATTERS)
"""Kinds of events that change what is shown. No other event need be looked at."""


class SummaryFold:
    """Invariant: only `apply` and whoever counts clients change `shown`. Called with the session's lock held."""

    def __init__(self, shown: Summary, clock: Callable[[], int], spent: float = 0.0) -> None:
        self.shown = shown
        self.spent = spent  # Dollars, in all sessions; what those had cost before it came to them is not its own.
        self._clock = clock
        self._job: events.JobStarted | None = None
        self._tools: dict[str, RunningTool] = {}
        self._questions: dict[str, events.QuestionAsked] = {}
        self._compacting = self._retrying = False

    @property
    def working(self) -> bool:
        """Return whether a prompt or a compaction is open."""
        return self._job is not None

    def apply(self, batch: Sequence[events.Event]) -> None:
        """Change as these events say, those that matter."""
        now = self._clock()
        for event in batch:
            self._apply(event, now)
        shown = self.shown
        state: State = self._state
        if state != shown.state:
            shown.state, shown.since = state, now
        shown.changed = now
        shown.tool = next(iter(self._tools.values()), None)
        shown.waiting = [waiting(each) for each in self._questions.values()]

    @property
    def _state(self) -> State:
        if self._questions:
            return "waiting"
        if self._compacting:
            return "compacting"
        if self._job is None:
            return "idle"
        if self._tools:
            return "tool"
        return "retrying" if self._retrying else "working"

    def _apply(self, event: events.Event, now: int) -> None:
        shown = self.shown
        match event:
            case events.JobStarted(kind):
                self._job = event
                shown.prompts += kind == "prompt"
                shown.error = ""
            case events.Settled(_, stop, error):
                self._job = None
                self._tools.clear()
                self._compacting = self._retrying = False
                shown.error = error if stop == "error" else ""
            case events.StepStarted():
                self._retrying = False
            case events.ReplyEnded(message, total):
                self._spend(total)
                self._hear(message)
            case events.ToolStarted(call):
                self._tools[call.id] = RunningTool(call.name, _title(call), now)
            case events.ToolReturned(result) | events.ToolFinished(result):
                self._tools.pop(result.call_id, None)
            case events.QuestionAsked(id):
                self._questions[id] = event
            case events.QuestionClosed(id):
                self._questions.pop(id, None)
            case events.CompactionStarted():
                self._compacting = True
            case events.CompactionEnded():
                self._compacting = False
                if event.spent is not None:
                    self._spend(event.spent)
            case events.RetryScheduled():
                self._retrying = True
            case events.RetryEnded():
                self._retrying = False
            case events.SessionEntered(session_id=id, file=file):
                self.enter(id, event.spent)
                shown.session_file = file
            case events.SessionNamed(name):
                shown.name = name
            case events.ModelSet(model):
                shown.model, shown.provider = model.id, model.provider
            case _:
                pass

    def enter(self, session_id: str, total: Usage) -> None:
        """Show a session that has cost so much. If that is more than was known of the same one, it was spent here, by a
        run that was cut off.
        """
        if session_id == self.shown.session_id:
            self._spend(total)
        else:
            self.shown.session_id = session_id
            self._count(total)

    def _spend(self, total: Usage) -> None:
        self.spent += max(0.0, total.cost.total - self.shown.cost)
        self._count(total)

    def _count(self, total: Usage) -> None:
        self.shown.tokens = Tokens(total.input, total.output, total.cache_read, total.cache_write)
        self.shown.cost = total.cost.total

    def _hear(self, message: AssistantMessage) -> None:
        words = " ".join(message.text.split())
        if words:
            self.shown.last = words if len(words) <= MOST_LETTERS else "…" + words[-MOST_LETTERS:]
        if message.model:
            self.shown.model, self.shown.provider = message.model, message.provider


def _title(call: ToolCall) -> str:
    lines = str(subject(call) or "").strip().splitlines()
    return lines[0][:MOST_LETTERS] if lines else ""
