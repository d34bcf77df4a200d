"""What clients reply when they are asked, as far as the dialects read it alike: answers, results of tools, trust."""

from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from linnet.core import questions
from linnet.core.commands import Trust
from linnet.core.images import image
from linnet.core.messages import Text, UserPart
from linnet.core.toolspec import ToolSpec, name_problem
from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.fields import Field, each

_Trusts: TypeAlias = Literal["once", "always", "never"]


class _Block(Struct, frozen=True, rename={"mime_type": "mimeType"}):
    """A text or an image; both spellings of its type are read."""

    type: str
    text: str = ""
    data: str = ""
    mime_type: str = ""


class _Tool(Struct, frozen=True, rename={"input_schema_camel": "inputSchema"}):
    """Its schema is called `parameters` by most vendors, `inputSchema` by MCP and `input_schema` by Anthropic."""

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None
    input_schema: dict[str, Any] | None = None
    input_schema_camel: dict[str, Any] | None = None


NO_SCHEMA = """give `parameters`, also for a tool that takes none: {"type":"object","properties":{}}"""
_blocks: Field[str | list[_Block]] = Field(
    "content", decoder_of(str | list[_Block]), "a string, or a list of text and image blocks"
)
_tools: Field[list[_Tool]] = Field("tools", decoder_of(list[_Tool]), 'a list of {"name", "description", "parameters"}')
_value: Field[str] = Field("value", decoder_of(str), "a string")
_confirmed: Field[bool] = Field("confirmed", decoder_of(bool), "true or false")
_cancelled: Field[bool] = Field("cancelled", decoder_of(bool), "true or false")
_reason: Field[str] = Field("reason", decoder_of(str), "a string")
_details: Field[dict[str, Any]] = Field("details", decoder_of(dict[str, Any]), "an object")
_text: Field[str] = Field("text", decoder_of(str), "a string")
_trusts: Field[_Trusts] = Field("answer", decoder_of(_Trusts), "once, always or never")


def milliseconds(seconds: float | None) -> int | UnsetType:
    return UNSET if seconds is None else round(seconds * 1000)


def given(value: Raw, confirmed: Raw, cancelled: Raw, reason: Raw) -> questions.Given:
    """Return the answer to a question. Raises BadInput."""
    return questions.Given(
        _value.optional(value),
        _confirmed.optional(confirmed),
        _cancelled.optional(cancelled) or False,
        _reason.optional(reason) or "",
    )


def returned(content: Raw, details: Raw, *, is_error: bool) -> questions.ToolReturned:
    """Return what came of a tool of the client's own. Raises BadInput."""
    return questions.ToolReturned(_content(content), is_error, _details.optional(details))


def printed(text: Raw) -> str:
    """Return what such a tool has printed meanwhile. Raises BadInput."""
    return _text.optional(text) or ""


def trust(answer: Raw) -> Trust:
    """Raises BadInput."""
    return Trust(_trusts.required(answer))


def declared(raw: Raw) -> tuple[ToolSpec, ...]:
    """Raises BadInput."""
    return tuple(each("tool", _tools.required(raw), _spec))


def _content(raw: Raw) -> tuple[UserPart, ...]:
    """Return it for the model to read. Nothing at all is a result too."""
    found = _blocks.optional(raw)
    if found is None or found == "":
        return (Text("(no output)"),)
    if isinstance(found, str):
        return (Text(found),)
    return tuple(each("content", found, _part)) or (Text("(no output)"),)


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
    said = [each for each in (tool.parameters, tool.input_schema, tool.input_schema_camel) if each is not None]
    if not said:
        raise BadInput(f"{tool.name} has no schema: {NO_SCHEMA}")
    if any(each != said[0] for each in said):
        raise BadInput(f"{tool.name} has more than one schema; give `parameters` alone")
    schema = said[0] or {"type": "object", "properties": {}}
    if schema.get("type") != "object":
        raise BadInput(f"the parameters of {tool.name} must be a JSON schema of an object")
    return ToolSpec(tool.name, tool.description, schema)
