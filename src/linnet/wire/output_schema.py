"""Reads the JSON Schema that a client wants the answer to a prompt to fit. Imported only when a client sends one."""

from typing import Any

from msgspec import Raw

from linnet.core.context.formed_output import Output
from linnet.core.form import Form
from linnet.errors import BadInput
from linnet.wire.fields import Field


def form(raw: Raw, name: str) -> Form | None:
    """Return the form that a schema asks for; None if it is null. Raises BadInput for what is no JSON Schema, or cannot
    be checked. `name` is that of the field, for errors.
    """
    field: Field[dict[str, Any]] = Field(name, dict[str, Any], "a JSON Schema, as an object")
    schema = field.optional(raw)
    try:
        return None if schema is None else Output(schema)
    except BadInput as error:
        raise BadInput(f"`{name}`: {error}") from None
