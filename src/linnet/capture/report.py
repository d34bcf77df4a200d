"""Writes a report on a capture in Markdown: what was asked, what came, and what of it a monitor understands. Pure."""

import shlex
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from linnet.capture.line_excerpt import shown_all, without_body
from linnet.capture.record import Capture, objects
from linnet.monitor import pi, zot
from linnet.monitor.describe import state_words
from linnet.monitor.states import Failed, Gone, Idle, Starting
from linnet.monitor.watch import Watch
from linnet.monitor.words import DialectName, Word

_PROTOCOLS = {"zot": "zot's", "pi": "pi's", None: "an unknown"}


class _Seen:
    """What the lines of a capture come to."""

    def __init__(self, capture: Capture, dialect: DialectName | None) -> None:
        lines = capture.lines("out")
        self.asked = capture.lines("in")
        self.said = objects(lines)
        self.frames = [said for said in self.said if said is not None and isinstance(said.get("type"), str)]
        self.strays = [line for line, said in zip(lines, self.said, strict=True) if not _is_frame(said)]
        self.wrapped = sum(map(_is_wrapped, self.frames))
        self.watch = folded(capture, dialect)
        module = zot if self.watch.dialect == "zot" else pi
        self.mapping: dict[str, Word | None] = module.MAPPING if self.watch.dialect else {}
        self.added: dict[str, Word | None] = module.ADDED if self.watch.dialect else {}
        self.fields = module.FIELDS
        self.counts = Counter(_kind(frame) for frame in self.frames)


def _is_wrapped(frame: dict[str, Any]) -> bool:
    """Return whether an object is an envelope of JSON-RPC. A `method` alone is not: questions of agents have one."""
    return "jsonrpc" in frame or {"method", "params"} <= frame.keys()


def folded(capture: Capture, dialect: DialectName | None = None) -> Watch:
    """Return the watch after the last line of a capture, before the end of the stream."""
    watch = Watch(dialect)
    for record in capture.records:
        if record.kind == "out":
            watch.heard(record.at, record.line)
        elif record.kind == "in":
            watch.said(record.at, record.line)
    return watch


def report(capture: Capture, dialect: DialectName | None = None) -> str:
    """Return the whole report. The dialect is recognised by the stream if it is not given."""
    seen = _Seen(capture, dialect)
    parts = [
        *_title(capture),
        *_request(seen),
        *_raw(seen, capture),
        *_wire(seen),
        *_observed(seen),
        *_missing(seen),
        *_unmapped(seen),
        *_verdict(seen, capture),
    ]
    return "\n".join(parts) + "\n"


def _title(capture: Capture) -> Iterator[str]:
    """Yield the head of the report: the program, the date and how it ended."""
    words = capture.argv[len(capture.argv) - capture.argv[::-1].index("--") :] if "--" in capture.argv else capture.argv
    name = " ".join(words[:2] if len(words) > 1 and not words[1].startswith("-") else words[:1]) or "agent"
    flags = dict(pairwise(words))
    of = f" — {flags['--provider']}" if "--provider" in flags else ""
    day = f" ({capture.date[:10]})" if capture.date else ""
    yield f"# {name} transcript{of}{day}"
    yield ""
    if capture.argv:
        yield f"- Program: `{shlex.join(capture.argv)}`"
    if capture.date:
        yield f"- Date: {capture.date}"
    if capture.code is not None:
        yield f"- Exit code: {capture.code}"
    for note in capture.notes:
        yield f"- Note: {note}."


def _request(seen: _Seen) -> Iterator[str]:
    yield from ("", "## Request shape", "")
    if not seen.asked:
        yield "Nothing was sent."
        return
    yield "```jsonl" if all(objects(seen.asked)) else "```text"
    yield from (line.decode(errors="replace").replace("```", "'''") for line in seen.asked)
    yield from ("```", "")
    yield f"This is {_PROTOCOLS[seen.watch.dialect]} protocol, not JSON-RPC 2.0. `type` is the command, and `id` is a"
    yield "string that its response repeats."


def _raw(seen: _Seen, capture: Capture) -> Iterator[str]:
    yield from ("", "## Raw stdout", "")
    yield "Secrets are redacted, fields are in alphabetical order, and the body of an HTTP error is left out (`...`)."
    yield ""
    if seen.frames:
        yield from _block(list(shown_all(seen.frames)))
    else:
        yield "It printed nothing."
    if seen.strays:
        yield from ("", "Lines that are no such object:", "")
        yield from _text(seen.strays)
    if errors := capture.lines("err"):
        yield from ("", "On stderr:", "")
        yield from _text(errors)


def _wire(seen: _Seen) -> Iterator[str]:
    yield from ("", "## Wire format", "")
    if seen.wrapped:
        yield f"{seen.wrapped} of {len(seen.frames)} objects have `jsonrpc`, or `method` with `params`: an envelope."
    elif seen.strays:
        yield f"Bare event objects, one a line, each with a `type`; but {len(seen.strays)} lines are none."
    elif seen.frames:
        yield "Bare event objects. Each line is one JSON object with a `type`. There is no JSON-RPC envelope around it"
        yield "(no `jsonrpc`, `method` or `params`): a monitor reads `type` directly from the object."
    else:
        yield "Nothing was printed, so nothing is known."


