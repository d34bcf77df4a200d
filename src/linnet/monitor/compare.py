"""Two captures side by side, aligned by event. Pure."""

from difflib import SequenceMatcher
from typing import Any

from msgspec import Struct

from linnet.monitor.record import Capture, objects
from linnet.monitor.report import folded
from linnet.monitor.watch import TABLES
from linnet.monitor.words import DialectName

_MOST = 2000  # Events of each that are aligned.


class Event(Struct, frozen=True):
    """One event, or several of a type in a row. `key` is what it is aligned by."""

    type: str
    key: str
    at: float
    count: int
    names: frozenset[str]


def events(capture: Capture, dialect: DialectName | None, by_word: bool) -> list[Event]:
    """By the monitor's word where the two speak different dialects, else by type."""
    table = TABLES[dialect] if dialect else {}
    made: list[Event] = []
    printed = [record for record in capture.records if record.kind == "out"]
    for record, said in zip(printed, objects([record.line for record in printed]), strict=True):
        type, names = _named(said)
        word = table.get(type) if by_word else None
        key = word or ("" if by_word and type in table else type)
        if made and made[-1].type == type and made[-1].key == key and "response" not in type:
            last = made[-1]
            made[-1] = Event(type, key, last.at, last.count + 1, last.names | names)
        else:
            made.append(Event(type, key, record.at, 1, names))
    return made


def compare(one: Capture, other: Capture, names: tuple[str, str]) -> str:
    """A table in Markdown: an event of each in a row, where they belong together; else one side is empty."""
    dialects = [folded(capture).dialect for capture in (one, other)]
    by_word = dialects[0] != dialects[1]
    left, right = (events(c, d, by_word)[:_MOST] for c, d in zip((one, other), dialects, strict=True))
    rows = _rows(left, right)
    same = sum(1 for a, b in rows if a and b)
    head = [f"# {names[0]} and {names[1]}, side by side", ""]
    head.append(
        f"Aligned by {'what events mean, since the dialects differ' if by_word else 'type'}: {same} of {len(rows)}."
    )
    table = ["", f"| ms | {names[0]} | ms | {names[1]} | fields |", "|---|---|---|---|---|"]
    table += [f"| {_cell(a)} | {_cell(b)} | {_fields(a, b)} |" for a, b in rows]
    return "\n".join([*head, *table]) + "\n"


def _rows(left: list[Event], right: list[Event]) -> list[tuple[Event | None, Event | None]]:
    rows: list[tuple[Event | None, Event | None]] = []
    matcher = SequenceMatcher(None, [e.key for e in left], [e.key for e in right], autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            rows += zip(left[a:b], right[c:d], strict=True)
        else:
            rows += [(event, None) for event in left[a:b]]
            rows += [(None, event) for event in right[c:d]]
    return rows


def _named(said: dict[str, Any] | None) -> tuple[str, frozenset[str]]:
    if said is None or not isinstance(said.get("type"), str):
        return "(no frame)", frozenset()
    type = str(said["type"])
    if type == "response":
        type = f"response {said.get('command')} {'ok' if said.get('success') is True else 'refused'}"
    return type.replace("|", "?").replace("\n", " ")[:60], frozenset(str(name) for name in said)


def _cell(event: Event | None) -> str:
    if event is None:
        return " | "
    times = f" ×{event.count:,}" if event.count > 1 else ""
    return f"{event.at * 1000:.0f} | {event.type}{times}"


def _fields(one: Event | None, other: Event | None) -> str:
    """What one has and the other has not, where they are the same event."""
    if one is None or other is None or one.type != other.type:
        return ""
    only = [*(f"−{name}" for name in sorted(one.names - other.names))]
    only += [f"+{name}" for name in sorted(other.names - one.names)]
    return " ".join(only).replace("|", "?")
