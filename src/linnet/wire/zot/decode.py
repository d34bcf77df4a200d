"""Decodes lines of the zot protocol into commands."""

from typing import TYPE_CHECKING

from msgspec import Struct

from linnet.core import commands
from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.fields import ABSENT, Field, each, saving
from linnet.wire.jsonl import Overlong, decode_line
from linnet.wire.zot.line import Line

if TYPE_CHECKING:
    from linnet.core.form import Form
    from linnet.core.messages import Image


class _Image(Struct, frozen=True):
    data: str
    mime_type: str = ""


_line = decoder_of(Line)
_type: Field[str] = Field("type", decoder_of(str), "a string")
_message: Field[str] = Field("message", decoder_of(str), "a string")
_images: Field[list[_Image]] = Field("images", decoder_of(list[_Image]), 'a list of {"mime_type", "data"}')
_model: Field[str] = Field("model", decoder_of(str), "a string")
_token: Field[str] = Field("token", decoder_of(str), "a string")


def decode(line: bytes | Overlong) -> Asked | Rejected:
    """Return the command in a line, or a Rejected with the line's id if it makes no sense. Never raises."""
    if isinstance(line, Overlong):
        return Rejected(ABSENT, "", line.reason)
    try:
        fields = decode_line(_line, line)
    except BadInput as error:
        return Rejected(ABSENT, "", f"malformed json: {error}")
    try:
        name = _type.optional(fields.type) or ""
    except BadInput as error:
        return Rejected(fields.id, "", str(error))
    try:
        command = _command(name, fields)
    except BadInput as error:
        return Rejected(fields.id, name, str(error))
    return Asked(fields.id, name, command)


def _command(name: str, fields: Line) -> commands.Command:
    match name:
        case "prompt":
            return _prompt(fields)
        case "hello":
            return commands.Hello(_token.optional(fields.token) or "")
        case "abort":
            return commands.Abort()
        case "compact":
            return commands.Compact()
        case "get_state":
            return commands.GetState()
        case "get_messages":
            return commands.GetMessages()
        case "clear":
            return commands.Clear()
        case "set_model":
            return commands.SetModel(_model.optional(fields.model) or "", save=saving(fields.save))
        case "get_models":
            return commands.GetModels()
        case "get_commands":
            return commands.GetCommands()
        case "reload":
            return commands.Reload()
        case "ping":
            return commands.Ping()
        case "answer" | "tool_response" | "tool_response_progress" | "set_tools" | "trust":
            from linnet.wire.zot.questions import REPLIES  # Most clients are asked nothing.

            return REPLIES[name](fields)
        case _:
            raise BadInput("unknown command")


def _prompt(fields: Line) -> commands.Prompt:
    text = _message.optional(fields.message) or ""
    sent = _images.optional(fields.images)
    images = _pictures(sent) if sent else []
    if not text.strip() and not images:
        raise BadInput("a prompt needs a message or an image")
    return commands.Prompt(text, tuple(images), form=_form(fields))


def _pictures(sent: list[_Image]) -> "list[Image]":
    from linnet.core.images import image  # Most prompts are words.

    return each("image", sent, lambda one: image(one.data, one.mime_type))


def _form(fields: Line) -> "Form | None":
    schema = fields.output_schema or fields.output_schema_camel
    if not bytes(schema):
        return None
    from linnet.wire.output_schema import form  # Most prompts ask for words.

    return form(schema, "output_schema")
