"""Tools that a client declares, and what comes of them, as both dialects send it."""

from typing import Any

from msgspec import Raw, Struct

from linnet.core.images import image
from linnet.core.messages import Text, UserPart
from linnet.core.toolspec import ToolSpec, name_problem
from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.fields import Field, each


class _Block(Struct, frozen=True, rename={"mime_type": "mimeType"}):
    """A text or an image; both spellings of its type are read."""

    type: str
    text: str = ""
    data: str = ""
    mime_type: str = ""


class _Tool(Struct, frozen=True):
    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


_blocks: Field[str | list[_Block]] = Field(
    "content", decoder_of(str | list[_Block]), "a string, or a list of text and image blocks"
)
_tools: Field[list[_Tool]] = Field("tools", decoder_of(list[_Tool]), 'a list of {"name", "description", "parameters"}')


def content(raw: Raw) -> tuple[UserPart, ...]:
    """What a tool returned, for the model to read. Nothing at all is a result too. Raises BadInput."""
    found = _blocks.optional(raw)
    if found is None or found == "":
        return (Text("(no output)"),)
    if isinstance(found, str):
        return (Text(found),)
    return tuple(each("content", found, _part)) or (Text("(no output)"),)


def declared(raw: Raw) -> tuple[ToolSpec, ...]:
    """Raises BadInput."""
    return tuple(each("tool", _tools.required(raw), _spec))


def _part(block: _Block) -> UserPart:
    match block.type:
        case "text":
            return Text(block.text)
        case "image":
            return image(block.data, block.mime_type)
        case _:
            raise BadInput(f'"{block.type}" is no type of content; send text or image')


def _spec(tool: _Tool) -> ToolSpec:
    if problem := name_problem(tool.name):
        raise BadInput(problem)
    parameters = tool.parameters or {"type": "object", "properties": {}}
    if parameters.get("type") != "object":
        raise BadInput(f"the parameters of {tool.name} must be a JSON schema of an object")
    return ToolSpec(tool.name, tool.description, parameters)
