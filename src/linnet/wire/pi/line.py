"""Splits a line of the pi protocol into its fields, and answers what cannot be read. Nothing here knows a command."""

from collections.abc import Callable

from msgspec import Raw, Struct, field

from linnet.core.commands import Command
from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.fields import ABSENT, Field
from linnet.wire.jsonl import Overlong, decode_line


class Line(Struct, frozen=True, rename="camel"):
    """All fields that any command has. They stay raw until their command asks for them: a bad one that is not needed
    harms nobody.
    """

    id: Raw = ABSENT
    type: Raw = ABSENT
    message: Raw = ABSENT
    images: Raw = ABSENT
    attachments: Raw = ABSENT
    streaming_behavior: Raw = ABSENT
    parent_session: Raw = ABSENT
    provider: Raw = ABSENT
    model_id: Raw = ABSENT
    level: Raw = ABSENT
    mode: Raw = ABSENT
    custom_instructions: Raw = ABSENT
    enabled: Raw = ABSENT
    command: Raw = ABSENT
    exclude_from_context: Raw = ABSENT
    session_path: Raw = ABSENT
    output_path: Raw = ABSENT
    entry_id: Raw = ABSENT
    since: Raw = ABSENT
    name: Raw = ABSENT
    all: Raw = ABSENT
    request_id: Raw = ABSENT
    value: Raw = ABSENT
    confirmed: Raw = ABSENT
    cancelled: Raw = ABSENT
    reason: Raw = ABSENT
    content: Raw = ABSENT
    is_error: Raw = ABSENT
    details: Raw = ABSENT
    text: Raw = ABSENT
    tools: Raw = ABSENT
    answer: Raw = ABSENT
    save: Raw = ABSENT
    settled: Raw = ABSENT
    output_schema: Raw = ABSENT
    output_schema_snake: Raw = field(default=ABSENT, name="output_schema")


ATTRIBUTES = dict(zip(Line.__struct_encode_fields__, Line.__struct_fields__, strict=True))
"""The attribute of each field."""
_decoder = decoder_of(Line)
_type: Field[str] = Field("type", str, "a string that names a command")


def read(line: bytes | Overlong, understand: Callable[[str, Line], Command]) -> Asked | Rejected:
    """Return what `understand` makes of a line's type and fields, or why it is no command.

    Never raises, if `understand` raises nothing but BadInput.
    """
    if isinstance(line, Overlong):
        return _unreadable(ABSENT, line.reason)
    try:
        fields = decode_line(_decoder, line)
    except BadInput as error:
        return _unreadable(ABSENT, str(error))
    id = one_line(fields.id)
    try:
        name = _type.required(fields.type)
    except BadInput as error:
        return _unreadable(id, str(error))
    try:
        return Asked(id, name, understand(name, fields))
    except BadInput as error:
        return Rejected(id, name, str(error))


def one_line(raw: Raw) -> Raw:
    """Return the same value without carriage returns between its tokens: some readers take them for line ends."""
    data = bytes(raw)
    return Raw(data.replace(b"\r", b" ")) if b"\r" in data else raw


def _unreadable(id: Raw, reason: str) -> Rejected:
    return Rejected(id, "parse", f"Failed to parse command: {reason}")
