"""Describes every key of `settings.json` in words, for the page in `docs`."""

from typing import Annotated, Any, Literal, get_args, get_origin

from linnet.runtime.config.config import ROWS
from linnet.runtime.config.setting_keys import SettingKey


def about(key: SettingKey) -> str:
    """Return one phrase that says what a setting means."""
    return ROWS[key.name].about


def kind(key: SettingKey) -> str:
    """Return what is expected as a value, in words for people."""
    return _kind(key.kind)


def _kind(of: Any) -> str:
    origin, inner = get_origin(of), get_args(of)
    if origin is Annotated:
        return _kind(inner[0]) + _bounds(inner[1])
    if origin is Literal:
        return ", ".join(f"`{word}`" for word in inner)
    if origin is list:
        return f"list of {_kind(inner[0])}s"
    return {str: "string", int: "whole number", float: "number", bool: "`true` or `false`"}.get(of, "object")


def _bounds(meta: Any) -> str:
    if meta.ge is not None:
        return f", {meta.ge} or more"
    return f", more than {meta.gt}" if meta.gt is not None else ""


def default(key: SettingKey) -> str:
    """Return the default as JSON, and those of protocols that differ."""
    from msgspec.json import encode

    row = ROWS[key.name]
    shown = {"": row.default, "zot": row.habits.get("zot"), "pi": row.habits.get("pi")}
    said = [
        f"`{encode(value).decode()}`" + (f" ({name})" if name else "")
        for name, value in shown.items()
        if value not in (None, ()) and (not name or value != shown[""])
    ]
    return ", ".join(said)
