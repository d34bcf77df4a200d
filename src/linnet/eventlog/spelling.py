"""Spells events as JSON for a file, and reads them again. What the file says is written down here, and not in `core`: a
newer linnet may call things otherwise, and reads what an older one wrote, or says that it cannot.

Of each kind of event the table has the word, and the fields in the order in which their values are written. Messages
are told several times, with the reply, its step and its run, and are written once: what comes after refers to them.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import groupby, starmap
from operator import attrgetter
from typing import Any, TypeAlias, get_args, get_type_hints

from msgspec import DecodeError, Raw, Struct, ValidationError
from msgspec.structs import replace

from linnet.core import events, ui_events
from linnet.core.messages import Message, ToolResult, Verbatim
from linnet.decoding import converted, decoder_of
from linnet.errors import LinnetError
from linnet.wire.jsonl import encode_lines

VERSION = 1

Referred: TypeAlias = int | list[int]


class Unreadable(LinnetError):
    """A line that this linnet cannot read: it is damaged, or another version's."""


class Row(Struct, frozen=True):
    """How events of one kind are written."""

    word: str
    kind: type[events.Event]
    fields: tuple[str, ...]
    referring: frozenset[int] = frozenset()
    """Which of the fields are a message, or several, by place."""
    left_out: tuple[tuple[str, Any], ...] = ()
    """Fields that are not written, and what they are when the event is read."""


def _row(word: str, kind: type[events.Event], fields: str = "", **left_out: Any) -> Row:
    """`message*` is a field that refers to a message or to several."""
    names = fields.split()
    referring = frozenset(place for place, name in enumerate(names) if name.endswith("*"))
    return Row(word, kind, tuple(name.rstrip("*") for name in names), referring, tuple(left_out.items()))


ROWS = (
    _row("text", events.TextGrew, "index text"),
    _row("thinking", events.ThinkingGrew, "index text"),
    _row("call", events.CallGrew, "index call_id text"),
    _row("part", events.PartStarted, "index kind call_id name"),
    _row("part_end", events.PartEnded, "index part"),
    _row("usage", events.UsageGrew, "usage"),
    _row("job", events.JobStarted, "kind input spent taken_up"),
    _row("job_interrupted", events.JobInterrupted, "error"),
    _row("job_continued", events.JobContinued),
    _row("settled", events.Settled, "kind stop error"),
    _row("run", events.RunStarted),
    _row("run_end", events.RunEnded, "stop error messages* again"),
    _row("user", events.UserSaid, "message* id"),
    _row("system", events.SystemTold, "message* id"),
    _row("note", events.NoteAdded, "message* id"),
    _row("step", events.StepStarted, "step"),
    _row("step_end", events.StepEnded, "message* results*"),
    _row("reply", events.ReplyStarted, "api provider model time", id=""),
    _row("reply_end", events.ReplyEnded, "message* total id"),
    _row("interrupted", events.Interrupted, "message* id"),
    _row("output", events.OutputRead, "data problem"),
    _row("tool", events.ToolStarted, "call"),
    _row("tool_printed", events.ToolProgressed, "call_id name text"),
    _row("tool_returned", events.ToolReturned, "result*"),
    _row("tool_end", events.ToolFinished, "result* id"),
    _row("retry", events.RetryScheduled, "attempt max_attempts delay_ms error"),
    _row("retry_end", events.RetryEnded, "success attempt error"),
    _row("summary_retry", events.SummaryRetry, "stage reason attempt max_attempts delay_ms error"),
    _row("compaction", events.CompactionStarted, "reason"),
    _row("compaction_end", events.CompactionEnded, "reason result aborted will_retry error total id"),
    _row("bash", events.BashRan, "run* id"),
    _row("bash_printed", events.BashPrinted, "request text"),
    _row("queue", events.QueueChanged, "steering follow_ups dropped"),
    _row("level", events.LevelChanged, "level"),
    _row("question", events.QuestionAsked, "id question timeout"),
    _row("question_end", events.QuestionClosed, "id question how"),
    _row("session", events.SessionEntered, "session_id reason file spent", past=events.Past()),
    _row("session_named", events.SessionNamed, "name"),
    _row("session_failed", events.SessionFailed, "path error"),
    _row("entry", events.EntryAppended, "line"),
    _row("untrusted", events.ProjectUntrusted, "path found changed"),
    _row("hook_failed", events.HookFailed, "path event error"),
    _row("notified", ui_events.Notified, "extension message level id"),
    _row("displayed", ui_events.Displayed, "extension text id"),
    _row("status", ui_events.StatusSet, "extension key text id"),
    _row("widget", ui_events.WidgetSet, "extension key lines placement id"),
    _row("title", ui_events.TitleSet, "extension title id"),
    _row("editor_text", ui_events.EditorTextSet, "extension text id"),
)

UNTOLD: tuple[type[events.Event], ...] = (
    *get_args(events.Setting),
    events.BashHeld,
    events.StateKept,
    events.ProjectTrustSet,
    events.Cleared,
    events.Navigated,
    events.FailureForgotten,
)
"""Kinds that are not written: nobody is told of them, and some hold what only this process knows."""

_rows = {row.kind: row for row in ROWS}
_words = {row.word: row for row in ROWS}
_decoder_of = cache(decoder_of)
_getters = {row.kind: attrgetter(*row.fields) for row in ROWS if len(row.fields) > 1 and not row.referring}


