"""Folds the stream of one agent into what it does and what it has done. Pure: times come with the events."""

from typing import Any, Final

from msgspec import Struct, field

from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.monitor import pi, zot
from linnet.monitor.states import (
    Asking,
    Compacting,
    Failed,
    Garbled,
    Gone,
    Idle,
    Refused,
    Retrying,
    Running,
    Speaking,
    Starting,
    State,
    Thinking,
    name,
)
from linnet.monitor.words import MOST_TEXT, Detail, DialectName, Tokens, Word, beginning, fields
from linnet.wire.jsonl import TooDeep, decode_line

TABLES: Final[dict[str, dict[str, Word | None]]] = {
    "zot": {**zot.MAPPING, **zot.ADDED},
    "pi": {**pi.MAPPING, **pi.ADDED},
}
MOST_TYPES: Final = 100  # Distinct names that are counted one by one; the rest share one count.
MOST_CALLS: Final = 1000
REST: Final = "…"  # The name of that count.
_BOTH: Final = TABLES["zot"].keys() & TABLES["pi"].keys()
_ENDS_THE_RUN: Final = frozenset(("compact", "new_session", "switch_session", "branch", "fork", "clone"))
_ANSWERS: Final = frozenset(("answer", "extension_ui_response"))
_RESTING: Final = (Starting, Idle, Failed)


class _Head(Struct):
    type: str


_head = decoder_of(_Head)


