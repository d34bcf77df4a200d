"""The form that a client wants the answer to a prompt to have. Imported by those who are sent one."""

from typing import Any

from msgspec import Raw

from linnet.core.context.formed_output import Output
from linnet.core.form import Form
from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.fields import Field


def form(raw: Raw, name: str) -> Form | None:
    """Return None if it is null. Raises BadInput for what is no JSON Schema, or says what cannot be checked."""
    field: Field[dict[str, Any]] = Field(name, decoder_of(dict[str, Any]), "a JSON Schema, as an object")
    schema = field.optional(raw)
    try:
        return None if schema is None else Output(schema)
    except BadInput as error:
        raise BadInput(f"`{name}`: {error}") from None
