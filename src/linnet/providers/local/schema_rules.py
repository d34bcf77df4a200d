"""Writes the rules of a grammar for JSON that fits a JSON Schema.

Not everything that fits is admitted: properties come in one order, those that the schema does not name are left out,
and numbers have no exponents. Everything that is admitted fits, unless the schema says something that no rule can say.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor
from typing import Any

from msgspec import json

from linnet.core.json.schema import check_schema, problem, resolved
from linnet.errors import BadInput

_LONGEST = 10**15 - 1  # Of whole numbers: each is exact, as a float too.
_DEPTH = 3  # How deeply a value may be nested of which nothing is said.
_MOST_TIMES = 1000  # llama.cpp refuses a grammar that counts much further.
_TYPES = ("object", "array", "string", "integer", "number", "boolean", "null")
_MEANT = {  # Words that are about values of one type, by which a schema says it.
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "string": ("minLength", "maxLength", "pattern"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}
_COMBINED = ("anyOf", "oneOf", "allOf", "$ref")
_KINDS = frozenset(("type", "enum", "const", *_COMBINED, *(word for words in _MEANT.values() for word in words)))
_CHARACTER = r'[^"\\\x00-\x1F\x7F] | "\\" ["\\/bfnrt]'


class Rules:
    """The rules of one grammar, by their names.

    `exact` tells whether everything that they admit fits the schemas they were made of.
    """

    def __init__(self) -> None:
        self.exact = True
        self.named: dict[str, str] = {}
        self._root: Mapping[str, Any] = {}
        self._referred: dict[str, str] = {}

    def written(self, first: str) -> str:
        """Return the grammar, the first rule before all others."""
        others = (name for name in self.named if name != first)
        return "\n".join(f"{name} ::= {self.named[name]}" for name in (first, *others)) + "\n"

    def arguments(self, schema: Mapping[str, Any]) -> str:
        """Return the name of a rule for the arguments of a tool: an object, whatever the schema says."""
        self._root, self._referred = schema, {}
        try:
            check_schema(schema)
        except BadInput:
            self.exact = False
            return self._added(self._any_object())
        if schema.get("type", "object") != "object" or any(word in schema for word in ("enum", "const", *_COMBINED)):
            self.exact = False
        return self._added(self._object(schema))

    def value(self, schema: Any) -> str:
        """Return an expression for a value that fits, of a schema that has passed `check_schema`."""
        if schema is False:
            self.exact = False
        if isinstance(schema, bool):
            return self._anything(_DEPTH)
        if listed := self._listed(schema):
            return listed
        combined = [word for word in _COMBINED if word in schema]
        if combined and len(_KINDS & schema.keys()) == 1:
            return self._combined(combined[0], schema)
        if combined:
            self.exact = False  # What is said beside them holds, and they are left to the tool.
        types = schema.get("type") or [kind for kind, words in _MEANT.items() if any(word in schema for word in words)]
        chosen = [types] if isinstance(types, str) else types
        if not chosen:
            return self._anything(_DEPTH)
        return _either(self._typed(kind, schema) for kind in chosen)

    def _listed(self, schema: Mapping[str, Any]) -> str:
        """Return an expression for the values that the schema lists, if it does; else nothing."""
        values = schema.get("enum", [schema["const"]] if "const" in schema else [])
        fitting = [each for each in values if not problem(each, schema, self._root)]
        if values and not fitting:
            self.exact = False
        return _either(literal(quoted(each)) for each in fitting)

    def _combined(self, word: str, schema: Mapping[str, Any]) -> str:
        if word == "$ref":
            return self._reference(schema["$ref"])
        choices = schema[word]
        if word == "allOf" and len(choices) > 1:
            self.exact = False
            choices = choices[:1]
        if word == "oneOf" and not _apart(choices):
            self.exact = False
        return _either(self.value(each) for each in choices) or self._anything(_DEPTH)

    def _reference(self, reference: str) -> str:
        """Return the rule for what a reference leads to. It may lead back to where it is."""
        if reference not in self._referred:
            name = self._referred[reference] = self._added("")
            self.named[name] = self.value(resolved(reference, self._root))
        return self._referred[reference]

    def _typed(self, kind: str, schema: Mapping[str, Any]) -> str:
        match kind:
            case "object":
                return self._object(schema)
            case "array":
                return self._array(schema)
            case "string":
                return self._string(schema)
            case "integer" | "number":
                return self._number(schema, whole=kind == "integer")
            case "boolean":
                return '("true" | "false")'
            case _:
                return '"null"'

    def _object(self, schema: Mapping[str, Any]) -> str:
        named: Mapping[str, Any] = schema.get("properties", {})
        required: list[str] = list(dict.fromkeys(schema.get("required", [])))
        least, most = schema.get("minProperties", 0), schema.get("maxProperties", len(named) + len(required))
        if not named and not required:
            return self._record(schema)
        optional = [name for name in named if name not in required and named[name] is not False]
        while optional and len(required) < least:
            required.append(optional.pop(0))
        if not least <= len(required) <= most:
            self.exact = False
        optional = optional[: max(most - len(required), 0)]
        others = schema.get("additionalProperties", True)
        pairs = {
            name: self._added(f"{literal(quoted(name) + ': ')} {self.value(named.get(name, others))}")
            for name in (*required, *optional)
        }
        after = {name: f'(", " {pairs[name]})?' for name in optional}
        if required:
            return " ".join(
                ['"{"', ' ", " '.join(pairs[name] for name in required), *(after[name] for name in optional), '"}"']
            )
        starts = (
            " ".join([pairs[name], *(after[later] for later in optional[at + 1 :])]) for at, name in enumerate(optional)
        )
        return f'"{{" ({" | ".join(starts)})? "}}"'

    def _record(self, schema: Mapping[str, Any]) -> str:
        """Return an expression for an object with any names. A name may come twice, and then counts once."""
        least, most = schema.get("minProperties", 0), schema.get("maxProperties")
        others = schema.get("additionalProperties", True)
        if others is False:
            if least:
                self.exact = False
            return '"{}"'
        if least > 1:
            self.exact = False
        pair = self._added(f'{self._string({})} ": " {self.value(others)}')
        return f'"{{" {_repeated(pair, least, most)} "}}"'

    def _array(self, schema: Mapping[str, Any]) -> str:
        first: Sequence[Any] = schema.get("prefixItems", [])
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if schema.get("uniqueItems"):
            most = 1 if most is None else min(most, 1)
        if most is not None and least > most:
            self.exact = False
            most = least
        if max(least, most or 0) > _MOST_TIMES:
            self.exact, least, most = False, min(least, _MOST_TIMES), None
        if first:
            count = max(least, min(len(first), len(first) if most is None else most))
            others = schema.get("items", True)
            items = [*first, *[others] * (count - len(first))][:count]
            return " ".join(['"["', ' ", " '.join(self.value(each) for each in items), '"]"'])
        item = self._added(self.value(schema.get("items", True)))
        return f'"[" {_repeated(item, least, most)} "]"'

    def _string(self, schema: Mapping[str, Any]) -> str:
        if "pattern" in schema:
            self.exact = False
        least, most = schema.get("minLength", 0), schema.get("maxLength")
        if most is not None and least > most:
            self.exact = False
            most = least
        if most is not None and most > _MOST_TIMES:
            self.exact, most = False, None
        if least > _MOST_TIMES:
            self.exact, least = False, _MOST_TIMES
        self.named.setdefault("character", _CHARACTER)
        return f'"\\"" character{_times(least, most)} "\\""'

    def _number(self, schema: Mapping[str, Any], *, whole: bool) -> str:
        least = max(ceil(schema.get("minimum", -_LONGEST)), floor(schema.get("exclusiveMinimum", -_LONGEST - 1)) + 1)
        most = min(floor(schema.get("maximum", _LONGEST)), ceil(schema.get("exclusiveMaximum", _LONGEST + 1)) - 1)
        least, most = max(least, -_LONGEST), min(most, _LONGEST)
        if least > most:
            self.exact = False
            least, most = -_LONGEST, _LONGEST
        numbers = self._whole(least, most)
        below = most if most == _LONGEST else most - 1  # The next one must fit, too.
        if whole or below < max(least, 0):
            return numbers
        return f'({self._whole(max(least, 0), below)} "." [0-9]{{1,6}} | {numbers})'

    def _whole(self, least: int, most: int) -> str:
        """Return an expression for the whole numbers from one to the other."""
        choices: list[str] = []
        if least < 0:
            choices += [f'"-" {each}' for each in _digits(max(-most, 1), -least)]
        if most >= 0:
            choices += _digits(max(least, 0), most)
        return _either(choices)

    def _any_object(self) -> str:
        return self._record({})

    def _anything(self, depth: int) -> str:
        """Return the rule for any value, nested at most so deeply."""
        name = f"value{depth}"
        if name not in self.named:
            choices = [self._typed(kind, {}) for kind in _TYPES[2:]]
            if depth:
                inner = self._anything(depth - 1)
                pair = self._added(f'{self._string({})} ": " {inner}')
                choices += [f'"[" {_repeated(inner, 0, None)} "]"', f'"{{" {_repeated(pair, 0, None)} "}}"']
            self.named[name] = _either(choices)
        return name

    def _added(self, body: str) -> str:
        name = f"rule{len(self.named)}"
        self.named[name] = body
        return name


def literal(text: str) -> str:
    """Return an expression for exactly this text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def quoted(value: Any) -> str:
    """Return a value as JSON, in which no control character is left."""
    return json.encode(value).decode().replace("\x7f", "\\u007f")


