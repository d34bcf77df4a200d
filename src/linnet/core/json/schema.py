"""Checks JSON values against the part of JSON Schema that models are given."""

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
_NAMED = ("properties", "$defs", "definitions")  # Each holds schemas by name.
_INSIDE = ("items", "additionalProperties")
_LISTED = ("anyOf", "oneOf", "allOf", "prefixItems")
_COUNTS = ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_OTHERS = ("type", "enum", "const", "required", "$ref", "pattern", "uniqueItems")
_CHECKED = frozenset((*_NAMED, *_INSIDE, *_LISTED, *_COUNTS, *_NUMBERS, *_OTHERS))
_ONLY_SAID = frozenset(
    ("title", "description", "default", "examples", "format", "$schema", "$id", "$comment", "deprecated")
)


def check_schema(schema: Mapping[str, Any]) -> None:
    """Raise BadInput for what is no schema, and for one with a word that `problem` would not look at."""
    schemas: dict[int, Mapping[str, Any]] = {}
    try:
        _check(schema, schema, "$", schemas)
        sound: set[str] = set()
        for each in schemas.values():
            _follow(each, schema, sound, ())
    except RecursionError:
        raise BadInput("the JSON Schema is nested too deeply") from None


def problem(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> str:
    """Return why the value does not fit, and where; "" if it fits. The schema must have passed `check_schema`. `root`
    is the whole of which it is a part, if it is one.
    """
    return _problem(value, schema, schema if root is None else root, "$")


def _check(schema: Any, root: Mapping[str, Any], at: str, checked: dict[int, Mapping[str, Any]]) -> None:
    """Check one schema and those in it. Raises BadInput.

    `checked` has those that were looked at before, by their identity: a reference may lead back to one.
    """
    if isinstance(schema, bool) or id(schema) in checked:
        return
    if not isinstance(schema, Mapping):
        raise BadInput(f"{at} of the JSON Schema must be an object")
    if unknown := sorted(set(schema) - _CHECKED - _ONLY_SAID):
        raise BadInput(f'the JSON Schema says "{unknown[0]}" at {at}, which cannot be checked; leave it out')
    checked[id(schema)] = schema
    _check_words(schema, at)
    if "$ref" in schema:
        _check(resolved(schema["$ref"], root), root, str(schema["$ref"]), checked)
    for word in _NAMED:
        for name, each in _of(schema, word, Mapping, {}, "an object", at).items():
            _check(each, root, f"{at}.{name}", checked)
    for word in _INSIDE:
        if word in schema:
            _check(schema[word], root, f"{at}.{word}", checked)
    for word in _LISTED:
        for each in _of(schema, word, list, [], "a list", at):
            _check(each, root, f"{at}.{word}", checked)


def _check_words(schema: Mapping[str, Any], at: str) -> None:
    names = schema.get("type", [])
    for name in names if isinstance(names, list) else [names]:
        if not isinstance(name, str) or name not in _TYPES:
            raise BadInput(f'the JSON Schema has an unknown type "{name}" at {at}')
    _of(schema, "enum", list, [], "a list", at)
    if not all(isinstance(name, str) for name in _of(schema, "required", list, [], "a list of names", at)):
        raise _wrong("required", "a list of names", at)
    for word in _COUNTS:
        if isinstance(count := _of(schema, word, int, 0, "a whole number", at), bool) or count < 0:
            raise _wrong(word, "a whole number", at)
    for word in _NUMBERS:
        if isinstance(_of(schema, word, int | float, 0, "a number", at), bool):
            raise _wrong(word, "a number", at)
    _of(schema, "uniqueItems", bool, False, "true or false", at)
    pattern = _of(schema, "pattern", str, "", "a regular expression", at)
    if pattern:
        import re  # Few schemas have one.

        try:
            re.compile(pattern)
        except (re.error, OverflowError) as error:
            raise BadInput(f'"pattern" at {at} of the JSON Schema cannot be used: {error}') from None


def _of(schema: Mapping[str, Any], word: str, kind: Any, default: Any, expected: str, at: str) -> Any:
    value = schema.get(word, default)
    if not isinstance(value, kind):
        raise _wrong(word, expected, at)
    return value


def _wrong(word: str, expected: str, at: str) -> BadInput:
    return BadInput(f'"{word}" at {at} of the JSON Schema must be {expected}')


def _follow(schema: Any, root: Mapping[str, Any], sound: set[str], way: tuple[str, ...]) -> None:
    """Raise BadInput for a reference that leads back to itself without a step into the value: a check would never end.

    `sound` has the references that are known to end, `way` those that led here.
    """
    if not isinstance(schema, Mapping):
        return
    reference = schema.get("$ref")
    if reference in way:
        raise BadInput(f"the JSON Schema refers to {reference}, which refers to itself")
    if reference is not None and reference not in sound:
        _follow(resolved(reference, root), root, sound, (*way, reference))
        sound.add(reference)
    for word in ("anyOf", "oneOf", "allOf"):
        for each in schema.get(word, []):
            _follow(each, root, sound, way)


def _problem(value: Any, schema: Any, root: Mapping[str, Any], at: str) -> str:
    if isinstance(schema, bool):
        return "" if schema else f"nothing is allowed at {at}"
    if "$ref" in schema and (found := _problem(value, resolved(schema["$ref"], root), root, at)):
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
            return _list_problem(value, schema, root, at)
        case str():
            if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
                return f"the wrong length at {at}"
            if "pattern" in schema:
                import re  # Few schemas have one.

                return "" if re.search(schema["pattern"], value) else f"no match for {schema['pattern']} at {at}"
        case int() | float() if not isinstance(value, bool):
            too_small = "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]
            too_large = "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]
            if too_small or too_large or not schema.get("minimum", value) <= value <= schema.get("maximum", value):
                return f"out of range at {at}"
        case _:
            pass
    return ""


def _list_problem(value: list[Any], schema: Mapping[str, Any], root: Mapping[str, Any], at: str) -> str:
    if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
        return f"the wrong number of items at {at}"
    if schema.get("uniqueItems") and any(_same(each, other) for n, each in enumerate(value) for other in value[:n]):
        return f"an item that is there twice at {at}"
    first, others = schema.get("prefixItems", []), schema.get("items", True)
    of_each = [*first, *[others] * (len(value) - len(first))]
    found = (_problem(each, of, root, f"{at}[{n}]") for n, (each, of) in enumerate(zip(value, of_each, strict=False)))
    return next(filter(None, found), "")


def _object_problem(value: dict[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], at: str) -> str:
    if missing := [name for name in schema.get("required", []) if name not in value]:
        return f'"{missing[0]}" is missing at {at}'
    if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", len(value)):
        return f"the wrong number of properties at {at}"
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


def resolved(reference: Any, root: Mapping[str, Any]) -> Any:
    """Return the schema in `root` that a reference leads to. Raises BadInput if there is none."""
    found: Any = root
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise BadInput(f"the JSON Schema refers to {reference!r}, which is not inside it")
    for name in reference.removeprefix("#").strip("/").split("/"):
        if name:
            name = name.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or name not in found:
                raise BadInput(f"the JSON Schema refers to {reference}, which is not there")
            found = found[name]
    if not isinstance(found, Mapping | bool):
        raise BadInput(f"the JSON Schema refers to {reference}, which is no schema")
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
    """Return whether two values are equal as JSON, where true is not 1."""
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)
