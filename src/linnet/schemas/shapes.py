"""Makes JSON Schemas (2020-12) of types: structs become definitions, with the words of their docstrings."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, is_typeddict

from msgspec import UNSET, Meta, Raw, Struct, UnsetType
from msgspec.structs import FieldInfo, fields

from linnet.schemas.docstrings import about_fields, about_type

Schema: TypeAlias = dict[str, Any]
Presence: TypeAlias = Literal["always", "maybe", "never"]
_SIMPLE: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    NoneType: {"type": "null"},
    date: {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
    Any: {},
    Raw: {},
    object: {},
}
_BOUNDS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "pattern": "pattern",
    "description": "description",
    "title": "title",
}


def _nothing(kind: type[Struct], field: str) -> Presence | None:
    return None


class Shapes:
    """Invariant: `definitions` has every struct that was asked for, and those in them, each once, under a name of its
    own.
    """

    def __init__(
        self,
        *,
        printed: bool,
        presence: Callable[[type[Struct], str], Presence | None] = _nothing,
        names: Mapping[type[Struct], str] | None = None,
        kinds: Mapping[tuple[type[Struct], str], Any] | None = None,
        unions: Mapping[Any, str] | None = None,
    ) -> None:
        """`printed`: linnet prints these objects, and leaves out what is UNSET; otherwise it reads them, and what has a
        default may be left out. `presence` says otherwise of single fields, `names` and `unions` how types are called,
        and `kinds` what single fields are whose type says less.
        """
        self.definitions: dict[str, Schema] = {}
        self._printed = printed
        self._presence = presence
        self._names = names or {}
        self._kinds = kinds or {}
        self._unions = unions or {}
        self._made: dict[str, Any] = {}

    def of(self, kind: Any) -> Schema:
        """Return the schema of a type, with references to the definitions that it takes."""
        if kind in _SIMPLE:
            return dict(_SIMPLE[kind])
        if isinstance(kind, type) and issubclass(kind, Struct):
            return self.reference(kind)
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._annotated(inner[0], inner[1:])
        if origin is Literal:
            return _chosen(inner)
        if origin in (Union, UnionType):
            return self._union(kind, [each for each in inner if each is not UnsetType])
        if origin in (dict, Mapping) or kind is dict or (origin and issubclass(origin, Mapping)):
            return {"type": "object", "additionalProperties": self.of(inner[1])} if inner else {"type": "object"}
        if origin in (list, tuple, frozenset, set, Sequence):
            return {"type": "array", "items": self.of(inner[0])}
        if is_typeddict(kind):
            return {"type": "object"}
        raise TypeError(f"no schema for {kind!r}")

    def reference(self, kind: type[Struct]) -> Schema:
        """Define a struct, and return the reference to it."""
        name = self.name(kind)
        self.define(name, kind, lambda: self._struct(kind))
        return {"$ref": f"#/$defs/{name}"}

    def name(self, kind: type[Struct]) -> str:
        return self._names.get(kind) or kind.__name__.lstrip("_")

    def define(self, name: str, what: Any, make: Callable[[], Schema]) -> Schema:
        """Define something under this name, once, and return the reference to it."""
        if name not in self._made:
            self._made[name] = what
            self.definitions[name] = {}  # Its place, before those in it.
            self.definitions[name] = make()
        assert self._made[name] == what, f"two types are called {name}"
        return {"$ref": f"#/$defs/{name}"}

    def _struct(self, kind: type[Struct]) -> Schema:
        config = kind.__struct_config__
        properties: dict[str, Schema] = {}
        required: list[str] = []
        words = about_fields(kind)
        if config.tag_field is not None:
            properties[config.tag_field] = {"type": "string", "const": config.tag}
            required.append(config.tag_field)
        for field in fields(kind):
            presence = self._presence(kind, field.name) or self._usual(kind, field)
            if presence == "never":
                continue
            if presence == "always":
                required.append(field.encode_name)
            schema = self.of(self._kinds.get((kind, field.name), field.type))
            properties[field.encode_name] = {**schema, **described(words.get(field.name, ""))}
            if not self._printed and isinstance(field.default, str | int | float) and field.default != "":
                properties[field.encode_name]["default"] = field.default
        closed = {"additionalProperties": False} if config.forbid_unknown_fields else {}
        return {
            "type": "object",
            **described(about_type(kind)),
            "properties": properties,
            **({"required": required} if required else {}),
            **closed,
        }

    def _usual(self, kind: type[Struct], field: FieldInfo) -> Presence:
        if self._printed:
            may_be_unset = UnsetType in get_args(field.type) or field.default is UNSET
            left_out = kind.__struct_config__.omit_defaults and not field.required
            return "maybe" if may_be_unset or left_out else "always"
        return "always" if field.required else "maybe"

    def _annotated(self, kind: Any, metas: Sequence[Any]) -> Schema:
        schema = self.of(kind)
        for meta in metas:
            if isinstance(meta, Meta):
                schema |= {word: told for at, word in _BOUNDS.items() if (told := getattr(meta, at)) is not None}
                lengths = {"array": "Items", "object": "Properties"}.get(schema.get("type", ""), "Length")
                schema |= {
                    f"{end}{lengths}": told
                    for end in ("min", "max")
                    if (told := getattr(meta, f"{end}_length")) is not None
                }
                schema |= meta.extra_json_schema or {}
        return schema

    def _union(self, kind: Any, inner: Sequence[Any]) -> Schema:
        name = self._unions.get(Union[tuple(inner)])  # noqa: UP007 (made of what is there)
        if name is not None:
            return self.define(name, Union[tuple(inner)], lambda: self.choice(inner))  # noqa: UP007
        return self.choice(inner)

    def choice(self, inner: Sequence[Any]) -> Schema:
        """Return the schema of one of several."""
        if len(inner) == 1:
            return self.of(inner[0])
        tagged = all(isinstance(each, type) and issubclass(each, Struct) for each in inner) and all(
            each.__struct_config__.tag is not None for each in inner
        )
        named = self._unions.get(Union[tuple(each for each in inner if each is not NoneType)])  # noqa: UP007
        if named is not None and NoneType in inner:
            rest = [each for each in inner if each is not NoneType]
            return {"anyOf": [self.define(named, Union[tuple(rest)], lambda: self.choice(rest)), {"type": "null"}]}  # noqa: UP007
        return {"oneOf" if tagged else "anyOf": [self.of(each) for each in inner]}


def _chosen(words: Sequence[Any]) -> Schema:
    kind = {str: "string", bool: "boolean", int: "integer"}[type(words[0])]
    return {"type": kind, "const": words[0]} if len(words) == 1 else {"type": kind, "enum": list(words)}


def described(words: str) -> Schema:
    """Return the words about something, and the mark of what only linnet has."""
    if not words:
        return {}
    added = "An addition" in words
    return {"description": words, **({"$comment": ADDED} if added else {})}


ADDED = "linnet's own: the protocol's other programs do not have it."
