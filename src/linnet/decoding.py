"""Makes msgspec's decoders and schemas of types under a lock, so that several threads may ask for them.

msgspec works out a type when it is first used, and lets other threads see what it has so far: one that uses it then
crashes the process. So whatever in linnet decodes to a type, converts to it or describes it asks here. See
`docs/decisions/0048-types-are-made-ready-under-a-lock.md`.
"""

from collections.abc import Callable, Iterable
from threading import RLock
from typing import Any, TypeAlias, TypeVar, overload

import msgspec
from msgspec.json import Decoder

T = TypeVar("T")
Made: TypeAlias = Callable[[type, Any], Any] | None
"""Makes a value of a type that msgspec does not know."""
Described: TypeAlias = Callable[[type], dict[str, Any]] | None
"""Makes the JSON Schema of such a type."""
_one_at_a_time = RLock()  # An annotation may be evaluated meanwhile, and lead back here.


@overload
def decoder_of(kind: type[T], dec_hook: Made = None) -> Decoder[T]: ...
@overload
def decoder_of(kind: Any, dec_hook: Made = None) -> Decoder[Any]: ...
def decoder_of(kind: Any, dec_hook: Made = None) -> Decoder[Any]:
    """Return a decoder of JSON for a type. Any thread may use it."""
    with _one_at_a_time:
        return Decoder(kind, dec_hook=dec_hook)


@overload
def converted(value: Any, kind: type[T], *, strict: bool = True, dec_hook: Made = None) -> T: ...
@overload
def converted(value: Any, kind: Any, *, strict: bool = True, dec_hook: Made = None) -> Any: ...
def converted(value: Any, kind: Any, *, strict: bool = True, dec_hook: Made = None) -> Any:
    """Return a value as this type, as `msgspec.convert` does. Raises ValidationError."""
    decoder_of(kind)  # Makes the type ready; less than a microsecond for a struct that is.
    return msgspec.convert(value, kind, strict=strict, dec_hook=dec_hook)


def schema_components(
    kinds: Iterable[Any], ref_template: str, schema_hook: Described = None
) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """Return the JSON Schema of each type and the parts they refer to, as msgspec does, and leave them ready."""
    with _one_at_a_time:
        return msgspec.json.schema_components(kinds, ref_template=ref_template, schema_hook=schema_hook)


def schema(kind: Any, schema_hook: Described = None) -> dict[str, Any]:
    """Return the JSON Schema of one type, as `msgspec.json.schema` does, and leave it ready."""
    with _one_at_a_time:
        return msgspec.json.schema(kind, schema_hook=schema_hook)
