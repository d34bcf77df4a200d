"""Reads what comes with a prompt: images in either of two forms, and the attachments of the earlier pi protocol."""

from binascii import Error, a2b_base64
from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.core import commands
from linnet.core.images import image, linked_image
from linnet.core.messages import Image, Sent, Text
from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.fields import Field, each
from linnet.wire.pi.from_pi import ImageSource
from linnet.wire.pi.line import Line, one_line

BINARY = 0.1  # A document of whose characters more than this share are no UTF-8 is no text.


WhenBusy: TypeAlias = Literal["refuse", "steer", "follow_up"]


class _Image(Struct, frozen=True, rename="camel"):
    data: str = ""
    mime_type: str = ""
    source: ImageSource | None = None


class _Attachment(Struct, frozen=True, rename="camel"):
    type: str
    content: str = ""
    file_name: str = "file"
    mime_type: str = ""
    extracted_text: str | None = None


message: Field[str] = Field("message", decoder_of(str), "a string")
_images: Field[list[_Image]] = Field(
    "images", decoder_of(list[_Image]), 'a list of {"type":"image","source":{"type":"base64","mediaType","data"}}'
)
_attachments: Field[list[_Attachment]] = Field(
    "attachments",
    decoder_of(list[_Attachment]),
    'a list of {"type":"image"|"document","fileName","mimeType","content"}',
)


class Content(Struct, frozen=True):
    """What a prompt says, its attachments included."""

    text: str
    images: tuple[Image, ...]


def prompt(fields: Line, when_busy: WhenBusy, slash: Literal["at_once", "refuse"]) -> commands.Prompt:
    """Return the prompt in a line. Raises BadInput."""
    sent = content(fields)
    return commands.Prompt(sent.text, sent.images, when_busy, slash=slash, sent=_sent(fields, sent))


def _sent(fields: Line, content: Content) -> Sent | None:
    """Return a prompt with attachments as it was sent, to be shown so to clients; None if it has none."""
    if bytes(fields.attachments) in (b"", b"null", b"[]"):
        return None
    words = (Text(content.text),) if content.text else ()
    count = len(_images.optional(fields.images) or ())
    return Sent(
        message.optional(fields.message) or "",
        content.images[:count],
        bytes(one_line(fields.attachments)),
        (*words, *content.images),
    )


def content(fields: Line) -> Content:
    """Return what a prompt says. Documents become part of the text, under their names. Raises BadInput."""
    said = message.optional(fields.message) or ""
    images = each("image", _images.optional(fields.images), _picture)
    texts = [said] if said.strip() else []
    for attached in each("attachment", _attachments.optional(fields.attachments), _attached):
        if isinstance(attached, Image):
            images.append(attached)
        else:
            texts.append(attached)
    if not texts and not images:
        raise BadInput("`message` must be a string that is not empty, unless there are images")
    return Content("\n\n".join(texts), tuple(images))


def _picture(sent: _Image) -> Image:
    source = sent.source
    if source is None:
        return image(sent.data, sent.mime_type)
    if source.type == "url":
        return linked_image(source.url)
    if source.type != "base64":
        raise BadInput(f'a source of type "{source.type}" is not known; send "base64" or "url"')
    return image(source.data, source.mime_type)


def _attached(sent: _Attachment) -> Image | str:
    match sent.type:
        case "image":
            return image(sent.content, sent.mime_type)
        case "document":
            name = " ".join(sent.file_name.split()).replace('"', "'")
            return f'<file name="{name}">\n{sent.extracted_text or _decoded(sent)}\n</file>'
        case _:
            raise BadInput('`type` must be "image" or "document"')


def _decoded(sent: _Attachment) -> str:
    try:
        data = a2b_base64(sent.content, strict_mode=True)
    except (Error, ValueError) as error:
        raise BadInput(f"{sent.file_name}: the content is not base64: {error}") from None
    text = data.decode("utf-8", "replace")
    if not text.strip():
        raise BadInput(f"{sent.file_name} is empty")
    if b"\0" in data or text.count("\ufffd") > len(text) * BINARY:
        raise BadInput(f"{sent.file_name} is not a text file; send what it says as `extractedText`")
    return text
