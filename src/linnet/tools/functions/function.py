"""Makes a tool of a typed function: annotations and defaults become its schema, the docstring its description."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from functools import partial
from typing import Any, get_type_hints, overload

import msgspec

from linnet.concurrency.foreign import Foreign
from linnet.core.images import checked_image, image, sniffed
from linnet.core.json import typed
from linnet.core.messages import Image, Text, ToolCall, UserPart
from linnet.core.toolspec import ToolSpec, name_problem
from linnet.decoding import converted
from linnet.errors import BadInput, Cancelled, ToolFailed, ToolNotRun
from linnet.tools.context import ToolContext
from linnet.tools.functions.call_context import AnyContext, AsyncContext, Context, Given
from linnet.tools.functions.shorten import shortened
from linnet.tools.spec import ToolOutput, check_args, described, failed, schema_of


class FunctionTool:
    """A function that the model may call. Calling it calls the function, as if it were not a tool."""

    def __init__(
        self, function: Callable[..., Any], name: str = "", description: str = "", *, context: str = ""
    ) -> None:
        """`context` is the name of a parameter that is given a context, whatever its type says.

        Raises TypeError for a function whose name or parameters a model cannot be told of.
        """
        if not inspect.isroutine(function):
            raise TypeError(f"@tool goes on a function, not on {function!r}")
        self._function = function
        self.is_async = inspect.iscoroutinefunction(function)
        self.owner = f"the function {function.__module__}.{function.__qualname__}"
        self._context, self._context_type, self._args, self._whole = _parameters(function, context)
        if problem := name_problem(name or function.__name__):
            raise TypeError(f"{problem}; give it one with @tool(name=…)")
        self.spec = ToolSpec(
            name or function.__name__, description or described(function.__doc__ or ""), schema_of(self._args)
        )
        self.__doc__ = function.__doc__
        self.__name__ = self.spec.name

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call the function itself."""
        return self._function(*args, **keywords)

    def run(self, args: dict[str, Any], given: Given) -> ToolOutput:
        """Call the function and return its output.

        Raises ToolFailed for arguments that do not fit, Cancelled for an abort, and whatever the function does.
        """
        keywords = self._keywords(args, lambda: self._context_type(given))
        given.inner.begin()  # After the check: what has bad arguments has done nothing.
        return output(given.foreign.call(self._function, given.inner.cancel, **keywords))

    def bound(self, args: dict[str, Any], context: object) -> Callable[[], Any]:
        """Return the function with these arguments, for somebody else to call. Raises ToolFailed if they do not fit."""
        return partial(self._function, **self._keywords(args, lambda: context))

    def _keywords(self, args: dict[str, Any], context: Callable[[], object]) -> dict[str, Any]:
        """Return what the function is called with. Raises ToolFailed for arguments that do not fit."""
        try:
            checked = converted(args, self._args, strict=False, dec_hook=typed.dec_hook)
        except msgspec.ValidationError as error:
            raise ToolNotRun(f"invalid args: {error}") from None
        given = {self._context: context()} if self._context else {}
        if self._whole:
            return {self._whole: checked, **given}
        return {**{name: getattr(checked, name) for name in checked.__struct_fields__}, **given}


class FunctionTools:
    """A toolset of functions."""

    def __init__(self, tools: Sequence[FunctionTool], foreign: Foreign) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._foreign = foreign

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools, in the order in which they were given."""
        return tuple(tool.spec for tool in self._tools.values())

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Call the function and return its output, or what it raised as output for the model. Raises only Cancelled."""
        tool = self._tools[call.name]
        given = Given(context, call, self._foreign)
        try:
            check_args(call)
            return tool.run(call.args, given)
        except Cancelled:
            raise
        except (ToolFailed, BadInput) as failure:
            return failed(failure)
        except Exception as fault:
            context.cancel.check()  # What it raised because it was interrupted is no failure of its own.
            return failed(f"{type(fault).__name__}: {fault}")
        finally:
            given.end()


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...


@overload
def tool(*, name: str = "", description: str = "") -> Callable[[Callable[..., Any]], FunctionTool]: ...


def tool(
    function: Callable[..., Any] | None = None, /, *, name: str = "", description: str = ""
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a tool of a function, by `@tool` or `@tool(name=…, description=…)`."""
    if function is not None:
        return FunctionTool(function)
    return lambda decorated: FunctionTool(decorated, name, description)


def output(value: Any) -> ToolOutput:
    """Return what a function returned as output for the model: text, images, data, or several of these.

    Raises ToolFailed for an image that cannot be sent.
    """
    if isinstance(value, ToolOutput):
        return value
    parts = [part for each in value for part in _parts(each)] if isinstance(value, list | tuple) else _parts(value)
    if isinstance(value, list | tuple) and not any(isinstance(each, str | bytes | Image) for each in value):
        parts = _parts(msgspec.to_builtins(value, enc_hook=typed.enc_hook)) if value else []
    return ToolOutput(shortened(parts) or (Text("(no output)"),))


def _parts(value: Any) -> list[UserPart]:
    """Return the parts that one value becomes; data becomes JSON."""
    match value:
        case None:
            return []
        case str():
            return [Text(value)] if value else []
        case Image():
            return [_sendable(value)]
        case bytes():
            return [_picture(value)]
        case _:
            return [Text(msgspec.json.encode(value, enc_hook=typed.enc_hook).decode())]


def _sendable(value: Image) -> Image:
    """Return the image. Raises ToolFailed if it cannot be sent."""
    try:
        return checked_image(value)
    except BadInput as error:
        raise ToolFailed(f"the tool returned an image that cannot be sent: {error}") from None


def _picture(data: bytes) -> UserPart:
    """Return bytes as an image, if they are one, or as text."""
    from base64 import b64encode

    if sniffed(data[:16]):
        return image(b64encode(data).decode())
    return Text(data.decode("utf-8", "replace"))


def _parameters(function: Callable[..., Any], context_name: str = "") -> tuple[str, type[AnyContext], type[Any], str]:
    """Return the name of the context parameter, and its type; the arguments as one type; and the name of the parameter
    that takes all of them, where the function wants them as one struct. Raises TypeError.
    """
    hints = get_type_hints(function, include_extras=True)
    context = ""
    context_type: type[AnyContext] = Context
    fields: list[tuple[str, Any, Any] | tuple[str, Any]] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{function.__name__}: a model cannot give {parameter}; name every parameter")
        kind = hints.get(name, Any)
        if kind in (Context, AsyncContext):
            context, context_type = name, kind
        elif context_name and name == context_name:
            context = name
        elif parameter.default is parameter.empty:
            fields.append((name, kind))
        else:
            fields.append((name, kind, parameter.default))
    if len(fields) == 1 and _is_struct(fields[0][1]):
        return context, context_type, fields[0][1], fields[0][0]
    return context, context_type, msgspec.defstruct(function.__name__, fields, kw_only=True), ""


def _is_struct(kind: Any) -> bool:
    """Return whether a type has fields, which can be the arguments of a call."""
    if typed.is_model(kind):
        return bool(typed.schema_hook(kind).get("type") == "object")
    return isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or is_dataclass(kind))
