"""Reads the text of a `settings.json`, and variables of the environment, as layers of configuration. Reads no file."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_origin

from msgspec import UNSET, ValidationError
from msgspec.json import decode
from msgspec.structs import asdict

from linnet.core.json.checked import checked, explained, misplaced, near
from linnet.core.permissions.rule import Rule
from linnet.core.permissions.rule_syntax import said_rule
from linnet.decoding import converted
from linnet.errors import BadInput, ConfigError, nearest
from linnet.runtime.config.config import ROWS, Config
from linnet.runtime.config.setting_keys import EXCLUDED, SettingKey, file_type, keys

IGNORED = ("$schema",)  # For editors.
PREFIX = "LINNET_"
NEAR = 0.75  # How alike a name and a key must be for a remark. Other programs may have variables with this prefix.


def said(text: bytes, file: str, folder: str, *, of_project: bool = False) -> tuple[Config, list[str]]:
    """Return what the text says as a layer, and remarks for whoever wrote it. Relative paths start in `folder`. What a
    project may not say is left out, with a remark.

    Raises ConfigError: `FILE:LINE: key: what was expected`.
    """
    if not text.strip():
        return Config(), []
    content = checked(text, file_type(), file)
    told = {name: value for name, value in asdict(content).items() if value is not UNSET}
    remarks = [_unknown(text, name, file) for name in decode(text) if name not in keys() and name not in IGNORED]
    if of_project:
        for name in [name for name in told if not keys()[name].from_project]:
            del told[name]
            problem = "a project cannot set this, only you can; it is left out"
            remarks.append(str(misplaced(text, (name,), problem, file)))
    values = {name: _value(keys()[name], value, text, file, folder) for name, value in told.items()}
    if of_project and (loose := [rule for rule in values.get("rules", ()) if rule.verdict == "allow"]):
        values["rules"] = [rule for rule in values["rules"] if rule not in loose]
        problem = "a project can ask and deny, not allow; what it allows is left out"
        remarks.append(str(misplaced(text, ("rules",), problem, file)))
    return Config(**values), remarks


def from_variables(environ: Mapping[str, str]) -> tuple[Config, list[str]]:
    """Return what variables say as a layer, and remarks on those that look misspelled. There is one for each key, such
    as LINNET_MODEL. Lists are separated by commas, objects are JSON; an empty one says nothing. Raises ConfigError.
    """
    variables = {key.variable: key for key in keys().values()}
    values: dict[str, Any] = {}
    remarks: list[str] = []
    for name, word in environ.items():
        if not name.startswith(PREFIX) or not word or name == "LINNET_HOME":
            continue
        if key := variables.get(name):
            values[key.name] = _value(key, parsed(key, word, name), b"", name, os.getcwd())
        elif meant := nearest(name.removeprefix(PREFIX).lower(), keys(), NEAR):
            remarks.append(f"{name} is not known; did you mean {keys()[meant].variable}?")
    return Config(**values), remarks


def parsed(key: SettingKey, word: str, where: str) -> Any:
    """Return a word of the command line or the environment as a value of the key's type. Raises ConfigError."""
    value: Any = word
    if get_origin(key.kind) is list:
        value = [each.strip() for each in word.split(",") if each.strip()]
    if word.startswith(("[", "{")) and get_origin(key.kind) in (list, dict):
        return checked(word.encode(), key.kind, where)
    try:
        return converted(value, key.kind, strict=False)
    except ValidationError as error:
        encoded = word.encode(errors="replace")
        problem = explained(_quoted(encoded), key.kind, error).problem
        raise ConfigError(f"{where}: {problem}") from None


def _quoted(word: bytes) -> bytes:
    from msgspec.json import encode

    return encode(word.decode(errors="replace"))


def _value(key: SettingKey, value: Any, text: bytes, file: str, folder: str) -> Any:
    """Return a decoded value as Config has it: rules parsed, paths made absolute. `text` is empty for a variable."""
    if key.name == "rules":
        return list(_rules(value, text, file))
    if not key.is_path:
        return value
    if isinstance(value, str):
        return _path(value, folder)
    return [_path(each, folder) for each in value]


def _path(path: str, folder: str) -> str:
    return os.path.join(folder, os.path.expanduser(path))


def _rules(words: Sequence[str], text: bytes, file: str) -> Iterable[Rule]:
    for place, word in enumerate(words):
        try:
            yield said_rule(word)
        except BadInput as error:
            if not text:
                raise ConfigError(f"{file}: {error}") from None
            raise misplaced(text, ("rules", place), str(error), file) from None


def _unknown(text: bytes, name: str, file: str) -> str:
    """Return the remark on a key that is not known. Raises ConfigError if it looks like one that guards something:
    whoever misspells that is not guarded.
    """
    if name in EXCLUDED:
        return str(misplaced(text, (name,), f"is no setting: it {EXCLUDED[name]}", file))
    unknown = misplaced(text, (name,), f"is not known here{near(name, keys())}", file)
    meant = nearest(name.lower(), keys(), NEAR)
    if meant and ROWS[meant].guards:
        raise unknown
    return str(unknown)
