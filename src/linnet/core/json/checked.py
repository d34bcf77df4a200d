"""Decodes a JSON file that people write as a type; errors name the file, the line, the key and what was expected.

Structs that forbid unknown fields make a mistyped key an error, with the nearest key that is known.
"""

from collections.abc import Iterable, Iterator
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from msgspec import MsgspecError, Struct, ValidationError
from msgspec.json import decode, encode
from msgspec.structs import fields

from linnet.core.json.position import Path, line_at, line_of, spelled
from linnet.decoding import decoder_of
from linnet.errors import ConfigError, nearest

T = TypeVar("T")
_ANY = "..."  # As msgspec spells a member of a dict.
_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}


class Misfit(Struct, frozen=True):
    """What is wrong with a text, and where."""

    line: int
    path: tuple[str | int, ...]
    problem: str  # Continues a sentence that begins with the key.

    def in_file(self, file: str) -> ConfigError:
        """Return the error, with the file's name and the line."""
        key = f"{spelled(self.path)}: " if self.path else ""
        return ConfigError(f"{file}:{self.line}: {key}{self.problem}")


def checked(text: bytes, kind: type[T], file: str) -> T:
    """Return the text decoded as this type. Raises ConfigError: `FILE:LINE: key: what was expected`."""
    try:
        return decoder_of(kind).decode(text)
    except (MsgspecError, UnicodeError, RecursionError) as error:
        raise explained(text, kind, error).in_file(file) from None


def misplaced(text: bytes, path: Path, problem: str, file: str) -> ConfigError:
    """Return the error for something that has the right form and makes no sense, with the line it is on."""
    return Misfit(line_of(text, path), tuple(path), problem).in_file(file)


def explained(text: bytes, kind: Any, error: Exception) -> Misfit:
    """Return what is wrong and where. `error` is what decoding the text as this type raised."""
    try:
        content = decode(text)
    except (MsgspecError, UnicodeError, RecursionError) as malformed:
        return _malformed(text, malformed)
    problem, _, place = str(error).partition(" - at `")
    path = _path(place.rstrip("`"), content, kind, problem)
    words = problem.split("`")
    if problem.startswith("Object contains unknown field"):
        key = words[1]
        known = [name for each in _kinds(kind, path) for name in _keys(each)]
        path = (*path, key)
        return Misfit(line_of(text, path), path, f"is not known here{near(key, known)}")
    if problem.startswith("Object missing required field"):
        return Misfit(line_of(text, path), path, f'the key "{words[1]}" is missing')
    return Misfit(line_of(text, path), path, _expected(problem, _kinds(kind, path)))


def near(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean "…"?`, or the words that are known if none is near and they are few."""
    known = list(known)
    if guess := nearest(word, known):
        return f'; did you mean "{guess}"?'
    return f"; known are {', '.join(known)}" if 0 < len(known) <= 12 else ""


def _malformed(text: bytes, error: Exception) -> Misfit:
    if isinstance(error, RecursionError):
        return Misfit(1, (), "is nested too deeply")
    try:
        text.decode()
    except UnicodeDecodeError as odd:
        return Misfit(line_at(text, odd.start), (), "is not UTF-8 text")
    problem, _, place = str(error).partition(" (byte ")
    offset = place.rstrip(")")
    if not offset.isdecimal():
        return Misfit(line_at(text, len(text.rstrip())), (), "is not JSON: it ends too early")
    return Misfit(line_at(text, int(offset)), (), f"is not JSON: {problem.removeprefix('JSON is malformed: ')}")


def _path(place: str, content: Any, kind: Any, problem: str) -> tuple[str | int, ...]:
    """Return the path that msgspec spells `$.providers[...].models[0]`.

    The member of a dict that `...` stands for is the one that is refused for the same reason when it is alone.
    """
    path: list[str | int] = []
    here = content
    for word in place.removeprefix("$").replace(_ANY, "*").replace("[", ".").replace("]", "").split(".")[1:]:
        step: str | int = int(word) if word.isdecimal() and isinstance(here, list) else word
        if word == "*":
            step = next(name for name in here if _refused(_alone(content, path, name), kind, problem))
        path.append(step)
        here = here[step]
    return tuple(path)


def _alone(content: Any, path: Path, name: str) -> Any:
    """Return the same content, with only this member in the dict that the path leads to."""
    if not path:
        return {name: content[name]}
    first, *rest = path
    inner = _alone(content[first], rest, name)
    if isinstance(content, dict):
        return {**content, first: inner}
    return [inner if place == first else each for place, each in enumerate(content)]


def _refused(content: Any, kind: Any, problem: str) -> bool:
    try:
        decoder_of(kind).decode(encode(content))
    except ValidationError as error:
        return str(error).partition(" - at `")[0] == problem
    return False


def _kinds(kind: Any, path: Path) -> Iterator[Any]:
    """Yield the types that the path may lead to in this one; several for a union."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        for each in inner:
            yield from _kinds(each, path)
    elif origin is Annotated:
        yield from _kinds(inner[0], path)
    elif not path:
        yield kind
    elif isinstance(path[0], str) and _is_struct(kind):
        for field in fields(kind):
            if field.encode_name == path[0]:
                yield from _kinds(field.type, path[1:])
    elif inner and origin is not Literal:
        yield from _kinds(inner[1 if origin is dict else 0], path[1:])


def _keys(kind: Any) -> tuple[str, ...]:
    return tuple(field.encode_name for field in fields(kind)) if _is_struct(kind) else ()


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _expected(problem: str, kinds: Iterable[Any]) -> str:
    """Return msgspec's words in ours: `expected a whole number, not a string`."""
    choices = [f'"{word}"' for kind in map(_chosen, kinds) for word in get_args(kind)]
    if choices and problem.startswith("Invalid enum value"):
        return f"expected {_either(choices)}, not {problem.removeprefix('Invalid enum value ')}"
    if problem == "Invalid RFC3339 encoded date":
        return "expected a date such as 2026-11-30"
    words = problem.split("`")
    words[1::2] = [_either([_WORDS.get(name, name) for name in word.split(" | ")]) for word in words[1::2]]
    said = "".join(words).replace(", got ", ", not ")
    return said[:1].lower() + said[1:]


def _chosen(kind: Any) -> Any:
    """Return the words that a value of this type is one of, or that its keys are; None if it may have others."""
    if get_origin(kind) is dict:
        kind = get_args(kind)[0]
    return kind if get_origin(kind) is Literal else None


def _either(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
