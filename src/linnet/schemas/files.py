"""The schemas of the files that people write, and of the lines between linnet and programs that are extensions."""

from collections.abc import Callable, Sequence
from typing import Any, get_args

from msgspec import Struct

from linnet.extensions.mcp import config as mcp
from linnet.extensions.programs import frames
from linnet.extensions.programs.manifest import ManifestFile
from linnet.providers.scripted.script import Script
from linnet.runtime.config.config import ROWS
from linnet.runtime.config.setting_keys import file_type, keys
from linnet.runtime.models.models_file import Models
from linnet.schemas.shapes import Presence, Schema, Shapes

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_FOR_EDITORS = {"type": "string", "description": "Where the schema is, for editors."}


def file_schema(name: str) -> Schema:
    """Return the JSON Schema of a file, by the name that `linnet schema --file` has for it."""
    title, make = _FILES[name]
    return {"$schema": DRAFT, "$id": f"urn:linnet:schema:{name}", "title": f"linnet: {title}", **make()}


def _settings() -> Schema:
    shapes = Shapes(printed=True)  # Every key may be UNSET, which is left out.
    shapes.reference(file_type())
    [definition] = shapes.definitions.values()
    for name in keys():
        definition["properties"][name]["description"] = ROWS[name].about
    return {**definition, "properties": {"$schema": _FOR_EDITORS, **definition["properties"]}}


def _models() -> Schema:
    shapes = Shapes(printed=False)
    return {**shapes.of(Models), "$defs": shapes.definitions}


def _script() -> Schema:
    shapes = Shapes(printed=False)
    return {**shapes.of(Script), "$defs": shapes.definitions}


def _mcp() -> Schema:
    """Return the schema of `mcp.json`. Fields that linnet does not know are those of other programs."""
    shapes = Shapes(printed=False)
    switches: Schema = {
        "timeout": {**shapes.of(float), "description": "Seconds that a call may stay without a sign of progress."},
        "startTimeout": {**shapes.of(float), "description": "Seconds from the start to the list of its tools."},
        "disabled": {**shapes.of(bool), "description": "It is not used."},
        "enabled": {**shapes.of(bool), "description": "The opposite of `disabled`, as some programs have it."},
    }
    kinds: dict[type[Struct], list[str]] = {mcp.StdioServer: ["stdio"], mcp.Http: list(mcp.HTTP)}
    for kind, names in kinds.items():
        shapes.reference(kind)
        told = {"type": "string", "enum": names, "description": "How it is spoken to; may be left out."}
        shapes.definitions[kind.__name__]["properties"] |= {"type": told, **switches}
    servers = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in kinds]
    listed = {
        "type": "object",
        "description": "The servers, by name. ${NAME} and ${NAME:-else} in strings are variables of the environment.",
        "additionalProperties": {"anyOf": servers},
    }
    properties = {"$schema": _FOR_EDITORS, "mcpServers": listed}
    return {"type": "object", "properties": properties, "required": ["mcpServers"], "$defs": shapes.definitions}


def _extension() -> Schema:
    def presence(kind: type[Struct], field: str) -> Presence | None:
        return "always" if field in ("name", "exec") else None  # Their absence is refused in words of its own.

    shapes = Shapes(printed=False, presence=presence)
    shapes.reference(ManifestFile)
    [definition] = shapes.definitions.values()
    return {**definition, "properties": {"$schema": _FOR_EDITORS, **definition["properties"]}}


def _extension_frames() -> Schema:
    from_program = Shapes(printed=False, names=_frame_names(get_args(frames.Incoming)))
    to_program = Shapes(printed=True, names=_frame_names(get_args(frames.Outgoing)))
    told = [from_program.reference(each) for each in get_args(frames.Incoming)]
    heard = [to_program.reference(each) for each in get_args(frames.Outgoing)]
    definitions = {
        "FromProgram": {"description": "A line that the program prints.", "oneOf": told},
        "ToProgram": {"description": "A line that linnet writes to the program.", "oneOf": heard},
        **from_program.definitions,
        **to_program.definitions,
    }
    return {"anyOf": [{"$ref": "#/$defs/FromProgram"}, {"$ref": "#/$defs/ToProgram"}], "$defs": definitions}


def _frame_names(kinds: Sequence[Any]) -> dict[type[Struct], str]:
    return {kind: f"{kind.__name__}Frame" for kind in kinds}


_FILES: dict[str, tuple[str, Callable[[], Schema]]] = {
    "settings": ("settings.json", _settings),
    "mcp": ("mcp.json", _mcp),
    "models": ("models.json", _models),
    "script": ("a script of the scripted model", _script),
    "extension": ("extension.json", _extension),
    "extension-frames": ("what linnet and a program that is an extension say", _extension_frames),
}
