"""The fields of a line of the zot protocol. Nothing here knows a command."""

from msgspec import Raw, Struct, field

from linnet.wire.fields import ABSENT


class Line(Struct, frozen=True):
    """All fields that any command has. They stay raw until their command asks for them: a bad one that is not needed
    harms nobody.
    """

    id: Raw = ABSENT
    type: Raw = ABSENT
    message: Raw = ABSENT
    images: Raw = ABSENT
    model: Raw = ABSENT
    token: Raw = ABSENT
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
    output_schema: Raw = ABSENT
    output_schema_camel: Raw = field(default=ABSENT, name="outputSchema")


ATTRIBUTES = dict(zip(Line.__struct_encode_fields__, Line.__struct_fields__, strict=True))
"""The attribute of each field."""
