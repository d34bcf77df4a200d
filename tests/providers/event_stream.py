"""Frames of `application/vnd.amazon.eventstream`, as a server writes them."""

import json
from struct import pack
from typing import Any
from zlib import crc32


def frame(headers: dict[str, str], payload: bytes) -> bytes:
    """Return one frame. All its headers are strings."""
    named = b"".join(
        pack("!B", len(name)) + name.encode() + pack("!BH", 7, len(value.encode())) + value.encode()
        for name, value in headers.items()
    )
    prelude = pack("!II", 16 + len(named) + len(payload), len(named))
    checked = prelude + pack("!I", crc32(prelude)) + named + payload
    return checked + pack("!I", crc32(checked))


def event(kind: str, payload: dict[str, Any]) -> bytes:
    """Return the frame of one event."""
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode())
