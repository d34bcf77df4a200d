"""Turns what MCP servers answer into what a model can be shown. Pure, and never imports the `mcp` package."""

from typing import TYPE_CHECKING, Any, assert_never

import msgspec

from linnet.core.images import image
from linnet.core.messages import Image, Text, UserPart
from linnet.errors import BadInput

if TYPE_CHECKING:
    from mcp_types import (
        BlobResourceContents,
        CallToolResult,
        ContentBlock,
        GetPromptResult,
        ReadResourceResult,
        ResourceLink,
        TextResourceContents,
    )

SHOWN_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


def content(result: "CallToolResult") -> tuple[UserPart, ...]:
    """Return the content of a result in order, never nothing. Structured content is shown where there is no text."""
    parts = [_part(block) for block in result.content]
    structured = getattr(result, "structured_content", None)
    if structured is not None and not any(isinstance(part, Text) for part in parts):
        parts.append(Text(_json(structured)))
    return tuple(parts) or (Text("(no output)"),)


def prompt_text(result: "GetPromptResult") -> str:
    """Return what the messages of a prompt say, each with its role if not all are the user's."""
    several = any(message.role != "user" for message in result.messages)
    said = [(f"{message.role}: " if several else "") + _words(_part(message.content)) for message in result.messages]
    return "\n\n".join(said)


def resource_text(result: "ReadResourceResult") -> str:
    """Return the contents of a resource, one after the other."""
    return "\n\n".join(_words(_resource(each)) for each in result.contents)


def progress_text(progress: float, total: float | None, message: str | None) -> str:
    """Return a line for people who watch."""
    count = f"{progress:g}" + ("" if total is None else f"/{total:g}")
    return f"{message} ({count})\n" if message else f"{count}\n"


def _part(block: "ContentBlock") -> UserPart:
    """Return a block as a part of a message; what cannot be shown as a note."""
    match block.type:
        case "text":
            return Text(block.text)
        case "image":
            return _image(block.data, block.mime_type)
        case "audio":
            return Text(f"[audio that cannot be shown: {_described(block.mime_type, block.data)}]")
        case "resource":
            return _resource(block.resource)
        case "resource_link":
            return Text(_link(block))
        case _:
            assert_never(block.type)


def _resource(resource: "TextResourceContents | BlobResourceContents") -> UserPart:
    """Return the contents of a resource as a part of a message; what cannot be shown as a note."""
    text: str | None = getattr(resource, "text", None)
    if text is not None:
        return Text(f"[{resource.uri}]\n{text}")
    blob: str = getattr(resource, "blob", "")
    if (resource.mime_type or "").startswith("image/"):
        return _image(blob, resource.mime_type or "")
    return Text(f"[{resource.uri}: {_described(resource.mime_type or 'data', blob)}]")


def _link(link: "ResourceLink") -> str:
    said = f": {link.description}" if link.description else ""
    return f"[{link.name}]({link.uri}){said}"


def _image(data: str, mime_type: str) -> UserPart:
    """Return an image, or a note if it cannot be sent to a model."""
    try:
        checked = image(data, mime_type)
    except BadInput as error:
        return Text(f"[an image that cannot be shown: {error}]")
    if checked.mime_type not in SHOWN_TYPES:  # A vendor would refuse the whole conversation.
        return Text(f"[an image that cannot be shown: {_described(checked.mime_type, data)}]")
    return checked


def _described(mime_type: str, data: str) -> str:
    """Return the type and the size of data in base 64."""
    return f"{mime_type}, {Image('', data).size} bytes"


def _words(part: UserPart) -> str:
    """Return a part as text; a note for an image."""
    return part.text if isinstance(part, Text) else f"[an image: {part.mime_type}, {part.size} bytes]"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