class Line(Struct, omit_defaults=True):
    """One line of a file: events whose numbers follow each other, after the messages that they are the first to refer
    to.
    """

    n: int = 0
    """The number of the first of the events; 0 for those with which a file begins, which were told before."""
    t: int = 0
    """When they were written, in milliseconds since 1970."""
    p: str = ""
    """The call of a tool whose agent they belong to; empty for the agent's own."""
    m: list[tuple[bool, Raw]] = []
    """Messages, and whether the names in the details of a result are somebody else's."""
    e: list[tuple[str, Raw]] = []
    """Words, and the values of all events that follow each other with this word."""
    closed: bool = False
    """What comes before this line is on disk, whatever happens to the machine."""


class Plain(Line):
    """A line that was parsed by other means, so that its values are plain objects."""

    m: list[tuple[bool, Any]] = []
    e: list[tuple[str, Any]] = []


class Writer:
    """Spells the events of one file."""

    def __init__(self, messages: Sequence[Message] = ()) -> None:
        """`messages` are those that the file has."""
        self._messages = [*messages]  # As long as they are held, no other object has the identity of one of them.
        self._places = {id(message): place for place, message in enumerate(messages)}

    def line(self, batch: Sequence[events.Event], number: int, time: int, parent: str = "") -> bytes:
        """Return the line of these events, the first of which has this number. None of them is UNTOLD."""
        before = len(self._messages)
        kinds = set(map(type, batch))
        groups = [(kinds.pop(), batch)] if len(kinds) == 1 else groupby(batch, type)
        spelled = [(_rows[kind].word, self._values(_rows[kind], group)) for kind, group in groups]
        line = {"n": number, "t": time, "p": parent, "m": self._spelled_since(before), "e": spelled}
        return encode_lines([{name: value for name, value in line.items() if value}])

    @staticmethod
    def closing() -> bytes:
        """Return the line that says that all before it is on disk."""
        return encode_lines([Line(closed=True)])

    def _values(self, row: Row, group: Iterable[events.Event]) -> list[Any]:
        get = _getters.get(row.kind)
        if get is not None:
            return list(map(get, group))
        return [
            [
                self._refer(getattr(event, name)) if place in row.referring else getattr(event, name)
                for place, name in enumerate(row.fields)
            ]
            for event in group
        ]

    def _refer(self, said: "Message | tuple[Message, ...]") -> Referred:
        if isinstance(said, tuple):
            return [self._place(message) for message in said]
        return self._place(said)

    def _place(self, message: Message) -> int:
        place = self._places.setdefault(id(message), len(self._messages))
        if place == len(self._messages):
            self._messages.append(message)
        return place

    def _spelled_since(self, before: int) -> list[tuple[bool, Message]]:
        return [
            (isinstance(message, ToolResult) and isinstance(message.details, Verbatim), message)
            for message in self._messages[before:]
        ]


class Reader:
    """Reads the lines of one file, from its first on."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        """Those that the file has, so far."""

    def read(self, line: bytes) -> tuple[Line, list[events.Event]]:
        """Return what the line says, and the events. Raises Unreadable."""
        try:
            parsed = _parsed(line)
            for verbatim, spelled in parsed.m:
                self.messages.append(_message(spelled, verbatim=verbatim))
            happened: list[events.Event] = []
            for word, values in parsed.e:
                happened += self._events(word, values)
        except (DecodeError, ValidationError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise Unreadable(str(error)) from None
        return parsed, happened

    def _events(self, word: str, values: Any) -> Iterable[events.Event]:
        row = _words[word]
        read = _decoded(values, _type_of(word))
        if not row.referring and not row.left_out:
            return starmap(row.kind, read)
        return [self._event(row, each) for each in read]

    def _event(self, row: Row, values: Sequence[Any]) -> events.Event:
        given = {
            name: self._referred(value) if place in row.referring else value
            for place, (name, value) in enumerate(zip(row.fields, values, strict=True))
        }
        make: Callable[..., events.Event] = row.kind
        return make(**given, **dict(row.left_out))

    def _referred(self, places: Referred) -> "Message | tuple[Message, ...]":
        if isinstance(places, int):
            return self.messages[places]
        return tuple([self.messages[place] for place in places])


def _parsed(line: bytes) -> Line:
    try:
        parsed: Line = _decoder_of(Line).decode(line)
    except ValidationError:
        raise
    except DecodeError:  # JSON can spell half a surrogate pair, as file names have it, and msgspec does not read that.
        parsed = converted(json.loads(line), Plain)
    return parsed


@cache
def _type_of(word: str) -> Any:
    """Return the type of all values that a word has in a line."""
    row = _words[word]
    hints = get_type_hints(row.kind)
    types = [Referred if place in row.referring else hints[name] for place, name in enumerate(row.fields)]
    of_one: Any = tuple[*types] if types else tuple[()]  # type: ignore[valid-type]
    return list[of_one]


def _decoded(values: Any, type: Any) -> Any:
    return _decoder_of(type).decode(values) if isinstance(values, Raw) else converted(values, type)


def _message(spelled: Any, *, verbatim: bool) -> Message:
    message: Message = _decoded(spelled, Message)
    if verbatim and isinstance(message, ToolResult) and message.details is not None:
        return replace(message, details=Verbatim(message.details))
    return message
