"""JSON Schemas of types, and values of types from JSON: the types that msgspec knows, and pydantic's models in them.

A model is known by what it can do (`model_json_schema`, `model_validate`), so that pydantic need not be installed.
"""

from typing import Any

import msgspec

from linnet import decoding


def is_model(kind: Any) -> bool:
    """Return whether this is a class that describes and checks itself, as pydantic's models do."""
    return isinstance(kind, type) and hasattr(kind, "model_json_schema") and hasattr(kind, "model_validate")


def schema(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type. Raises TypeError for one that cannot be described."""
    if is_model(kind):
        return dict(kind.model_json_schema())
    return decoding.schema(kind, schema_hook)


def decode(text: str, kind: Any) -> Any:
    """Return the value of this type that a JSON text says. Raises msgspec.MsgspecError, a ValueError."""
    return decoding.decoder_of(kind, dec_hook).decode(text)


def schema_hook(kind: type) -> dict[str, Any]:
    """Return a model's schema, complete in itself, for msgspec to put into another one. Raises TypeError."""
    if not is_model(kind):
        raise TypeError(f"{kind!r} is not a type that can be checked")
    described: dict[str, Any] = kind.model_json_schema()  # type: ignore[attr-defined]
    definitions = described.get("$defs", {})

    def inlined(node: Any, way: tuple[str, ...] = ()) -> Any:
        if isinstance(node, list):
            return [inlined(each, way) for each in node]
        if not isinstance(node, dict):
            return node
        rest = {name: inlined(each, way) for name, each in node.items() if name not in ("$defs", "$ref")}
        if "$ref" not in node:
            return rest
        name = str(node["$ref"]).removeprefix("#/$defs/")
        if name in way or name not in definitions:
            raise TypeError(f"{kind.__name__} refers to itself, so it cannot be a part of another type")
        return {**inlined(definitions[name], (*way, name)), **rest}

    whole: dict[str, Any] = inlined(described)
    return whole


def dec_hook(kind: type, value: Any) -> Any:
    """Return a model that was made and checked by its own class from plain JSON, for msgspec. Raises ValueError."""
    if not is_model(kind):
        raise ValueError(f"{kind!r} is not a type that can be checked")
    try:
        if hasattr(kind, "model_validate_json"):  # Strict models take a date as text in JSON, and nowhere else.
            return kind.model_validate_json(msgspec.json.encode(value))
        return kind.model_validate(value)  # type: ignore[attr-defined]
    except ValueError as error:
        raise ValueError(_told(error)) from None


def enc_hook(value: Any) -> Any:
    """Return a model as plain JSON, and anything else as its text, for msgspec."""
    return value.model_dump(mode="json") if is_model(type(value)) and hasattr(value, "model_dump") else str(value)


def _told(error: ValueError) -> str:
    """Return pydantic's list of problems in one line, without the addresses of its manual."""
    listed = getattr(error, "errors", None)
    if not callable(listed):
        return str(error)
    return "; ".join(f"{each['msg']} ({'.'.join(map(str, each['loc'])) or 'as a whole'})" for each in listed())
