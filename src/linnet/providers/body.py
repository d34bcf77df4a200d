"""Encodes requests as JSON that any vendor can read, whatever characters are in them."""

from typing import Any

from msgspec.json import encode as _encode


def encode(value: Any) -> bytes:
    """Return a value as JSON."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _mended(value)


def _mended(value: Any) -> bytes:
    """Return valid JSON for text with halves of surrogate pairs: two halves are joined, a single one becomes U+FFFD."""
    import json  # 1.7 ms that only a broken character should pay for

    text = json.dumps(value, ensure_ascii=False)
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
