"""Takes out secrets that no single line holds: a model's words come in pieces, which anybody can join. Pure."""

import json
from collections.abc import Iterator
from typing import Any

from linnet.capture.record import Record, as_object
from linnet.core.text.redact import MARK, Redactor


def mended(records: list[Record], redactor: Redactor) -> list[Record]:
    """Return the records without secrets that show only when pieces are joined, or when escapes are undone."""
    made = list(records)
    pieces: dict[tuple[str, ...], list[tuple[int, dict[str, Any], dict[str, Any], str]]] = {}
    for index, record in enumerate(records):
        if record.kind not in ("out", "in"):
            continue
        spelled = b"\\u00" in record.line or b"\\/" in record.line
        piece = b'"delta"' in record.line or b'"tool_progress"' in record.line
        said = as_object(record.line) if spelled or piece else None
        if said is None:
            continue
        if spelled and (plain := _walked(said, redactor)) != said:
            said = plain
            made[index] = _with(record, said)
        for key, holder, name in _deltas(said):
            pieces.setdefault((record.kind, *key), []).append((index, said, holder, name))
    for group in pieces.values():
        for index, said in _joined(group, redactor):
            made[index] = _with(records[index], said)
    return made


def _deltas(said: dict[str, Any]) -> Iterator[tuple[tuple[str, ...], dict[str, Any], str]]:
    """Yield the pieces of something longer in a frame: what that is, the object that holds the piece, and its name."""
    inner = said.get("assistantMessageEvent")
    for holder, index in ((said, "id"), (inner, "contentIndex")):
        if isinstance(holder, dict):
            for name in ("delta", "text"):
                if isinstance(holder.get(name), str):
                    yield (str(holder.get("type")), str(holder.get(index))), holder, name


def _joined(
    group: list[tuple[int, dict[str, Any], dict[str, Any], str]], redactor: Redactor
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the frames that change when secrets are taken out of what they say together, with their index."""
    texts = [holder[name].encode("utf-8", "replace") for _, _, holder, name in group]
    spans = redactor.spans(b"".join(texts))
    start = 0
    for (index, said, holder, name), text in zip(group, texts, strict=True):
        end = start + len(text)
        over = [(a, b) for a, b in spans if a < end and b > start]
        if over:
            kept, at = b"", start
            for a, b in over:
                kept += text[at - start : max(a, start) - start] + (MARK if a >= start else b"")
                at = min(b, end)
            holder[name] = (kept + text[at - start :]).decode("utf-8", "replace")
            yield index, said
        start = end


def _walked(value: Any, redactor: Redactor) -> Any:
    """Return a value of JSON without secrets in any of its strings."""
    if isinstance(value, str):
        return redactor.whole(value.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
    if isinstance(value, dict):
        return {_walked(name, redactor): _walked(each, redactor) for name, each in value.items()}
    return [_walked(each, redactor) for each in value] if isinstance(value, list) else value


def _with(record: Record, said: dict[str, Any]) -> Record:
    return Record(record.at, record.kind, json.dumps(said, separators=(",", ":")).encode(), record.torn)
