"""Decodes lines of the zot protocol into commands."""

from typing import TYPE_CHECKING, Any

from msgspec import Raw, Struct

from linnet.core import commands
from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.command_rows import SAVE, Row, as_sent, may, row, table
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.fields import ABSENT, Field, each
from linnet.wire.jsonl import Overlong, decode_line
from linnet.wire.zot.line import ATTRIBUTES, Line

if TYPE_CHECKING:
    from linnet.core.form import Form
    from linnet.core.messages import Image


class PromptImage(Struct, frozen=True):
    """An image to say something about."""

    data: str
    """In base64."""
    mime_type: str = ""
    """Overridden by the bytes, if they are PNG, JPEG, GIF or WebP."""


def _prompt(message: str | None, images: list[PromptImage] | None, schema: Raw, schema_camel: Raw) -> commands.Prompt:
    text = message or ""
    pictures = _pictures(images) if images else []
    if not text.strip() and not pictures:
        raise BadInput("a prompt needs a message or an image")
    return commands.Prompt(text, tuple(pictures), form=_form(schema or schema_camel))


def _pictures(sent: list[PromptImage]) -> "list[Image]":
    from linnet.core.images import image  # Most prompts are words.

    return each("image", sent, lambda one: image(one.data, one.mime_type))


def _form(schema: Raw) -> "Form | None":
    if not bytes(schema):
        return None
    from linnet.wire.output_schema import form  # Most prompts ask for words.

    return form(schema, "output_schema")


_type: Field[str] = Field("type", str, "a string")
_message: Field[str] = Field("message", str, "a string")
_images: Field[list[PromptImage]] = Field("images", list[PromptImage], 'a list of {"mime_type", "data"}')
_model: Field[str] = Field("model", str, "a string")
_token: Field[str] = Field("token", str, "a string")
_output: Field[dict[str, Any]] = Field("output_schema", dict[str, Any], "a JSON Schema")
_output_camel: Field[dict[str, Any]] = Field("outputSchema", dict[str, Any], "a JSON Schema")

ROWS = table(
    row(
        "hello",
        "Say who we are; answered with who is there. Must be the first command where a token is asked for.",
        lambda token: commands.Hello(token or ""),
        may(_token, "The token that the agent was started with."),
        answer="GreetingData",
    ),
    row(
        "prompt",
        "Run a prompt, when those before it are done. `done` is the last of its events.",
        _prompt,
        may(_message, "What to say. May be empty if there are images.", needed=True),
        may(_images, "What to show."),
        as_sent(_output, "The answer is to fit this JSON Schema, and is told as `output`.", added=True),
        as_sent(_output_camel, ""),
        answer="StartedData",
    ),
    row("abort", "Cancel what runs. Its last events follow.", commands.Abort),
    row(
        "compact",
        "Replace old messages by a summary, when what was asked for before is done.",
        commands.Compact,
        answer="StartedData",
    ),
    row("get_state", "Return model, folder, cost, and whether it is busy.", commands.GetState, answer="StateData"),
    row("get_messages", "Return the conversation.", commands.GetMessages, answer="MessagesData"),
    row("clear", "Forget the conversation.", commands.Clear),
    row(
        "set_model",
        "Use another model of the same provider, from the next prompt on.",
        lambda model, save: commands.SetModel(model or "", save=save or False),
        may(_model, "The id of the model.", needed=True),
        SAVE,
        answer="ModelData",
    ),
    row("get_models", "Return the provider's models.", commands.GetModels, answer="ModelsData"),
    row(
        "get_commands",
        "Return what a user may type as `/name`: commands of extensions, templates, skills.",
        commands.GetCommands,
        answer="CommandsData",
        added=True,
    ),
    row("reload", "Read the extensions again, between runs.", commands.Reload, added=True),
    row("ping", "Answer, and do nothing else.", commands.Ping, answer="PongData"),
)
_REPLIES = ("answer", "tool_response", "tool_response_progress", "set_tools", "trust")
_line = decoder_of(Line)


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
    found = ROWS.get(name)
    if found is None and name in _REPLIES:
        from linnet.wire.zot.questions import REPLIES  # Most clients are asked nothing.

        found = REPLIES[name]
    if found is None:
        raise BadInput("unknown command")
    return found.command(fields, ATTRIBUTES)


def rows() -> list[Row]:
    """Return all commands."""
    from linnet.wire.zot.questions import REPLIES

    return [*ROWS.values(), *REPLIES.values()]
