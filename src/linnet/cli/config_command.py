"""The command `linnet config`: shows the settings that hold and where they come from, writes one, prints the schema."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linnet.core.text.terminal_text import one_line
from linnet.errors import ConfigError, nearest
from linnet.flags.flags import TABLE, Flag, Program, UsageError, help_text, parse
from linnet.server.terminal import hand_over, say, tell

if TYPE_CHECKING:
    from linnet.runtime.config.setting_keys import SettingKey
    from linnet.runtime.settings.layers import Layers

CONFIG = Program(
    "linnet config",
    """\
linnet config: every setting, its value here, and who said so

  linnet config [KEY] [flags]         show all, or one
  linnet config set KEY VALUE         say it in your settings.json; lists are separated by commas, objects are JSON
  linnet config unset KEY             say it no longer
  linnet config schema                print the JSON Schema of the file

Flags
""",
    (
        Flag(("--json",), "json", "print JSON"),
        Flag(("--project",), "in_project", "set, unset: in the settings.json of this project's .linnet folder"),
    ),
    table=tuple(flag for flag in TABLE if flag.names[0] in ("--cwd", "--dialect", "--trust", "--no-trust", "-h")),
)


def config(argv: Sequence[str]) -> int:
    """Run the command, and return the exit code. Raises UsageError and ConfigError."""
    flags = parse(argv, CONFIG)
    if flags.help:
        tell(help_text(CONFIG))
        return 0
    match flags.words:
        case ["set", name, value]:
            return _write(name, value, flags.config, in_project=flags.in_project)
        case ["unset", name]:
            return _write(name, None, flags.config, in_project=flags.in_project)
        case ["schema"]:
            from msgspec import json

            from linnet.schemas.files import file_schema

            hand_over(json.format(json.encode(file_schema("settings"))).decode())
            return 0
        case ["set", *_] | ["unset", *_] | ["schema", *_] | [_, _, *_]:
            raise UsageError("linnet config takes set KEY VALUE, unset KEY, schema, or a KEY; see linnet config --help")
        case words:
            return _show(words, flags.config, flags.dialect or "zot", as_json=flags.json)


def _show(words: Sequence[str], said: Mapping[str, Any], dialect: str, *, as_json: bool) -> int:
    """Print the setting that is named, or all of them."""
    from msgspec import json

    from linnet.runtime.config.setting_keys import keys

    wanted = [_key(word) for word in words] or list(keys().values())
    found = _layers(said, dialect)
    rows = {key.name: _row(key, found) for key in wanted}
    for remark in found.remarks:
        say(remark)
    if as_json:
        hand_over(json.format(json.encode(rows)).decode())
    elif words:
        [row] = rows.values()
        hand_over(_shown(row["value"]))
    else:
        width = max(map(len, rows))
        values = {name: _shown(row["value"]) for name, row in rows.items()}
        column = min(40, max(map(len, values.values())))
        for name, row in rows.items():
            tell(one_line(f"{name:<{width}}  {values[name]:<{column}}  {row['from']}".rstrip()))
    return 0


def _layers(said: Mapping[str, Any], dialect: str) -> "Layers":
    """Return all places that say something about settings, with a remark if the project is not trusted."""
    from linnet.runtime.config.config import PI, ZOT, Config
    from linnet.runtime.project.project import Project
    from linnet.runtime.settings.folders import home_folder, work_folder
    from linnet.runtime.settings.layers import found

    home = home_folder(os.environ)
    project = Project(work_folder(said.get("cwd")), home)
    layers = found(Config(**said), os.environ, [ZOT if dialect == "zot" else PI], home, project)
    if untrusted := project.survey():
        layers.remarks.append(left_out(untrusted.path))
    return layers


def left_out(folder: str) -> str:
    """Return the sentence that says that a project is not trusted."""
    return f"what {folder} brings is left out, since nobody has said that it is trusted; see linnet trust"


def _row(key: "SettingKey", layers: "Layers") -> dict[str, Any]:
    """Return the value that holds and where it comes from: all places, for settings whose values are collected."""
    from linnet.runtime.config.config import ROWS
    from linnet.runtime.config.merged_layers import layered

    saying = [layer for layer in layers.all if getattr(layer.config, key.name) not in (None, ())]
    collected = ROWS[key.name].collected or key.name == "mcp_servers"
    value = getattr(layered(*(layer.config for layer in layers.all)), key.name)
    if value is None:
        saying = []
    places = [layer.where(key.name).removesuffix(f": {key.name}") or layer.source for layer in saying]
    return {"value": _plain(key, value), "from": ", ".join(places if collected else places[-1:])}


def _plain(key: "SettingKey", value: Any) -> Any:
    """Return a value as plain JSON."""
    if key.name == "rules":
        return list(map(str, value or ()))
    if key.name == "mcp_servers" and value is not None:
        return {name: _hidden(server) for name, server in value.items()}
    if isinstance(value, list | tuple):
        return [os.fspath(each) for each in value]
    return value if value is None or isinstance(value, str | int | float) else os.fspath(value)


def _hidden(server: Any) -> Any:
    """Return the configuration of an MCP server without what may be a secret."""
    if not isinstance(server, dict):
        return server
    secret = {
        name: dict.fromkeys(server[name], "…") for name in ("env", "headers") if isinstance(server.get(name), dict)
    }
    return {**server, **secret}


def _shown(value: Any) -> str:
    from msgspec.json import encode

    return "" if value is None else value if isinstance(value, str) else encode(value).decode()


def _key(name: str) -> "SettingKey":
    """Return the setting of this name. Raises ConfigError."""
    from linnet.runtime.config.setting_keys import EXCLUDED, keys

    name = name.replace("-", "_")
    if name in keys():
        return keys()[name]
    if name in EXCLUDED:
        raise ConfigError(f"{name} is no setting: it {EXCLUDED[name]}")
    near = nearest(name, keys())
    raise ConfigError(
        f'no setting is called "{name}"' + (f'; did you mean "{near}"?' if near else "; see linnet config")
    )


def _write(name: str, word: str | None, said: Mapping[str, Any], *, in_project: bool) -> int:
    """Write a setting to the user's file, or to the project's, and print its path; None removes the setting."""
    from linnet.runtime.config.settings_text import parsed
    from linnet.runtime.settings.folders import home_folder, work_folder
    from linnet.runtime.settings.saved_settings import user_file, written

    key = _key(name)
    home = home_folder(os.environ)
    root = work_folder(said.get("cwd"))
    file = os.path.join(root, ".linnet", "settings.json") if in_project else user_file(home)
    value = None if word is None else parsed(key, word, key.name)
    written(file, {key.name: value}, root if in_project else home, of_project=in_project)
    hand_over(file)
    return 0
