"""What may be said in `settings.json`: the fields of Config, read off its types. A new field is a new key.

Only those who find a file, or a variable, import this.
"""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from types import GenericAlias, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from msgspec import UNSET, Struct, UnsetType, defstruct

from linnet.core.permissions.rule import Rule
from linnet.runtime.config import Config

EXCLUDED = {
    "cwd": "belongs to one start",
    "script": "belongs to one start",
    "session": "belongs to one start",
    "resume": "belongs to one start",
    "fork": "belongs to one start",
    "api_key": "is a secret, which has a file of its own: auth.json",
    "permission_callback": "is a function",
    "needs_key": "belongs to the protocol",
    "wording": "belongs to the protocol",
    "sessions": "belongs to the protocol",
    "stands_in_for": "belongs to the program's name",
}
"""Fields that are no keys, and why."""

PROTECTING = frozenset(
    ("confine", "extensions", "permission", "rules", "sandbox", "sandbox_extensions", "sandbox_files")
)
"""Keys without which more may be done: who has misspelt one is told before anything is."""

FROM_A_PROJECT = frozenset(
    (
        "provider",
        "model",
        "reasoning",
        "system_prompt",
        "append_system_prompt",
        "max_steps",
        "tools",
        "timeout",
        "retries",
        "retry_delay",
        "retry_runs",
        "auto_compaction",
        "compact_reserve",
        "compact_keep",
        "keep_messages",
        "calls_at_once",
        "session_dir",
        "save",
        "rules",
        "shell",
        "shell_prefix",
        "steering_mode",
        "follow_up_mode",
        "context_files",
        "templates",
        "template_paths",
        "skills",
        "skill_paths",
        "extensions",
        "extension_flags",
        "mcp",
        "mcp_config",
        "mcp_servers",
        "mcp_wait",
    )
)
"""What a project may say, if it is trusted. All else is the user's: where a key is sent, what may run, what is trusted.
"""

FORWARD = {"Tools | None": list[str]}  # Annotations that cannot be evaluated without importing what they name.


class Key(Struct, frozen=True):
    """`kind` is its type in JSON. `is_path`: relative ones start in the folder that the file is about."""

    name: str
    kind: Any
    is_path: bool
    from_project: bool

    @property
    def variable(self) -> str:
        return f"LINNET_{self.name.upper()}"


@cache
def keys() -> Mapping[str, Key]:
    found: dict[str, Key] = {}
    for name, annotation in Config.__annotations__.items():
        kind = FORWARD.get(annotation) if isinstance(annotation, str) else in_json(annotation)
        if name not in EXCLUDED and kind is not None:
            found[name] = Key(name, kind, _names_files(annotation), name in FROM_A_PROJECT)
    return found


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
