"""Writes the schema of a dialect in TypeScript: a type for each definition, and maps of commands and events by name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from typing import Any

from linnet.schemas.shapes import Schema

_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_SIMPLE = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
    "array": "unknown[]",
    "object": "Record<string, unknown>",
}
_HEAD = """\
// {title}, as linnet speaks it. Made by `linnet schema --dialect {name} --format typescript`: do not edit.
//
// {about}
"""
_BY_NAME = """
/** What a command is answered with when it succeeded: `data` of its response; `undefined` where there is none. */
export type Answer<C extends CommandName = CommandName> = Responses[C] extends { data: infer D } ? D : undefined;

/** The answer to a command: `Response<"get_state">` is that of one, `Response` that of any. */
export type Response<C extends CommandName = CommandName> = Responses[C] | FailureResponse<C>;
"""


def typescript(document: Schema, name: str) -> str:
    """Return the module for the document of this dialect."""
    definitions: Mapping[str, Schema] = document["$defs"]
    commands, events = _tagged(definitions, "Command", "type"), _tagged(definitions, "Event", "type")
    parts = [_HEAD.format(title=document["title"], name=name, about=document["description"])]
    parts += [
        _by_name("Commands", "Every command, by its `type`.", commands),
        "/** The `type` of a command. */\nexport type CommandName = keyof Commands;\n",
        "/** A line that the agent reads. */\nexport type Command = Commands[CommandName];\n",
    ]
    if "Response" in definitions:
        answered = _tagged(definitions, "Response", "command")
        del answered[""]
        parts += [_by_name("Responses", "The answer to every command that succeeded, by its name.", answered), _BY_NAME]
    parts += [
        _by_name("Events", "Every event, by its `type`.", events),
        "/** The `type` of an event. */\nexport type EventName = keyof Events;\n",
        "/** A line about what happens. */\nexport type Event = Events[EventName];\n",
    ]
    left_out = ("Command", "Response", "Event")
    parts += [_definition(each, schema) for each, schema in definitions.items() if each not in left_out]
    return "\n".join(parts)


def _tagged(definitions: Mapping[str, Schema], union: str, tag: str) -> dict[str, list[str]]:
    """Return the names of a union's members by what they have as this field; "" for those that have anything."""
    found: dict[str, list[str]] = {}
    for each in definitions[union]["oneOf"]:
        name = _referred(each)
        found.setdefault(definitions[name]["properties"][tag].get("const", ""), []).append(name)
    return found


def _by_name(name: str, about: str, members: Mapping[str, Sequence[str]]) -> str:
    lines = [f"  {_key(tag)}: {' | '.join(names)};" for tag, names in members.items()]
    return "\n".join([f"/** {about} */", f"export interface {name} {{", *lines, "}", ""])


def _definition(name: str, schema: Schema) -> str:
    told = _comment(schema.get("description", ""), "")
    if name == "FailureResponse":
        body = _object({**schema, "properties": {**schema["properties"], "command": {"$ref": "#/$defs/C"}}}, "")
        return f"{told}export interface FailureResponse<C extends string = string> {body}\n"
    if schema.get("type") == "object" and "properties" in schema:
        return f"{told}export interface {name} {_object(schema, '')}\n"
    return f"{told}export type {name} = {_type(schema, '')};\n"


def _type(schema: Schema | bool, indent: str) -> str:
    """Return a type as it is written inside of another."""
    match schema:
        case bool():
            return "unknown" if schema else "never"
        case {"$ref": str()}:
            return _referred(schema)
        case {"const": value}:
            return dumps(value)
        case {"enum": [*values]}:
            return " | ".join(map(dumps, values))
        case {"oneOf": [*members]} | {"anyOf": [*members]}:
            return " | ".join(dict.fromkeys(_type(each, indent) for each in members))
        case {"type": "array", "items": items}:
            inner = _type(items, indent)
            return f"({inner})[]" if " " in inner and not inner.startswith("{") else f"{inner}[]"
        case {"type": "object", "properties": _}:
            return _object(schema, indent)
        case {"type": "object", "additionalProperties": dict() as values}:
            return f"Record<string, {_type(values, indent)}>"
        case {"type": str(kind)}:
            return _SIMPLE[kind]
        case _:
            return "unknown"


def _object(schema: Schema, indent: str) -> str:
    return "\n".join(["{", *_fields(schema, indent + "  "), f"{indent}}}"])


def _fields(schema: Schema, indent: str) -> Iterator[str]:
    required = schema.get("required", ())
    for name, each in schema["properties"].items():
        optional = "" if name in required else "?"
        told = _comment(each.get("description", ""), indent)
        yield f"{told}{indent}{_key(name)}{optional}: {_type(each, indent)};"


def _referred(schema: Any) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _key(name: str) -> str:
    return name if _NAME.fullmatch(name) else dumps(name)


def _comment(words: str, indent: str) -> str:
    if not words:
        return ""
    lines = words.replace("*/", "* /").split("\n")
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    inner = "".join(f"{indent} * {line}".rstrip() + "\n" for line in lines)
    return f"{indent}/**\n{inner}{indent} */\n"
