"""Formats captured lines for a report: fields in alphabetical order, long texts cut. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

MOST: Final = 400  # Characters of one text.
ALIKE: Final = 8  # Lines of one type in a row that are shown; of more, the first and the last few.
# What a vendor answers with an error is its own, and some repeat part of the key in it.
_BODY = re.compile(r"(http \d{3}: ).+", re.DOTALL)


def shown(said: dict[str, Any]) -> str:
    """Return a line as it is shown."""
    return json.dumps(_cut(said), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def shown_all(said: list[dict[str, Any]]) -> Iterator[str | int]:
    """Yield every line as it is shown; of a long run of one type the first and last, and between them how many more."""
    start = 0
    while start < len(said):
        type = said[start].get("type")
        end = start
        while end < len(said) and said[end].get("type") == type:
            end += 1
        if end - start <= ALIKE:
            yield from map(shown, said[start:end])
        else:
            yield from map(shown, said[start : start + ALIKE // 2])
            yield end - start - ALIKE
            yield from map(shown, said[end - ALIKE // 2 : end])
        start = end


def without_body(text: str) -> str:
    """Return an error without what the vendor's server said."""
    return _BODY.sub(r"\1...", text)


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        plain = without_body(value)
        return plain if len(plain) <= MOST else f"{plain[:MOST]}…"
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    return [_cut(each) for each in value] if isinstance(value, list) else value
