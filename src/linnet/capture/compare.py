"""Compares two captures side by side, aligned by event. Pure."""

from typing import Any, TypeAlias

from msgspec import Struct

from linnet.capture.record import Capture, objects
from linnet.capture.report import folded
from linnet.monitor import pi, zot
from linnet.monitor.watch import TABLES
from linnet.monitor.words import DialectName

_MOST = 1000  # Events of each that are aligned.


class CapturedEvent(Struct, frozen=True):
    """One event, or several in a row that are alike."""

    type: str
    key: str  # What it is aligned by; empty if it stands alone.
    at: float
    count: int
    names: frozenset[str]  # Of its fields.


Row: TypeAlias = tuple[CapturedEvent | None, CapturedEvent | None]


def events(capture: Capture, dialect: DialectName | None, by_meaning: bool) -> list[CapturedEvent]:
    """Return the events of a capture, with keys by what they mean, or else by their type."""
    made: list[CapturedEvent] = []
    printed = [record for record in capture.records if record.kind == "out"]
    for record, said in zip(printed, objects([record.line for record in printed]), strict=True):
        type, names = _named(said)
        key = _meaning(type, record.line, dialect) if by_meaning else type
        last = made[-1] if made and not type.startswith("response") else None
        if last and last.key == key and (last.type == type or (by_meaning and key)):
            made[-1] = CapturedEvent(last.type, key, last.at, last.count + 1, last.names | names)
        else:
            made.append(CapturedEvent(type, key, record.at, 1, names))
    return made


def compare(one: Capture, other: Capture, names: tuple[str, str]) -> str:
    """Return a table in Markdown: an event of each in a row, where they belong together; else one side is empty.

    They belong together by what they mean where the two speak different dialects, else by type.
    """
    dialects = [folded(capture).dialect for capture in (one, other)]
    by_meaning = dialects[0] != dialects[1]
    left, right = (events(c, d, by_meaning) for c, d in zip((one, other), dialects, strict=True))
    rows = _rows(left[:_MOST], right[:_MOST])
    together = sum(1 for a, b in rows if a and b)
    way = "what events mean, since the dialects differ" if by_meaning else "type"
    lines = [f"# {names[0]} and {names[1]}, side by side", ""]
    lines += [f"Aligned by {way}. {together} of {len(rows)} rows have both.", ""]
    if left[_MOST:] or right[_MOST:]:
        lines += [f"Only the first {_MOST:,} events of each are shown.", ""]
    lines += [f"| ms | {names[0]} | ms | {names[1]} | fields |", "|---|---|---|---|---|"]
    lines += [f"| {_cell(a)} | {_cell(b)} | {_fields(a, b)} |" for a, b in rows]
    return "\n".join(lines) + "\n"


def _rows(left: list[CapturedEvent], right: list[CapturedEvent]) -> list[Row]:
    """Return the rows: the longest common subsequence is paired, everything else stands alone, in its order."""
    longest = [[0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        row, below = longest[i], longest[i + 1]
        for j in range(len(right) - 1, -1, -1):
            same = left[i].key == right[j].key and left[i].key
            row[j] = below[j + 1] + 1 if same else max(below[j], row[j + 1])
    rows: list[Row] = []
    i = j = 0
    while i < len(left) or j < len(right):
        if i < len(left) and j < len(right) and left[i].key == right[j].key and left[i].key:
            rows.append((left[i], right[j]))
            i, j = i + 1, j + 1
        elif j == len(right) or (i < len(left) and longest[i + 1][j] >= longest[i][j + 1]):
            rows.append((left[i], None))
            i += 1
        else:
            rows.append((None, right[j]))
            j += 1
    return rows


def _meaning(type: str, line: bytes, dialect: DialectName | None) -> str:
    """Return a key that is the same for events of two dialects which tell the same; nothing if only one tells it."""
    if dialect is None or type.startswith(("response", "(")):
        return type
    word = TABLES[dialect].get(type)
    said = (zot if dialect == "zot" else pi).detail(type, line)
    if type.startswith("tool_use_") or said.kind == "call":
        return "a call is written"
    if type == "user_message" or (word == "message_start" and said.role == "user"):
        return "the user's message"
    if word in ("message_start", "message_end") and said.role != "assistant":
        return ""
    if word == "message_update":
        return f"the reply grows: {said.kind}" if said.text else ""
    return word or ""


def _named(said: dict[str, Any] | None) -> tuple[str, frozenset[str]]:
    if said is None or not isinstance(said.get("type"), str):
        return "(no frame)", frozenset()
    type = str(said["type"])
    if type == "response":
        type = f"response {said.get('command')} {'ok' if said.get('success') is True else 'refused'}"
    return type.replace("|", "?").replace("\n", " ")[:60], frozenset(str(name) for name in said)


def _cell(event: CapturedEvent | None) -> str:
    if event is None:
        return " | "
    times = f" ×{event.count:,}" if event.count > 1 else ""
    return f"{event.at * 1000:.0f} | {event.type}{times}"


def _fields(one: CapturedEvent | None, other: CapturedEvent | None) -> str:
    """Return the fields that only one of two events has, where they are of the same type."""
    if one is None or other is None or one.type != other.type:
        return ""
    only = [*(f"−{name}" for name in sorted(one.names - other.names))]
    only += [f"+{name}" for name in sorted(other.names - one.names)]
    return " ".join(only).replace("|", "?")
