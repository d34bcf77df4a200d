"""Rewrites the JSON Schemas of tools such that Google's models are told all of what they say. Pure.

Google ignores `const`, and bounds that exclude the number they name. Both can be said in words that it knows.
"""

from collections.abc import Mapping
from typing import Any

_MAPS = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
_LISTS = frozenset(("anyOf", "oneOf", "allOf", "prefixItems"))
_SINGLE = frozenset(
    ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties")
)


def rewritten(schema: Any) -> Any:
    """Return a schema that allows the same values, without what Google ignores. The schema itself is unchanged."""
    if not isinstance(schema, Mapping):
        return schema  # True and False are schemas, too.
    out = {key: _within(key, value) for key, value in schema.items()}
    if "const" in out:
        out["enum"] = [out.pop("const")]  # An enum beside it would have it in it, or allow nothing.
    if out.get("type") == "integer":
        _include(out, "exclusiveMinimum", "minimum", 1)
        _include(out, "exclusiveMaximum", "maximum", -1)
    return out


def _within(key: str, value: Any) -> Any:
    if key in _MAPS and isinstance(value, Mapping):
        return {name: rewritten(each) for name, each in value.items()}
    if key in _LISTS and isinstance(value, list):
        return [rewritten(each) for each in value]
    return rewritten(value) if key in _SINGLE else value  # Anything else is a value, or is for people.


def _include(schema: dict[str, Any], excluding: str, including: str, step: int) -> None:
    """Replace a bound that excludes an integer by one that includes its neighbour."""
    bound = schema.get(excluding)
    if type(bound) is not int:
        return
    del schema[excluding]
    near = bound + step
    other = schema.get(including)
    if isinstance(other, int | float) and (other - near) * step > 0:
        return  # The other one is narrower.
    schema[including] = near
