"""Reads what the head of a GGUF file says about the model in it, without reading the model."""

import os
from mmap import ACCESS_READ, mmap
from struct import Struct as Layout
from struct import error as unpack_error
from typing import Any

from msgspec import Struct

from linnet.errors import ConfigError

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_COUNT, _TYPE = Layout("<Q"), Layout("<I")
_SCALARS = {
    number: Layout(f"<{code}")
    for number, code in {
        0: "B",
        1: "b",
        2: "H",
        3: "h",
        4: "I",
        5: "i",
        6: "f",
        7: "?",
        10: "Q",
        11: "q",
        12: "d",
    }.items()
}
_STRING, _ARRAY = 8, 9
_LONGEST = 1 << 20  # Bytes of a string that is looked at.


class Head(Struct, frozen=True):
    """What is known of a model before it is loaded."""

    name: str
    window: int
    """So many tokens it was made for."""
    size: int
    """Bytes of the file."""


def head(path: str) -> Head:
    """Return what the file says. Raises ConfigError if it is no GGUF file, or not one with a language model."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                raise ConfigError(f"{path} is no GGUF file: it is empty")
            with mmap(file.fileno(), 0, access=ACCESS_READ) as data:
                return _head(path, data, size)
    except OSError as error:
        raise ConfigError(f"cannot read the model {path}: {error.strerror or error}") from None


def _head(path: str, data: Any, size: int) -> Head:
    try:
        return _read(path, data, size)
    except (unpack_error, KeyError, IndexError, UnicodeDecodeError, OverflowError, ValueError):
        raise ConfigError(f"{path} is no GGUF file that can be used: its head is damaged or cut short") from None


def _read(path: str, data: Any, size: int) -> Head:
    if data[:4] != _MAGIC:
        raise ConfigError(f"{path} is no GGUF file: it does not begin like one")
    if (version := _TYPE.unpack_from(data, 4)[0]) not in _VERSIONS:
        raise ConfigError(f"{path} is a GGUF file of version {version}, which is not known here")
    entries = _COUNT.unpack_from(data, 16)[0]
    at = 24
    known: dict[str, Any] = {}
    for _ in range(entries):
        key, at = _string(data, at)
        kind = _TYPE.unpack_from(data, at)[0]
        value, at = _value(data, at + 4, kind)
        known[key] = value
        architecture = known.get("general.architecture")
        if f"{architecture}.context_length" in known and key.startswith("tokenizer."):
            break  # The words of the model follow, thousands of them.
    window = known.get(f"{known.get('general.architecture')}.context_length")
    if not isinstance(window, int) or window <= 0:
        raise ConfigError(f"{path} has no language model: it does not say how much context there is")
    name = known.get("general.name")
    return Head(name if isinstance(name, str) else "", window, size)


def _value(data: Any, at: int, kind: int) -> tuple[Any, int]:
    """Return a value, or None for a list, and where it ends."""
    if kind == _STRING:
        return _string(data, at)
    if kind == _ARRAY:
        inner, count = _TYPE.unpack_from(data, at)[0], _COUNT.unpack_from(data, at + 4)[0]
        at += 12
        if inner in _SCALARS:
            return None, at + _SCALARS[inner].size * count
        for _ in range(count):
            _, at = _value(data, at, inner)
        return None, at
    layout = _SCALARS[kind]
    return layout.unpack_from(data, at)[0], at + layout.size


def _string(data: Any, at: int) -> tuple[str, int]:
    length = _COUNT.unpack_from(data, at)[0]
    end = at + 8 + length
    if end > len(data):
        raise ValueError
    return data[at + 8 : min(end, at + 8 + _LONGEST)].decode("utf-8", "replace"), end
