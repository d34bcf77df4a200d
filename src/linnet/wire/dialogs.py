"""Reads what clients reply when they are asked something, where the dialects agree: answers, tool results, trust."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from linnet.core import questions
from linnet.core.commands import AnswerQuestion, Command, ReportToolProgress, ReturnTool, SetTools, Trust
from linnet.core.images import image
from linnet.core.messages import Text, UserPart
from linnet.core.toolspec import ToolSpec, name_problem
from linnet.errors import BadInput
from linnet.wire.command_rows import Row, may, must, row, table
from linnet.wire.fields import Field, each

_Trusts: TypeAlias = Literal["once", "always", "never"]


class ContentBlock(Struct, frozen=True, rename={"mime_type": "mimeType"}):
    """A text or an image."""

    type: str
    """`text` or `image`."""
    text: str = ""
    data: str = ""
    """The image in base64."""
    mime_type: str = ""


class DeclaredTool(Struct, frozen=True, rename={"input_schema_camel": "inputSchema"}):
    """A tool that a client declares.

    Its schema is called `parameters` by most vendors, `inputSchema` by MCP and `input_schema` by Anthropic.
    """

    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None
    input_schema: dict[str, Any] | None = None
    input_schema_camel: dict[str, Any] | None = None


NO_SCHEMA = """give `parameters`, also for a tool that takes none: {"type":"object","properties":{}}"""
_blocks: Field[str | list[ContentBlock]] = Field(
    "content", str | list[ContentBlock], "a string, or a list of text and image blocks"
)
_tools: Field[list[DeclaredTool]] = Field(
    "tools", list[DeclaredTool], 'a list of {"name", "description", "parameters"}'
)
_value: Field[str] = Field("value", str, "a string")
_confirmed: Field[bool] = Field("confirmed", bool, "true or false")
_cancelled: Field[bool] = Field("cancelled", bool, "true or false")
_reason: Field[str] = Field("reason", str, "a string")
_details: Field[dict[str, Any]] = Field("details", dict[str, Any], "an object")
_text: Field[str] = Field("text", str, "a string")
_trusts: Field[_Trusts] = Field("answer", _Trusts, "once, always or never")


def milliseconds(seconds: float | None) -> int | UnsetType:
    """Return how long an answer is waited for, as both wires say it; UNSET if there is no end to that."""
    return UNSET if seconds is None else round(seconds * 1000)


def replies(answer: str, question: Field[str], request: Field[str], is_error: Field[bool]) -> Mapping[str, Row]:
    """Return what clients that were asked something may reply, by the names of the commands.

    `answer` is the dialect's name for the answer to a question. `question` and `request` are the ids of the question
    and of the tool request that a line is about, and `is_error` is the field of that meaning.
    """
    asked_for = must(request, "The id of the `tool_request`.")
    return table(
        row(
            answer,
            "Answer a question: with `value`, `confirmed` or `cancelled`, as its method wants.",
            _answered,
            must(question, "The id of the question."),
            may(_value, "What was chosen or written, for `select`, `input` and `editor`."),
            may(_confirmed, "Yes or no, for `confirm`."),
            may(_cancelled, "The question was dismissed."),
            may(_reason, "Why not, for the model to read, where a tool is asked about.", added=True),
            added=answer == "answer",
        ),
        row(
            "tool_response",
            "Return what came of a tool that the client was asked to run.",
            _returned,
            asked_for,
            may(_blocks, "The result, for the model to read."),
            may(is_error, "The tool failed."),
            may(_details, "For clients that show more than the model sees."),
            added=True,
        ),
        row(
            "tool_response_progress",
            "Tell what a tool that the client runs has printed since.",
            lambda request, text: ReportToolProgress(request, text or ""),
            asked_for,
            may(_text, "The new output."),
            added=True,
        ),
        row(
            "set_tools",
            "Declare the tools that the client runs, instead of those it declared before.",
            lambda tools: SetTools(tuple(each("tool", tools, _spec))),
            must(_tools, "The tools; an empty list takes them away."),
            added=True,
        ),
        row(
            "trust",
            "Say whether what the project brings may be used.",
            Trust,
            must(_trusts, "For as long as this process lives, for good, or never."),
            added=True,
        ),
    )


def _answered(
    question: str, value: str | None, confirmed: bool | None, cancelled: bool | None, reason: str | None
) -> Command:
    return AnswerQuestion(question, questions.Given(value, confirmed, cancelled or False, reason or ""))


def _returned(
    request: str, content: str | list[ContentBlock] | None, failed: bool | None, details: dict[str, Any] | None
) -> Command:
    return ReturnTool(request, questions.ToolReturned(_content(content), failed or False, details))


def _content(found: str | list[ContentBlock] | None) -> tuple[UserPart, ...]:
    """Return the content of a result, for the model to read. Nothing at all is a result too. Raises BadInput."""
    if found is None or found == "":
        return (Text("(no output)"),)
    if isinstance(found, str):
        return (Text(found),)
    return tuple(each("content", found, _part)) or (Text("(no output)"),)


def _part(block: ContentBlock) -> UserPart:
    match block.type:
        case "text":
            return Text(block.text)
        case "image":
            return image(block.data, block.mime_type)
        case _:
            raise BadInput(f'"{block.type}" is no type of content; send text or image')


def _spec(tool: DeclaredTool) -> ToolSpec:
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