def _either(choices: Iterable[str]) -> str:
    """Return an expression for any of these; nothing if there are none."""
    known = list(dict.fromkeys(choices))
    return known[0] if len(known) == 1 else f"({' | '.join(known)})" if known else ""


def _repeated(item: str, least: int, most: int | None) -> str:
    """Return an expression for so many items with commas between them."""
    if most == 0:
        return ""
    more = _times(max(least - 1, 0), None if most is None else most - 1)
    row = f'{item} (", " {item}){more}'
    return row if least else f"({row})?"


def _times(least: int, most: int | None) -> str:
    if most == 1 == least:
        return ""
    if most is None and least < 2:
        return "*+"[least]
    return f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"


def _digits(least: int, most: int) -> list[str]:
    """Return expressions that together have the whole numbers from one to the other, neither of them negative."""
    if not least:
        return ['"0"', *(_digits(1, most) if most else [])]
    shortest, longest = len(str(least)), len(str(most))
    if least == 10 ** (shortest - 1) and most == 10**longest - 1:
        return [f"[1-9] [0-9]{_times(shortest - 1, longest - 1)}"]
    if shortest == longest:
        return _between(str(least), str(most))
    end = 10**shortest - 1  # Of the shortest ones; the longest are what comes after the ones between.
    between = _digits(end + 1, 10 ** (longest - 1) - 1) if longest - shortest > 1 else []
    return [*_digits(least, end), *between, *_digits(10 ** (longest - 1), most)]


def _between(first: str, last: str) -> list[str]:
    """Return expressions for the numbers between two of the same length."""
    rest = len(first) - 1
    if not rest:
        return [f"[{first}-{last}]"]
    if first[1:] == "0" * rest and last[1:] == "9" * rest:
        return [f"[{first[0]}-{last[0]}] [0-9]{{{rest}}}"]
    if first[0] == last[0]:
        return [f'"{first[0]}" {each}' for each in _between(first[1:], last[1:])]
    low = [f'"{first[0]}" {each}' for each in _between(first[1:], "9" * rest)]
    high = [f'"{last[0]}" {each}' for each in _between("0" * rest, last[1:])]
    middle = int(first[0]) + 1, int(last[0]) - 1
    return [*low, *([f"[{middle[0]}-{middle[1]}] [0-9]{{{rest}}}"] if middle[0] <= middle[1] else []), *high]


def _apart(choices: Sequence[Any]) -> bool:
    """Return whether no value can fit two of these schemas, as far as their types tell."""
    types = [each.get("type") if isinstance(each, Mapping) else None for each in choices]
    alike = ["number" if each == "integer" else each for each in types]
    return all(isinstance(each, str) for each in alike) and len(set(map(str, alike))) == len(alike)
