"""What may be said in `settings.json`, read off the rows of Config and their types. A new row is a new key.

Only those who find a file, or a variable, import this.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import GenericAlias, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from linnet.core.events import QueueMode  # noqa: F401 (these are named in rows)
from linnet.core.models import Reasoning  # noqa: F401
from linnet.core.permissions.rule import Mode, Rule  # noqa: F401
from linnet.runtime.config.config import ROWS, Keywords

Amount: TypeAlias = Annotated[int, Meta(ge=0)]
Count: TypeAlias = Annotated[int, Meta(ge=1)]
Dollars: TypeAlias = Annotated[float, Meta(gt=0, lt=1e9)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, lt=1e9)]
Url: TypeAlias = Annotated[str, Meta(pattern="^https?://")]
Path: TypeAlias = os.PathLike[str] | str
Tools: TypeAlias = Sequence[str]  # Functions cannot be written down.
Callback: TypeAlias = Callable[..., Any]

EXCLUDED = {name: row.no_key for name, row in ROWS.items() if row.no_key}
"""Fields that are no keys, and why."""


class SettingKey(Struct, frozen=True):
    """`kind` is its type in JSON. `is_path`: relative ones start in the folder that the file is about."""

    name: str
    kind: Any
    is_path: bool
    from_project: bool

    @property
    def variable(self) -> str:
        return f"LINNET_{self.name.upper()}"


@cache
def keys() -> Mapping[str, SettingKey]:
    found = {name: type_of(name) for name in Keywords.__struct_fields__ if name not in EXCLUDED}
    return {
        name: SettingKey(name, in_json(kind), _names_files(kind), ROWS[name].project) for name, kind in found.items()
    }


def type_of(field: str) -> Any:
    """Return the type of a field, of which its row has the text."""
    return _evaluated(Keywords.__annotations__[field])


@cache
def _evaluated(text: str) -> Any:
    return eval(text, globals())


@cache
def file_type() -> type[Struct]:
    """Its fields are the keys, UNSET where nothing is said."""
    return defstruct("Settings", [(key.name, key.kind | UnsetType, UNSET) for key in keys().values()], kw_only=True)


def in_json(annotation: Any) -> Any:
    """Return the type of JSON that a field is written as; None if there is none."""
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
    return get_origin(annotation) is os.PathLike or any(map(_names_files, get_args(annotation)))
