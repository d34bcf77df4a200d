"""A JSON value against a JSON Schema: the part of it that models are given. Pure."""

from collections.abc import Mapping
from typing import Any

from linnet.errors import BadInput

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_STRUCTURE = ("type", "enum", "const", "properties", "required", "additionalProperties", "items", "$ref")
_BOUNDS = ("minItems", "maxItems", "minLength", "maxLength", "pattern", "minimum", "maximum")
_CHECKED = frozenset((*_STRUCTURE, *_BOUNDS, "anyOf", "oneOf", "allOf"))
_ONLY_SAID = frozenset(
    ("title", "description", "default", "examples", "format", "$schema", "$id", "$defs", "definitions", "$comment")
)


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raises BadInput for a schema that says something which `problem` would not look at."""
    _check(schema, schema, "$")


def problem(value: Any, schema: Mapping[str, Any]) -> str:
    """Why the value does not fit, naming the place; empty if it does."""
    return _problem(value, schema, schema, "$")


def _check(schema: Any, root: Mapping[str, Any], at: str) -> None:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        raise BadInput(f"output: {at} of the JSON Schema must be an object")
    if unknown := sorted(set(schema) - _CHECKED - _ONLY_SAID):
        raise BadInput(f'output: the JSON Schema says "{unknown[0]}" at {at}, which cannot be checked; leave it out')
    names = schema.get("type", [])
    for name in [names] if isinstance(names, str) else names:
        if name not in _TYPES:
            raise BadInput(f'output: the JSON Schema has an unknown type "{name}" at {at}')
    if "$ref" in schema:
        _resolved(schema["$ref"], root)
    for word in ("properties", "$defs", "definitions"):
        for name, each in schema.get(word, {}).items():
            _check(each, root, f"{at}.{name}")
    for word in ("items", "additionalProperties"):
        if word in schema:
            _check(schema[word], root, f"{at}.{word}")
    for word in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(word, []):
            _check(each, root, f"{at}.{word}")


def _problem(value: Any, schema: Any, root: Mapping[str, Any], at: str) -> str:
    if isinstance(schema, bool):
        return "" if schema else f"nothing is allowed at {at}"
    if "$ref" in schema and (found := _problem(value, _resolved(schema["$ref"], root), root, at)):
        return found
    if "type" in schema and not _has_type(value, schema["type"]):
        names = schema["type"] if isinstance(schema["type"], str) else " or ".join(schema["type"])
        return f"expected {names} at {at}"
    if "enum" in schema and not any(_same(value, each) for each in schema["enum"]):
        return f"expected one of {schema['enum']} at {at}"
    if "const" in schema and not _same(value, schema["const"]):
        return f"expected {schema['const']!r} at {at}"
    return _kind_problem(value, schema, root, at) or _choice_problem(value, schema, root, at)


def _kind_problem(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], at: str) -> str:
    match value:
        case dict():
            return _object_problem(value, schema, root, at)
        case list():
            if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
                return f"the wrong number of items at {at}"
            found = (_problem(each, schema.get("items", True), root, f"{at}[{n}]") for n, each in enumerate(value))
            return next(filter(None, found), "")
        case str():
            if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
                return f"the wrong length at {at}"
            if "pattern" in schema:
                import re  # Few schemas have one.

                return "" if re.search(schema["pattern"], value) else f"no match for {schema['pattern']} at {at}"
        case int() | float() if not isinstance(value, bool):
            if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
                return f"out of range at {at}"
        case _:
            pass
    return ""


def _object_problem(value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], at: str) -> str:
    if missing := [name for name in schema.get("required", []) if name not in value]:
        return f'"{missing[0]}" is missing at {at}'
    known = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    for name, each in value.items():
        if name not in known and others is False:
            return f'"{name}" does not belong at {at}'
        if found := _problem(each, known.get(name, others), root, f"{at}.{name}"):
            return found
    return ""


def _choice_problem(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], at: str) -> str:
    for each in schema.get("allOf", []):
        if found := _problem(value, each, root, at):
            return found
    for word in ("anyOf", "oneOf"):
        if word in schema:
            fitting = sum(not _problem(value, each, root, at) for each in schema[word])
            if not fitting or (word == "oneOf" and fitting > 1):
                return f"expected {'one' if word == 'oneOf' else 'any'} of the alternatives at {at}"
    return ""


def _resolved(reference: Any, root: Mapping[str, Any]) -> Any:
    found: Any = root
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise BadInput(f"output: the JSON Schema refers to {reference!r}, which is not inside it")
    for name in reference.removeprefix("#").strip("/").split("/"):
        if name:
            if not isinstance(found, Mapping) or name not in found:
                raise BadInput(f"output: the JSON Schema refers to {reference}, which is not there")
            found = found[name]
    return found


def _has_type(value: Any, names: Any) -> bool:
    for name in [names] if isinstance(names, str) else names:
        if isinstance(value, bool):
            if name == "boolean":
                return True
        elif isinstance(value, _TYPES[name]) or (name == "integer" and isinstance(value, float) and value.is_integer()):
            return True
    return False


def _same(a: Any, b: Any) -> bool:
    """In JSON true is not 1."""
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)
