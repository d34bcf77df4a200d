"""The events that a monitor knows, which each dialect has a table for, and what is read from a frame. Pure."""

from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire import shallow
from linnet.wire.jsonl import TooDeep, decode_line

Word: TypeAlias = Literal[
    "agent_start",
    "agent_end",
    "turn_start",
    "turn_end",
    "message_start",
    "message_update",
    "message_end",
    "tool_execution_start",
    "tool_execution_update",
    "tool_execution_end",
    "question_start",
    "question_end",
    "compaction_start",
    "compaction_end",
    "retry_start",
    "retry_end",
    "error",
    "notice",
]
DialectName: TypeAlias = Literal["zot", "pi"]
MOST_TEXT: Final = 200  # Characters of anything said that are kept.


class Tokens(Struct):
    """Tokens that were spent, and what they cost."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0  # Dollars.
    cost_known: bool = True  # Whether `cost` is that of all of them, as far as the agent says.

    def add(self, other: "Tokens") -> None:
        """Add what else was spent."""
        self.input += other.input
        self.output += other.output
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.cost += other.cost
        self.cost_known = self.cost_known and other.cost_known


class Detail(Struct, frozen=True):
    """What a frame says besides which event it is."""

    role: Literal["", "user", "assistant", "other"] = ""
    kind: Literal["", "text", "thinking", "call"] = ""
    text: str = ""
    call: str = ""
    tool: str = ""
    error: str = ""
    aborted: bool = False
    again: bool = False  # Whether the run goes on after a compaction.
    attempt: int = 0
    attempts: int = 0
    delay: float = 0.0
    spent: Tokens | None = None  # By this message.
    total: Tokens | None = None  # By the session so far.
    whole: bool = False  # Whether `text` is the end of all that was said so far, and not of this piece.


NOTHING: Final = Detail()
_object = decoder_of(dict[str, Any])


def fields(line: bytes) -> dict[str, Any]:
    """Return all fields of a frame; none if it cannot be read after all. Those that are too deep are left out."""
    try:
        return decode_line(_object, line)
    except TooDeep:
        return shallow.fields(line)
    except BadInput:
        return {}


def text(value: Any) -> str:
    """Return the end of a string; of a list of blocks, the end of their texts; of anything else, nothing."""
    if isinstance(value, str):
        return value[-MOST_TEXT:]
    if isinstance(value, list):
        parts = [part.get("text") for part in value[-8:] if isinstance(part, dict)]
        return "".join(part[-MOST_TEXT:] for part in parts if isinstance(part, str))[-MOST_TEXT:]
    return ""


def beginning(value: Any) -> str:
    """Return the beginning of a string, which is where errors and names say what they are about."""
    return value[:MOST_TEXT] if isinstance(value, str) else ""


def number(value: Any) -> float:
    """Return a number that can be added to a sum; 0 for anything else."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15
    return value if usable else 0


def tokens(value: Any, cache_read: str, cache_write: str, cost: Any, known: str) -> Tokens | None:
    """Return what a `usage` object says; None if it is no object. All but `cost` are names of its fields."""
    if not isinstance(value, dict):
        return None
    names = ("input", "output", cache_read, cache_write)
    given, made, read, written = (int(number(value.get(name))) for name in names)
    return Tokens(given, made, read, written, float(number(cost)), value.get(known) is not False)
