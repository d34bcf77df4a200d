"""Reads what clients reply when they are asked something, where the dialects agree: answers, tool results, trust."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType

from linnet.core import questions
from linnet.core.commands import AnswerQuestion, Command, ReportToolProgress, ReturnTool, SetTools, Trust
from linnet.core.images import image
from linnet.core.messages import Text, UserPart
from linnet.core.toolspec import ToolSpec, name_problem
from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.fields import Field, each

_Trusts: TypeAlias = Literal["once", "always", "never"]


class _Block(Struct, frozen=True, rename={"mime_type": "mimeType"}):
    """A text or an image."""

    type: str
    text: str = ""
    data: str = ""
    mime_type: str = ""


class _Tool(Struct, frozen=True, rename={"input_schema_camel": "inputSchema"}):
    """A tool that a client declares.

    Its schema is called `parameters` by most vendors, `inputSchema` by MCP and `input_schema` by Anthropic.
    """

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


class ReplyFields(Protocol):
    """The fields of a line that replies are read from, each still raw."""

    @property
    def value(self) -> Raw: ...
    @property
    def confirmed(self) -> Raw: ...
    @property
    def cancelled(self) -> Raw: ...
    @property
    def reason(self) -> Raw: ...
    @property
    def content(self) -> Raw: ...
    @property
    def is_error(self) -> Raw: ...
    @property
    def details(self) -> Raw: ...
    @property
    def text(self) -> Raw: ...
    @property
    def tools(self) -> Raw: ...
    @property
    def answer(self) -> Raw: ...


Line = TypeVar("Line", bound=ReplyFields)


def milliseconds(seconds: float | None) -> int | UnsetType:
    """Return how long an answer is waited for, as both wires say it; UNSET if there is no end to that."""
    return UNSET if seconds is None else round(seconds * 1000)


def replies(
    answer: str, question: Callable[[Line], str], request: Callable[[Line], str], is_error: Field[bool]
) -> Mapping[str, Callable[[Line], Command]]:
    """Return what clients that were asked something may reply, by the names of the commands. All raise BadInput.

    `answer` is the dialect's name for the answer to a question. `question` and `request` return the id of the question
    or tool request that a line is about, and `is_error` reads the field of that meaning.
    """

    def answered(line: Line) -> Command:
        given = questions.Given(
            _value.optional(line.value),
            _confirmed.optional(line.confirmed),
            _cancelled.optional(line.cancelled) or False,
            _reason.optional(line.reason) or "",
        )
        return AnswerQuestion(question(line), given)

    def returned(line: Line) -> Command:
        failed = is_error.optional(line.is_error) or False
        result = questions.ToolReturned(_content(line.content), failed, _details.optional(line.details))
        return ReturnTool(request(line), result)

    return {
        answer: answered,
        "tool_response": returned,
        "tool_response_progress": lambda line: ReportToolProgress(request(line), _text.optional(line.text) or ""),
        "set_tools": lambda line: SetTools(tuple(each("tool", _tools.required(line.tools), _spec))),
        "trust": lambda line: Trust(_trusts.required(line.answer)),
    }


def _content(raw: Raw) -> tuple[UserPart, ...]:
    """Return the content of a result, for the model to read. Nothing at all is a result too. Raises BadInput."""
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
