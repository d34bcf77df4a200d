"""Requests as JSON text that any vendor can read."""

from typing import Any

from msgspec.json import encode as _encode


def encode(value: Any) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _mended(value)


def _mended(value: Any) -> bytes:
    """A file name or a tool's output can hold half a character: pairs are joined, the rest become U+FFFD."""
    import json  # 1.7 ms that only a broken character should pay for

    text = json.dumps(value, ensure_ascii=False)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