class Watch(Struct):
    """What is known of one agent. Invariant: its size does not depend on how much was heard."""

    dialect: DialectName | None = None  # None until the stream shows what it is, unless it was told.
    state: State = Starting()
    since: float = 0.0  # When `state` began.
    at: float = 0.0  # When something was last heard.
    types: dict[str, int] = field(default_factory=dict)  # Frames by type.
    unmapped: dict[str, int] = field(default_factory=dict)  # Those whose type is in no table.
    frames: int = 0
    skipped: int = 0  # Bytes that went by too fast to be looked at: the counts are then what was seen.
    prompts: int = 0
    turns: int = 0
    tools: int = 0
    failures: int = 0
    refusals: int = 0
    garbled: int = 0
    notices: int = 0
    retries: int = 0
    compactions: int = 0
    spent: Tokens = field(default_factory=Tokens)
    words: str = ""  # The end of what the agent said last.
    notice: str = ""  # The last one.
    _calls: dict[str, Running] = field(default_factory=dict)  # Those that have not ended, by id.
    _under: State = Starting()  # The state but for a line that was refused or garbled.
    _at_work: bool = False
    _aborted: bool = False
    _settles: bool = False  # Whether it is known that `agent_settled` ends what a prompt led to, and not `agent_end`.

    def heard(self, at: float, line: bytes) -> None:
        """Take in one line that the agent printed, without its LF. Never raises."""
        self.at = at
        if not line.strip():
            return
        try:
            type = decode_line(_head, line).type
        except BadInput as error:
            known = fields(line).get("type") if isinstance(error, TooDeep) else None
            if not isinstance(known, str):
                self._take_garbled(line, str(error))
                return
            type = known
        self.frame(at, type, line)

    def frame(self, at: float, type: str, line: bytes) -> None:
        """Take in a frame whose type is known."""
        self.at = at
        self.frames += 1
        _count(self.types, type, 1)
        self.dialect = self.dialect or recognised(type)
        if type == "response":
            self._answered(line)
            return
        table = TABLES[self.dialect] if self.dialect else TABLES["pi"]
        if type not in table:
            _count(self.unmapped, type, 1)
            self._enter(self._quiet())
            return
        module = zot if self.dialect == "zot" else pi
        said = module.detail(type, line)
        word = table[type]
        self._settles = self._settles or type == "agent_settled"
        if word is None or (type == "agent_end" and self._settles):  # A retry or a compaction may follow.
            self._enter(self._quiet())
        else:
            self._enter(self._after(word, said))
        self._add(word, said)

    def pieces(self, at: float, type: str, count: int, said: Detail, joined: bool) -> None:
        """Take in `count` frames in a row, all of this type and pieces of one reply, which come to what is said.

        If that is `joined` to what came before, it is all that they say; else only the end of it.
        """
        self.at = at
        self.frames += count
        _count(self.types, type, count)
        self._enter(self._after("message_update", said))
        if said.text:
            before = self.words if joined and not said.whole else ""
            self.words = (before + said.text)[-MOST_TEXT:]

    def passed(self, type: str, count: int) -> None:
        """Count frames of this type that need not be looked at, since the next one repeats what they say."""
        self.frames += count
        _count(self.types, type, count)

    def oversize(self, at: float, head: bytes, size: int) -> None:
        """Take in a line that was too long to be kept, and whose type could not be seen either."""
        self.at = at
        self._take_garbled(head, f"it has {size:,} bytes")

    def said(self, at: float, line: bytes) -> None:
        """Take in one line that the client sent. It is not needed, but shows what has no event."""
        self.at = at
        asked = fields(line)
        if asked.get("type") == "compact" and self.dialect == "pi" and isinstance(self.state, _RESTING):
            self._enter(Compacting("manual"))

    def ended(self, at: float, code: int | None = None) -> None:
        """Take in that the stream has ended, and the process with this code, if that is known."""
        self.at = at
        during = "" if isinstance(self._under, Idle | Starting) else doing(self._under)
        self._calls.clear()
        self._enter(Gone(code, during))

    def _answered(self, line: bytes) -> None:
        """Take in a response."""
        said = fields(line)
        if said.get("success") is True:
            self._enter(self._accepted(said))
            return
        self.refusals += 1
        if self.dialect == "pi" and said.get("command") == "compact" and isinstance(self._under, Compacting):
            self._enter(Idle())
        command = beginning(said.get("command"))
        during = doing(self._quiet())
        self._pass(Refused(command, beginning(said.get("error")) or "it did not say why", during))

    def _accepted(self, said: dict[str, Any]) -> State:
        """Return the state after a response with success: no change, but for what has no event of its own.

        zot answers a compaction when it starts, with that word. pi answers one when it is over, and ends the run before
        it, as before any move to another session; its earlier generations tell nothing else of that.
        """
        if said.get("command") == "compact" and self.dialect != "pi" and said.get("data") == {"started": True}:
            return Compacting("manual")
        if said.get("command") in _ANSWERS:
            return self._answered_question(self._quiet())
        data = said.get("data")
        self._settles = self._settles or (isinstance(data, dict) and isinstance(data.get("disposition"), str))
        cancelled = isinstance(data, dict) and data.get("cancelled") is True
        if self.dialect != "pi" or said.get("command") not in _ENDS_THE_RUN or cancelled:
            return self._quiet()
        self._calls.clear()
        self._at_work = False
        return self._under if isinstance(self._under, Failed) else Idle(self._aborted)

    def _take_garbled(self, line: bytes, reason: str) -> None:
        self.garbled += 1
        shown = line[:MOST_TEXT].decode(errors="replace")
        self._pass(Garbled(shown, reason, doing(self._under)))

    def _pass(self, state: Refused | Garbled) -> None:
        """Show a state that lasts until the next line, while `_under` stays."""
        self.state, self.since = state, self.at

    def _enter(self, state: State) -> None:
        """Be in this state, and note since when, if it is another."""
        if isinstance(state, Failed) and not isinstance(self._under, Failed | Retrying):
            self.failures += 1  # It is told more than once: by the message, by the turn, by an error of its own.
        self._under = state
        if state != self.state:
            if type(state) is not type(self.state) or isinstance(state, Running):
                self.since = state.since if isinstance(state, Running) else self.at
            self.state = state

    def _quiet(self) -> State:
        """Return the state after something that means no change: a sign of life at least."""
        return Idle() if isinstance(self._under, Starting) else self._under

    def _after(self, word: Word, said: Detail) -> State:
        """Return the state that follows from an event and what came with it."""
        now = self._quiet()
        match word:
            case "agent_start" | "turn_start":
                self._at_work, self._aborted = True, False
                return Thinking()
            case "message_start":
                if said.role == "assistant":
                    self.words = ""
                    return Thinking()
                return now
            case "message_update" if said.role == "user":
                self._at_work, self._aborted = True, False
                return Thinking()
            case "message_update":
                return Speaking() if said.kind == "text" else Thinking() if said.kind else now
            case "message_end" | "turn_end":
                self._aborted = self._aborted or said.aborted
                if said.error:
                    return Failed(said.error)
                return self._tool() or (Thinking() if isinstance(now, Speaking | Running) else now)
            case "agent_end":
                self._at_work = False
                self._calls.clear()
                if isinstance(now, Failed) and not said.aborted:
                    return now
                return Idle(self._aborted or said.aborted)
            case "tool_execution_start":
                return self._started(said)
            case "tool_execution_update":
                if said.call and said.call not in self._calls:
                    return self._started(said)
                return self._tool() or now
            case "tool_execution_end":
                return self._finished(said)
            case "question_start":
                return Asking(said.text) if said.text else now
            case "question_end":
                return self._answered_question(now)
            case "compaction_start":
                return Compacting(said.text)
            case "compaction_end":
                return self._compacted(said, now)
            case "retry_start":
                return Retrying(said.attempt, said.attempts, said.delay, said.error)
            case "retry_end":
                if said.error:
                    return Failed(said.error)
                return Thinking() if isinstance(now, Retrying) else now
            case "error":
                return Failed(said.error)
            case "notice":
                return now

    def _started(self, said: Detail) -> State:
        """Note that a call runs from now on, and return the state.

        A call that is written and one that runs have the same id: the last of its beginnings counts.
        """
        known = self._calls.get(said.call)
        if known is None and len(self._calls) >= MOST_CALLS:
            self._calls.pop(next(iter(self._calls)))
        tool = said.tool or (known.tool if known else "a tool")
        self._calls[said.call] = Running(tool, said.call, self.at)
        return self._tool() or Thinking()

    def _finished(self, said: Detail) -> State:
        """Note that a call has ended, and return the state."""
        self._calls.pop(said.call, None)
        if self.dialect == "zot" and (following := next(iter(self._calls.values()), None)):
            # Its calls are announced together and carried out one after another.
            self._calls[following.call] = Running(following.tool, following.call, self.at)
        return self._tool() or Thinking()

    def _tool(self) -> State | None:
        """Return the state of running the call that began first of those that have not ended; None without any."""
        first = next(iter(self._calls.values()), None)
        return first and Running(first.tool, first.call, first.since, len(self._calls) - 1)

    def _answered_question(self, now: State) -> State:
        """Return the state after an answer: the agent goes on with what it asked about."""
        return (self._tool() or Thinking()) if isinstance(now, Asking) else now

    def _compacted(self, said: Detail, now: State) -> State:
        """Count a compaction that has ended, and return the state."""
        if said.error:
            return Failed(said.error)
        self.compactions += not said.aborted
        if not isinstance(now, Compacting | Retrying):
            return now
        if said.again or (self._at_work and not said.aborted):
            return Thinking()
        return Idle(said.aborted)

    def _add(self, word: Word | None, said: Detail) -> None:
        """Add to the sums, and keep the last words."""
        if said.total:
            self.spent = said.total
        elif said.spent:
            self.spent.add(said.spent)
        match word:
            case "message_update" if said.role == "user":
                self.prompts += 1
            case "message_update" if said.kind == "text":
                self.words = (self.words + said.text)[-MOST_TEXT:]
            case "message_start" if said.role == "user":
                self.prompts += 1
            case "message_end" if said.text:
                self.words = said.text
            case "turn_start":
                self.turns += 1
            case "tool_execution_end":
                self.tools += 1
            case "retry_start":
                self.retries += 1
            case "notice":
                self.notices += 1
                self.notice = said.error
            case _:
                pass


def recognised(type: str) -> DialectName | None:
    """Return the dialect that alone has this type; None if none or both have."""
    if type in _BOTH:
        return None
    return "zot" if type in TABLES["zot"] else "pi" if type in TABLES["pi"] else None


def doing(state: State) -> str:
    """Return what an agent does in this state, in a word or two."""
    return f"running {state.tool}" if isinstance(state, Running) else name(state)


def _count(counts: dict[str, int], type: str, by: int) -> None:
    """Add to the count of a type, or to that of the rest if there are too many."""
    name = type[:60]
    if name not in counts and len(counts) >= MOST_TYPES:
        name = REST
    counts[name] = counts.get(name, 0) + by
