"""Makes a tool of a function that takes a struct, whose type is the schema for the model and checks the arguments."""

from collections.abc import Callable
from textwrap import dedent
from typing import Any, Generic, TypeVar

import msgspec

from linnet.core.messages import Text, ToolCall, UserPart
from linnet.core.toolspec import ToolSpec
from linnet.decoding import converted, schema_components
from linnet.errors import ToolNotRun
from linnet.tools.context import ToolContext

Args = TypeVar("Args", bound=msgspec.Struct)


class ToolOutput(msgspec.Struct, frozen=True):
    """What a tool returns."""

    content: tuple[UserPart, ...]
    """What the model reads."""
    is_error: bool = False
    """Whether it is bad news, such as a command's non-zero exit."""
    details: dict[str, Any] | None = None
    """What only clients are sent."""
    ends_run: bool = False
    """Whether the model need not be asked again: if all results of a step say so, the run ends with it."""
    ran: bool = True
    """Whether anything was run. Calls of unknown tools, with wrong arguments, and refused ones are only answered."""


def failed(failure: Exception | str) -> ToolOutput:
    """Return a sentence as the output of a call that failed."""
    return ToolOutput((Text(str(failure)),), is_error=True, ran=not isinstance(failure, ToolNotRun))


class Tool(Generic[Args]):
    """A function that the model can call, with its spec."""

    def __init__(
        self,
        args: type[Args],
        body: Callable[[Args, ToolContext], str | ToolOutput],
        understood: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    ) -> None:
        """`understood` turns other spellings of the arguments into the one that the schema tells of."""
        self.spec = ToolSpec(body.__name__, described(body.__doc__ or ""), schema_of(args))
        self._args = args
        self._body = body
        self._understood = understood

    def run(self, args: dict[str, Any], context: ToolContext) -> ToolOutput:
        """Check the arguments, call the function, and return what it returns. Raises ToolFailed and Cancelled."""
        output = self._body(self.parse(args), context)
        return ToolOutput((Text(output),)) if isinstance(output, str) else output

    def parse(self, args: dict[str, Any]) -> Args:
        """Return the arguments, checked. Raises ToolFailed."""
        args = self._understood(args)
        try:
            return converted(args, self._args)
        except msgspec.ValidationError as error:
            problem = error
        except RecursionError:
            raise ToolNotRun("invalid args: they are nested too deeply") from None
        try:
            # Models write "2" for 2 now and then. Tried second, so that it never changes what is right as it is.
            return converted(args, self._args, strict=False)
        except msgspec.ValidationError:
            raise ToolNotRun(f"invalid args: {problem}") from None


def tool(
    args: type[Args], understood: Callable[[dict[str, Any]], dict[str, Any]] = dict
) -> Callable[[Callable[[Args, ToolContext], str | ToolOutput]], Tool[Args]]:
    """Return a decorator that makes a Tool of a function, whose name and docstring the model reads."""
    return lambda body: Tool(args, body, understood)


def check_args(call: ToolCall) -> None:
    """Raise ToolFailed if what the model wrote was no JSON object: a call must not run with arguments left out."""
    if call.unparsed:
        raise ToolNotRun(f"invalid args: not a JSON object: {call.unparsed[:200]}")


def described(docstring: str) -> str:
    """Return the docstring as the model reads it, without the indentation of the code."""
    first, _, rest = docstring.partition("\n")  # `inspect` does the same, after 6 ms of imports.
    return f"{first}\n{dedent(rest)}".strip()


def schema_of(args: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a type without references and titles: vendors differ in what they make of those.

    Raises TypeError for a type that has none.
    """
    (schema,), components = schema_components([args], ref_template="{name}", schema_hook=_foreign_schema)

    def inline(node: Any) -> Any:
        if isinstance(node, dict):
            if "$ref" in node:
                return inline(components[node["$ref"]])
            inlined = {key: inline(each) for key, each in node.items() if key != "title" or not isinstance(each, str)}
            return _without_null(inlined)
        if isinstance(node, list):
            return [inline(item) for item in node]
        return node

    try:
        inlined: dict[str, Any] = inline(schema)
    except RecursionError:
        raise TypeError(f"{args.__name__} refers to itself, which a model cannot be told of") from None
    return inlined


def _foreign_schema(kind: type) -> dict[str, Any]:
    """Return the schema of a type that msgspec does not know."""
    from linnet.core.json.typed import schema_hook  # None of linnet's own tools needs it.

    return schema_hook(kind)


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field without null: such a field may be left out, and `required` says that already."""
    match node:
        case {"anyOf": [dict(kind), {"type": "null"}], **rest}:
            return {key: value for key, value in (rest | kind).items() if (key, value) != ("default", None)}
        case _:
            return node
