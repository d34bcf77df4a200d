"""The format of a capture: what was said in both directions, with times, as lines of JSON. Pure."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field

from linnet.errors import ConfigError

Kind: TypeAlias = Literal["in", "out", "err", "end", "exit", "note"]
VERSION: Final = 1
_KINDS: Final[tuple[Kind, ...]] = ("in", "out", "err", "end", "exit", "note")
_MARKS: Final = frozenset(("capture", "argv", "ms", *_KINDS))


class Record(Struct, frozen=True):
    """Something that happened in a run."""

    at: float
    """Seconds since the program was started."""
    kind: Kind
    """`end` is the end of what is sent, `exit` that of the program; the others have a line."""
    line: bytes = b""
    """What was sent (`in`), printed (`out`, `err`) or is to be said about it (`note`), without its LF."""
    torn: bool = False
    """Whether the line had no LF."""
    code: int | None = None
    """The exit code, if it is known."""


class Capture(Struct):
    """A whole run."""

    date: str = ""
    """When it was made, in RFC 3339."""
    argv: list[str] = field(default_factory=list)
    """The program."""
    records: list[Record] = field(default_factory=list)

    def lines(self, kind: Kind) -> list[bytes]:
        """Return all lines of a kind."""
        return [record.line for record in self.records if record.kind == kind]

    @property
    def notes(self) -> list[str]:
        """Return the sentences that were recorded about the run itself, in order."""
        return [line.decode(errors="replace") for line in self.lines("note")]

    @property
    def code(self) -> int | None:
        """The exit code; None if it is not known."""
        return next((record.code for record in reversed(self.records) if record.kind == "exit"), None)


def dump(capture: Capture) -> Iterable[str]:
    """Yield the lines of the file, each with its LF. Bytes that are no UTF-8 are escaped as lone surrogates."""
    yield json.dumps({"capture": VERSION, "date": capture.date, "argv": capture.argv}) + "\n"
    for record in capture.records:
        said: dict[str, Any] = {"ms": round(record.at * 1000, 3)}
        if record.kind == "exit":
            said["exit"] = record.code
        elif record.kind == "end":
            said["end"] = "in"
        else:
            said[record.kind] = record.line.decode("utf-8", "surrogateescape")
            if record.torn:
                said["torn"] = True
        yield json.dumps(said) + "\n"


def load(text: str, name: str) -> Capture:
    """Return the capture in a text, which may also be an older transcript, or just what an agent printed.

    Raises ConfigError.
    """
    lines = text.split("\n")
    first = next((said for line in lines if (said := as_object(line)) is not None), None)
    if first is None:
        raise ConfigError(f"{name} is no capture: it has no line of JSON")
    if "type" in first or not _MARKS & first.keys():
        return Capture(records=[Record(0.0, "out", line.encode("utf-8", "surrogateescape")) for line in lines if line])
    capture = Capture()
    last = 0.0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        said = as_object(line)
        if said is None:
            if number == len(lines):
                capture.records.append(Record(last, "note", b"the capture ends in the middle of a line"))
                continue
            raise ConfigError(f"{name}, line {number}: it is no JSON object")
        ms = said.get("ms")
        last = ms / 1000 if isinstance(ms, int | float) else last
        _take(capture, said, last)
    return capture


def _take(capture: Capture, said: dict[str, Any], at: float) -> None:
    """Add what a line of the file says."""
    if isinstance(said.get("argv"), list):
        capture.argv = [str(word) for word in said["argv"]]
        capture.date = str(said.get("date") or "")
        return
    for kind in _KINDS:
        if kind not in said:
            continue
        value = said[kind]
        if kind == "exit":
            capture.records.append(Record(at, kind, code=value if isinstance(value, int) else None))
        elif kind == "end" or value == {"raw": "<EOF>"}:
            capture.records.append(Record(at, "end"))
        else:
            capture.records.append(Record(at, kind, _line(value), said.get("torn") is True))
        return


def _line(value: Any) -> bytes:
    """Return a line as it was; older transcripts have the object that it was."""
    if isinstance(value, dict) and value.keys() == {"raw"}:
        value = str(value["raw"])
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # Half a pair that stood in the JSON itself.
        return json.dumps(value, separators=(",", ":")).encode()


def as_object(line: str | bytes) -> dict[str, Any] | None:
    """Return the JSON object that a line is; None if it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def objects(lines: Sequence[bytes]) -> list[dict[str, Any] | None]:
    """Return each line as the JSON object that it is, or None."""
    return [as_object(line.decode("utf-8", "replace")) for line in lines]
