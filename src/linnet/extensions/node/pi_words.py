"""The core's values in pi's words, as plain JSON, and back: what extensions for pi are told and answer. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import ValidationError, json
from msgspec.structs import replace

from linnet.core import messages, models
from linnet.core.slash import SlashCommand
from linnet.decoding import converted
from linnet.errors import BadInput
from linnet.wire.pi.from_pi import Block, Spelled, user_parts
from linnet.wire.pi.from_pi import message as read_message
from linnet.wire.pi.state import model as spelled_model
from linnet.wire.pi.to_pi import Words, blocks

_WORDS = Words()


def spelled(message: messages.Message) -> dict[str, Any]:
    """Return a message as pi's extensions know it."""
    told: dict[str, Any] = json.decode(json.encode(_WORDS.message(message)))
    if told.get("attachments") == []:
        del told["attachments"]
    return told


def spelled_all(conversation: Iterable[messages.Message]) -> list[dict[str, Any]]:
    """Return messages as pi's extensions know them."""
    return [spelled(message) for message in conversation]


def content(parts: Iterable[messages.UserPart]) -> list[dict[str, Any]]:
    """Return texts and images as pi's blocks."""
    told: list[dict[str, Any]] = json.decode(json.encode(blocks(parts)))
    return told


def read_all(said: Any) -> list[messages.Message]:
    """Return the messages that an extension gives. Those of roles that linnet does not know are left out.

    Raises BadInput if they are none.
    """
    try:
        spoken = converted(said, list[Spelled], strict=False)
    except ValidationError as error:
        raise BadInput(f"these are no messages: {error}") from None
    return [found for each in spoken if (found := read_message(each)) is not None]


def replaced(message: messages.Message, said: dict[str, Any]) -> messages.Message:
    """Return the message as an extension wants it, which says it in pi's words; the same one if nothing is different.

    Raises BadInput if that is no message of the same role.
    """
    if said == spelled(message):
        return message
    match message, read_all([said]):
        case messages.AssistantMessage(), [messages.AssistantMessage() as new]:
            return replace(message, content=new.content, usage=new.usage, stop=new.stop, error=new.error)
        case messages.ToolResult(), [messages.ToolResult() as new]:
            details = None if new.details is None else messages.Verbatim(new.details)
            return replace(message, content=new.content, is_error=new.is_error, details=details)
        case messages.UserMessage(), [messages.UserMessage() as new]:
            return replace(message, content=new.content)
        case messages.Note(), [messages.Note() as new]:
            return replace(message, content=new.content, display=new.display, details=new.details)
        case _:
            raise BadInput("this is no message of the same role")


def read_content(said: Any) -> tuple[messages.UserPart, ...]:
    """Return the texts and images of a content that an extension gives. Raises BadInput if it is none."""
    if isinstance(said, str):
        return (messages.Text(said),)
    try:
        return user_parts(converted(said, list[Block]))
    except ValidationError as error:
        raise BadInput(f"this is no content: {error}") from None


def joined(parts: Sequence[messages.UserPart]) -> tuple[str, tuple[messages.Image, ...]]:
    """Return the words of a content, one text after the other, and its images."""
    images = tuple(part for part in parts if isinstance(part, messages.Image))
    return messages.texts(tuple(parts)), images


def model(known: models.Model) -> dict[str, Any]:
    """Return a model as pi's extensions know it."""
    told: dict[str, Any] = json.decode(json.encode(spelled_model(known)))
    return {"type": "chat", **told}


_SCOPES = {"user": "user", "project": "project", "path": "temporary"}


def command(listed: SlashCommand) -> dict[str, Any]:
    """Return a name that can be typed as pi's extensions know it."""
    source = {"mcp": "prompt"}.get(listed.source, listed.source)
    where: dict[str, Any] = {
        "path": listed.path,
        "source": "cli" if listed.location == "path" else "auto",
        "scope": _SCOPES[listed.location],
        "origin": "top-level",
    }
    if listed.base:
        where["baseDir"] = listed.base
    name = f"skill:{listed.name}" if listed.source == "skill" and not listed.name.startswith("skill:") else listed.name
    return {"name": name, "description": listed.description, "source": source, "sourceInfo": where}
