"""Lines in zot's words as commands. One that makes no sense becomes a Rejected that kept its id; nothing is raised."""

from typing import TypeVar

from msgspec import DecodeError, Raw, Struct, ValidationError
from msgspec.json import Decoder

from linnet.core import commands
from linnet.core.images import image
from linnet.core.messages import Image
from linnet.errors import BadInput
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.jsonl import LONGEST_LINE, Overlong, decode_line

T = TypeVar("T")
_ABSENT = Raw(b"")


class _Line(Struct, frozen=True):
    """Fields stay raw until their command asks for them: a bad one that is not needed harms nobody."""

    id: Raw = _ABSENT
    type: Raw = _ABSENT
    message: Raw = _ABSENT
    images: Raw = _ABSENT
    model: Raw = _ABSENT
    token: Raw = _ABSENT


class _Image(Struct, frozen=True):
    data: str
    mime_type: str = ""


_line = Decoder(_Line)
_text = Decoder(str)
_images = Decoder(list[_Image])


def decode(line: bytes | Overlong) -> Asked | Rejected:
    if isinstance(line, Overlong):
        limit = LONGEST_LINE // (1024 * 1024)
        return Rejected(_ABSENT, "", f"the line is {line.size} bytes long; the longest taken is {limit} MiB")
    try:
        fields = decode_line(_line, line)
    except BadInput as error:
        return Rejected(_ABSENT, "", f"malformed json: {error}")
    try:
        name = _field(fields.type, _text, "type", "a string", "")
    except BadInput as error:
        return Rejected(fields.id, "", str(error))
    try:
        command = _command(name, fields)
    except BadInput as error:
        return Rejected(fields.id, name, str(error))
    return Asked(fields.id, name, command)


def _command(name: str, fields: _Line) -> commands.Command:
    match name:
        case "prompt":
            return _prompt(fields)
        case "hello":
            return commands.Hello(_field(fields.token, _text, "token", "a string", ""))
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
            return commands.SetModel(_field(fields.model, _text, "model", "a string", ""))
        case "get_models":
            return commands.GetModels()
        case "ping":
            return commands.Ping()
        case _:
            raise BadInput("unknown command")


def _prompt(fields: _Line) -> commands.Prompt:
    text = _field(fields.message, _text, "message", "a string", "")
    sent = _field(fields.images, _images, "images", 'a list of {"mime_type", "data"}', [])
    images: list[Image] = []
    for number, item in enumerate(sent, 1):
        try:
            images.append(image(item.data, item.mime_type))
        except BadInput as error:
            raise BadInput(f"image {number}: {error}") from None
    if not text.strip() and not images:
        raise BadInput("a prompt needs a message or an image")
    return commands.Prompt(text, tuple(images))


def _field(raw: Raw, decoder: Decoder[T], name: str, expected: str, default: T) -> T:
    """Null counts as absent, as in zot."""
    if bytes(raw) in (b"", b"null"):
        return default
    try:
        return decoder.decode(raw)
    except (ValidationError, DecodeError):
        raise BadInput(f"`{name}` must be {expected}") from None
