"""The keys of `settings.json` with their types in JSON, read off the rows of Config. A new row is a new key.

It is imported only where there is such a file, or a variable that says the same.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import GenericAlias, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from linnet.core.events import QueueMode  # noqa: F401 (these are named in rows)
from linnet.core.models import PromptCache, Reasoning  # noqa: F401
from linnet.core.permissions.rule import Mode, Rule  # noqa: F401
from linnet.core.session_info import SessionFormat  # noqa: F401
from linnet.runtime.config.config import ROWS, Keywords

Amount: TypeAlias = Annotated[int, Meta(ge=0)]
Count: TypeAlias = Annotated[int, Meta(ge=1)]
Dollars: TypeAlias = Annotated[float, Meta(gt=0, lt=1e9)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, lt=1e9)]
Url: TypeAlias = Annotated[str, Meta(pattern="^https?://")]
Path: TypeAlias = os.PathLike[str] | str
ProviderChoice: TypeAlias = str  # An object cannot be written down.
Tools: TypeAlias = Sequence[str]  # Functions cannot be written down.
Callback: TypeAlias = Callable[..., Any]

EXCLUDED = {name: row.no_key for name, row in ROWS.items() if row.no_key}
"""Fields that are no keys, and why."""


class SettingKey(Struct, frozen=True):
    """A key of `settings.json`."""

    name: str
    kind: Any
    """Its type in JSON."""
    is_path: bool
    """It is one or more paths; relative ones start in the folder that the file is about."""
    from_project: bool
    """A project may say it."""

    @property
    def variable(self) -> str:
        """Return the environment variable that says the same."""
        return f"LINNET_{self.name.upper()}"


@cache
def keys() -> Mapping[str, SettingKey]:
    """Return all keys by name."""
    found = {name: type_of(name) for name in Keywords.__struct_fields__ if name not in EXCLUDED}
    return {
        name: SettingKey(name, in_json(kind), _names_files(kind), ROWS[name].project) for name, kind in found.items()
    }


def type_of(field: str) -> Any:
    """Return the type of a field. Config has it as text, since the names in it are imported only here."""
    return _evaluated(Keywords.__annotations__[field])


@cache
def _evaluated(text: str) -> Any:
    return eval(text, globals())


@cache
def file_type() -> type[Struct]:
    """Return a Struct type whose fields are the keys, UNSET if the file does not say them."""
    return defstruct("Settings", [(key.name, key.kind | UnsetType, UNSET) for key in keys().values()], kw_only=True)


def in_json(annotation: Any) -> Any:
    """Return the type that a value of this type has in JSON; None if it cannot be written there."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        kinds = [kind for each in inner if (kind := in_json(each)) is not None]
        return Union[tuple(kinds)] if kinds else None  # noqa: UP007 (made of what is there)
    if origin is Annotated:
        return annotation if in_json(inner[0]) is not None else None
    if origin is Literal or annotation in (str, int, float, bool, Any):
        return annotation
    if annotation is Rule:
        return str
    if origin is Sequence:
        item = in_json(inner[0])
        return None if item is None else GenericAlias(list, (item,))
    return GenericAlias(dict, inner) if origin is Mapping else None


def _names_files(annotation: Any) -> bool:
    """Return whether a path may be part of such a value."""
    return get_origin(annotation) is os.PathLike or any(map(_names_files, get_args(annotation)))
