"""Converts the lines of session files of earlier versions to the present one. The file they came from is not touched.

Version 1 was a list: its entries had no ids. Version 2 called a note a `hookMessage`.
"""

from collections.abc import Sequence
from typing import Any

from msgspec.json import encode

from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.store.header import VERSION
from linnet.wire.jsonl import decode_line

_any = decoder_of(Any)


def migrated_header(line: bytes) -> bytes:
    """Return the header with the present version. What it says beyond what is known stays."""
    own = {"type": "session", "version": VERSION}
    return encode({**own, **(_object(line) or {}), **own})


def migrated(lines: Sequence[bytes], version: int) -> list[bytes]:
    """Return the lines in the present version, as many as before; those that are no JSON objects stay as they are. The
    same lines always get the same ids.
    """
    out = list(lines)
    if version < 2:
        out = _with_ids(out)
    if version < 3:
        out = [_with_role(line) for line in out]
    return out


def _with_ids(lines: Sequence[bytes]) -> list[bytes]:
    out: list[bytes] = []
    ids: list[str | None] = [None]  # Version 1 counted the header too.
    parent: str | None = None
    for index, line in enumerate(lines, 1):
        entry = _object(line)
        if entry is None:
            out.append(line)
            continue
        type = entry.get("type")
        if not isinstance(type, str) or type == "session":  # No entry: nobody can follow it.
            ids.append(None)
            out.append(line)
            continue
        id = f"{index:08x}"
        ids.append(id)
        first_kept = entry.pop("firstKeptEntryIndex", None)
        if isinstance(first_kept, int) and 0 < first_kept < len(ids):
            entry["firstKeptEntryId"] = ids[first_kept]
        own = {"type": type, "id": id, "parentId": parent}
        out.append(encode({**own, **entry, **own}))
        parent = id
    return out


def _with_role(line: bytes) -> bytes:
    if b"hookMessage" not in line:
        return line
    entry = _object(line)
    message = entry and entry.get("message")
    if not isinstance(message, dict) or message.get("role") != "hookMessage":
        return line
    return encode({**(entry or {}), "message": {**message, "role": "custom"}})


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = decode_line(_any, line)
    except BadInput:
        return None
    return value if isinstance(value, dict) else None
