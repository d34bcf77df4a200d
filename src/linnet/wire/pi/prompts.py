"""Reads what comes with a prompt: images in either of two forms, and the attachments of the earlier pi protocol."""

from binascii import Error, a2b_base64
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from msgspec import Raw, Struct
from msgspec.structs import replace

from linnet.core import commands
from linnet.core.images import image, linked_image
from linnet.core.messages import Image, Sent, Text
from linnet.errors import BadInput
from linnet.wire.command_rows import as_sent, may, row, table
from linnet.wire.fields import Field, each
from linnet.wire.pi.from_pi import ImageSource
from linnet.wire.pi.line import one_line

if TYPE_CHECKING:
    from linnet.core.form import Form

BINARY = 0.1  # A document of whose characters more than this share are no UTF-8 is no text.


WhenBusy: TypeAlias = Literal["refuse", "steer", "follow_up"]
Behavior: TypeAlias = Literal["steer", "followUp"]


class PromptImage(Struct, frozen=True, rename="camel"):
    """An image to say something about: its data, or a source."""

    data: str = ""
    """In base64."""
    mime_type: str = ""
    """Overridden by the bytes, if they are PNG, JPEG, GIF or WebP."""
    source: ImageSource | None = None
    type: str = "image"


class PromptAttachment(Struct, frozen=True, rename="camel"):
    """A file that comes with a prompt."""

    type: str
    """`image` or `document`."""
    content: str = ""
    """In base64."""
    file_name: str = "file"
    """A document is shown to the model under this name."""
    mime_type: str = ""
    extracted_text: str | None = None
    """The text of a document that is not a text file."""


_message: Field[str] = Field("message", str, "a string")
_images: Field[list[PromptImage]] = Field(
    "images", list[PromptImage], 'a list of {"type":"image","source":{"type":"base64","mediaType","data"}}'
)
_attachments: Field[list[PromptAttachment]] = Field(
    "attachments",
    list[PromptAttachment],
    'a list of {"type":"image"|"document","fileName","mimeType","content"}',
)
_behavior: Field[Behavior] = Field("streamingBehavior", Behavior, f"one of {', '.join(get_args(Behavior))}")
_schema: Field[dict[str, Any]] = Field("outputSchema", dict[str, Any], "a JSON Schema")
_schema_snake: Field[dict[str, Any]] = Field("output_schema", dict[str, Any], "a JSON Schema")
_BEHAVIORS: dict[Behavior | None, WhenBusy] = {None: "refuse", "steer": "steer", "followUp": "follow_up"}


class Content(Struct, frozen=True):
    """What a prompt says, its attachments included."""

    text: str
    images: tuple[Image, ...]


def prompt(
    message: str | None,
    images: Sequence[PromptImage] | None,
    attachments: Raw,
    when_busy: WhenBusy = "refuse",
    slash: Literal["at_once", "refuse"] = "at_once",
) -> commands.Prompt:
    """Return a prompt. `attachments` are as they were sent. Raises BadInput."""
    sent = content(message or "", images or (), _attachments.optional(attachments) or ())
    as_it_came = None
    if bytes(attachments) not in (b"", b"null", b"[]"):  # It is to be shown so to clients.
        words = (Text(sent.text),) if sent.text else ()
        pictures = sent.images[: len(images or ())]
        as_it_came = Sent(message or "", pictures, bytes(one_line(attachments)), (*words, *sent.images))
    return commands.Prompt(sent.text, sent.images, when_busy, slash=slash, sent=as_it_came)


def _prompt(
    message: str | None,
    images: list[PromptImage] | None,
    attachments: Raw,
    behavior: Behavior | None,
    schema: Raw,
    schema_snake: Raw,
) -> commands.Prompt:
    said = prompt(message, images, attachments, _BEHAVIORS[behavior])
    form = _form(schema or schema_snake)
    if form is not None and behavior is not None:
        raise BadInput(FORMLESS)
    return said if form is None else replace(said, form=form)


def _spoken(when_busy: WhenBusy) -> Callable[..., commands.Command]:
    """Return what makes a prompt that is said to a run."""

    def spoken(
        message: str | None, images: list[PromptImage] | None, attachments: Raw, schema: Raw, schema_snake: Raw
    ) -> commands.Prompt:
        said = prompt(message, images, attachments, when_busy, "refuse")
        if _form(schema or schema_snake) is not None:
            raise BadInput(FORMLESS)
        return said

    return spoken


FORMLESS = "`outputSchema` is for a prompt that begins a run, not for one that is said to a run"
_SAID = (
    may(_message, "What to say. May be empty if there are images.", needed=True),
    may(_images, "What to show."),
    as_sent(_attachments, "Files to show."),
)
PROMPTS = table(
    row(
        "prompt",
        "Say something. It begins a run, unless one goes on; then `streamingBehavior` says when it is heard.",
        _prompt,
        *_SAID,
        may(_behavior, "While the agent works: after the running tools, or when nothing is left to do."),
        as_sent(_schema, "The answer is to fit this JSON Schema, and is told as `output`.", added=True),
        as_sent(_schema_snake, ""),
        answer="DispositionData",
    ),
    row(
        "steer",
        "Say something to the run that goes on, as soon as the running tools are done.",
        _spoken("steer"),
        *_SAID,
        as_sent(_schema, ""),
        as_sent(_schema_snake, ""),
        answer="DispositionData",
    ),
    row(
        "follow_up",
        "Say something when the agent has nothing left to do.",
        _spoken("follow_up"),
        *_SAID,
        as_sent(_schema, ""),
        as_sent(_schema_snake, ""),
        answer="DispositionData",
    ),
)
LEGACY = row(
    "prompt",
    "Say something. Refused while the agent works, or waits to try again.",
    prompt,
    *_SAID,
)
"""The prompt of the earlier protocol."""


def _form(schema: Raw) -> "Form | None":
    if not bytes(schema):
        return None
    from linnet.wire.output_schema import form  # Most prompts ask for words.

    return form(schema, "outputSchema")


def content(message: str, images: Sequence[PromptImage], attachments: Sequence[PromptAttachment]) -> Content:
    """Return what a prompt says. Documents become part of the text, under their names. Raises BadInput."""
    pictures = each("image", images, _picture)
    texts = [message] if message.strip() else []
    for attached in each("attachment", attachments, _attached):
        if isinstance(attached, Image):
            pictures.append(attached)
        else:
            texts.append(attached)
    if not texts and not pictures:
        raise BadInput("`message` must be a string that is not empty, unless there are images")
    return Content("\n\n".join(texts), tuple(pictures))


def _picture(sent: PromptImage) -> Image:
    source = sent.source
    if source is None:
        return image(sent.data, sent.mime_type)
    if source.type == "url":
        return linked_image(source.url)
    if source.type != "base64":
        raise BadInput(f'a source of type "{source.type}" is not known; send "base64" or "url"')
    return image(source.data, source.mime_type)


def _attached(sent: PromptAttachment) -> Image | str:
    match sent.type:
        case "image":
            return image(sent.content, sent.mime_type)
        case "document":
            name = " ".join(sent.file_name.split()).replace('"', "'")
            return f'<file name="{name}">\n{sent.extracted_text or _decoded(sent)}\n</file>'
        case _:
            raise BadInput('`type` must be "image" or "document"')


def _decoded(sent: PromptAttachment) -> str:
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
