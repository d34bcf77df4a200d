"""The monitor's own words for what an agent does. Each dialect has a table from its types to these. Pure."""

from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.jsonl import decode_line

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
    """What was spent. `cost` is in dollars; `cost_known`: of all of it, as far as the agent says."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    cost_known: bool = True

    def add(self, other: "Tokens") -> None:
        self.input += other.input
        self.output += other.output
        self.cache_read += other.cache_read
        self.cache_write += other.cache_write
        self.cost += other.cost
        self.cost_known = self.cost_known and other.cost_known


class Detail(Struct, frozen=True):
    """What a frame says besides its word. `whole` means that `text` is the end of all that was said so far."""

    role: Literal["", "user", "assistant", "other"] = ""
    kind: Literal["", "text", "thinking", "call"] = ""
    text: str = ""
    call: str = ""
    tool: str = ""
    error: str = ""
    aborted: bool = False
    again: bool = False
    attempt: int = 0
    attempts: int = 0
    delay: float = 0.0
    spent: Tokens | None = None
    total: Tokens | None = None
    whole: bool = False


NOTHING: Final = Detail()
_object = decoder_of(dict[str, Any])


def fields(line: bytes) -> dict[str, Any]:
    """All fields of a frame, or none if it cannot be read after all."""
    try:
        return decode_line(_object, line)
    except BadInput:
        return {}


def text(value: Any) -> str:
    """The end of a string; of a list of blocks, the end of their texts; of anything else, nothing."""
    if isinstance(value, str):
        return value[-MOST_TEXT:]
    if isinstance(value, list):
        parts = [part.get("text") for part in value[-8:] if isinstance(part, dict)]
        return "".join(part[-MOST_TEXT:] for part in parts if isinstance(part, str))[-MOST_TEXT:]
    return ""


def beginning(value: Any) -> str:
    """The beginning of a string, which is where errors and names say what they are about."""
    return value[:MOST_TEXT] if isinstance(value, str) else ""


def number(value: Any) -> float:
    """A sum that can be added to; anything that is none counts nothing."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15
    return value if usable else 0


def tokens(value: Any, cache_read: str, cache_write: str, cost: Any, known: str) -> Tokens | None:
    """The last four are what an agent calls the fields, but for the cost itself."""
    if not isinstance(value, dict):
        return None
    names = ("input", "output", cache_read, cache_write)
    given, made, read, written = (int(number(value.get(name))) for name in names)
    return Tokens(given, made, read, written, float(number(cost)), value.get(known) is not False)