def _observed(seen: _Seen) -> Iterator[str]:
    yield from ("", "## Event types observed", "")
    rows = [
        f"| {kind} | {_word(seen.mapping[_type(kind)])} | {count} | {_status(seen, kind)} |"
        for kind, count in seen.counts.items()
        if _type(kind) in seen.mapping
    ]
    yield from _table("| Event type | Mapping | Seen | Status |", rows)


def _missing(seen: _Seen) -> Iterator[str]:
    yield from ("", "## Event types mapped but not in this transcript", "")
    present = {_type(kind) for kind in seen.counts}
    rows = [f"| `{type}` | {_word(word)} |" for type, word in seen.mapping.items() if type not in present]
    yield from _table("| Event type | Mapping |", rows)


def _unmapped(seen: _Seen) -> Iterator[str]:
    yield from ("", "## Event types not in the mapping", "")
    rows = []
    for kind, count in seen.counts.items():
        type = _type(kind)
        if type not in seen.mapping:
            known = f"taken as {_word(seen.added[type])}" if type in seen.added else "counted and shown"
            rows.append(f"| {kind} | {count} | {known} |")
    yield from _table("| Event type | Seen | What the monitor does |", rows)


def _verdict(seen: _Seen, capture: Capture) -> Iterator[str]:
    yield from ("", "## Verdict", "")
    present = [_type(kind) for kind in seen.counts if _type(kind) in seen.mapping]
    wrong = sorted({_type(kind) for kind in seen.counts if "without" in _status(seen, kind)})
    good = [f"`{type}`" for type in dict.fromkeys(present) if type not in wrong]
    absent = [f"`{type}`" for type in seen.mapping if type not in present]
    if seen.frames and not seen.wrapped and not seen.strays:
        yield "- Wire format confirmed: bare event objects, no envelope."
    else:
        yield "- Wire format not confirmed."
    if good:
        yield f"- Validated against real output: {len(good)} of {len(seen.mapping)} mapped types ({', '.join(good)})."
    if wrong:
        yield f"- Not as documented: {', '.join(f'`{type}`' for type in wrong)}."
    if absent:
        yield f"- Not validated, because they did not occur: {', '.join(absent)}."
    elif seen.mapping:
        yield "- Every type of the mapping occurred."
    yield f"- {_ending(seen)}"
    for note in capture.notes:
        yield f"- The capture is not whole: {note}."


def _ending(seen: _Seen) -> str:
    state = seen.watch.state
    match state:
        case Idle():
            return f"The agent ended {state_words(state)}."
        case Failed(reason):
            return f"The last run failed: {without_body(reason)}"
        case Starting() | Gone():
            return "The agent never said anything."
        case _:
            return f"The agent did not come to rest: it was {state_words(state)} when its stream ended."


def _status(seen: _Seen, kind: str) -> str:
    """Say whether all frames of a kind have the fields that are documented."""
    type = _type(kind)
    lacking = {
        name
        for frame in seen.frames
        if frame["type"] == type and _kind(frame) == kind
        for name in seen.fields.get(type, ())
        if name not in frame
    }
    return f"❌ without {', '.join(f'`{name}`' for name in sorted(lacking))}" if lacking else "✅ as documented"


def _kind(frame: dict[str, Any]) -> str:
    """Return how a frame's type is named in a table; successful and other responses are two."""
    type = _cell(str(frame["type"]))
    if type != "response":
        return f"`{type}`"
    return f"`response` (success:{'true' if frame.get('success') is True else 'false'})"


def _type(kind: str) -> str:
    return kind.split("`")[1]


def _word(word: str | None) -> str:
    return f"`{word}`" if word else "none (no change of state)"


def _is_frame(said: dict[str, Any] | None) -> bool:
    return said is not None and isinstance(said.get("type"), str)


def _cell(text: str) -> str:
    """Return a name that an agent chose, fit for a table."""
    plain = "".join(char if char.isprintable() and char not in "`|" else "?" for char in text[:60])
    return plain or "?"


def _table(head: str, rows: list[str]) -> Iterator[str]:
    if not rows:
        yield "None."
        return
    yield head
    yield "|" + "---|" * (head.count("|") - 1)
    yield from rows


def _block(lines: list[str | int]) -> Iterator[str]:
    """Yield a block of lines; where some are left out it says how many, and is no longer JSON."""
    yield "```text" if any(isinstance(line, int) for line in lines) else "```jsonl"
    for line in lines:
        yield line if isinstance(line, str) else f"… {line:,} more of the same type …"
    yield "```"


def _text(lines: list[bytes]) -> Iterator[str]:
    yield "```text"
    for line in lines[:20]:
        text = line[:200].decode(errors="replace")
        yield "".join(char if char.isprintable() else "?" for char in text).replace("```", "'''")
    if len(lines) > 20:
        yield f"… {len(lines) - 20:,} more lines …"
    yield "```"
