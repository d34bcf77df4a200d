"""A typed function as a tool: annotations, defaults and docstring are what the model reads, and what it is held to."""

import inspect
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import is_dataclass
from typing import Any, TypeVar, get_type_hints, overload

import msgspec

from linnet.core.cancel import Cancel
from linnet.core.images import image, sniffed
from linnet.core.messages import Image, Text, ToolCall, UserPart
from linnet.core.toolspec import ToolSpec
from linnet.errors import BadInput, Cancelled, ToolFailed
from linnet.tools.context import ToolContext
from linnet.tools.loop import Loop
from linnet.tools.spec import ToolOutput, described, schema_of

Function = TypeVar("Function", bound=Callable[..., Any])


class Context:
    """What a tool may ask for besides its arguments, by a parameter of this type."""

    def __init__(self, inner: ToolContext, call: ToolCall) -> None:
        self._inner = inner
        self.call_id = call.id

    @property
    def cwd(self) -> str:
        """The folder that is worked in."""
        return self._inner.cwd

    @property
    def cancelled(self) -> bool:
        """Whether the run was aborted. Look at it in loops, or call `check`."""
        return self._inner.cancel.is_set

    def check(self) -> None:
        """Raise Cancelled if the run was aborted."""
        self._inner.cancel.check()

    @property
    def cancel(self) -> Cancel:
        """For what blocks: `with context.cancel.interrupting(socket.close): …`, `context.cancel.sleep(1)`."""
        return self._inner.cancel

    def progress(self, text: str) -> None:
        """Show new output while the tool runs."""
        self._inner.progress(text)

    def confirm(self, title: str, message: str = "") -> bool:
        """Ask whoever drives the agent, and wait. No answer is no."""
        return self._inner.confirm(title, message)

    def select(self, title: str, options: Sequence[str]) -> str | None:
        """Ask for one of these, and wait. None if nobody chose."""
        return self._inner.select(title, tuple(options))

    def input(self, title: str, placeholder: str = "") -> str | None:
        """Ask for a line of text, and wait. None if nobody answered."""
        return self._inner.input(title, placeholder)


class FunctionTool:
    """A function that the model may call. Calling it calls the function, as if it were not a tool."""

    def __init__(
        self, function: Callable[..., Any], name: str = "", description: str = "", *, context: str = ""
    ) -> None:
        """`context` is the name of a parameter that gets what the tool may ask for, whatever its type says.

        Raises TypeError for a function whose parameters a model cannot be told of.
        """
        self._function = function
        self.is_async = inspect.iscoroutinefunction(function)
        self._context, self._args, self._whole = _parameters(function, context)
        self.spec = ToolSpec(
            name or function.__name__, description or described(function.__doc__ or ""), schema_of(self._args)
        )
        self.__doc__ = function.__doc__
        self.__name__ = self.spec.name

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._function(*args, **keywords)

    def run(self, args: dict[str, Any], context: Any, cancel: Cancel, loop: Loop) -> ToolOutput:
        """Raises ToolFailed for arguments that do not fit, Cancelled for an abort, and whatever the function does."""
        keywords = self._keywords(args)
        if self._context:
            keywords[self._context] = context
        if not self.is_async:
            return output(self._function(**keywords))
        return output(_awaited(lambda: self._function(**keywords), cancel, loop))

    def _keywords(self, args: dict[str, Any]) -> dict[str, Any]:
        try:
            checked = msgspec.convert(args, self._args, strict=False)
        except msgspec.ValidationError as error:
            raise ToolFailed(f"invalid args: {error}") from None
        if self._whole:
            return {self._whole: checked}
        return {name: getattr(checked, name) for name in checked.__struct_fields__}


class FunctionTools:
    """A toolset of functions."""

    def __init__(self, tools: Sequence[FunctionTool]) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._loop = Loop()

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        tool = self._tools[call.name]
        try:
            if call.unparsed:
                raise ToolFailed(f"invalid args: not a JSON object: {call.unparsed[:200]}")
            return tool.run(call.args, Context(context, call), context.cancel, self._loop)
        except Cancelled:
            raise
        except (ToolFailed, BadInput) as failure:
            return ToolOutput((Text(str(failure)),), is_error=True)
        except Exception as fault:
            context.cancel.check()  # What it raised because it was interrupted is no failure of its own.
            return ToolOutput((Text(f"{type(fault).__name__}: {fault}"),), is_error=True)

    def close(self) -> None:
        self._loop.close()


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
    """What a function returned, for the model to read: text, images, data, or several of these."""
    if isinstance(value, ToolOutput):
        return value
    parts = [part for each in value for part in _parts(each)] if isinstance(value, list | tuple) else _parts(value)
    if isinstance(value, list | tuple) and not any(isinstance(each, str | bytes | Image) for each in value):
        parts = _parts(msgspec.to_builtins(value)) if value else []
    return ToolOutput(tuple(parts) or (Text("(no output)"),))


def _parts(value: Any) -> list[UserPart]:
    match value:
        case None:
            return []
        case str():
            return [Text(value)] if value else []
        case Image():
            return [value]
        case bytes():
            return [_picture(value)]
        case _:
            return [Text(msgspec.json.encode(value, enc_hook=str).decode())]


def _picture(data: bytes) -> UserPart:
    from base64 import b64encode

    if sniffed(data[:16]):
        return image(b64encode(data).decode())
    return Text(data.decode("utf-8", "replace"))


def _parameters(function: Callable[..., Any], context_name: str = "") -> tuple[str, type[Any], str]:
    """The name of the context parameter; the arguments as one type; the name of the parameter that takes all of them,
    where the function wants them as one struct.
    """
    hints = get_type_hints(function, include_extras=True)
    context = ""
    fields: list[tuple[str, Any, Any] | tuple[str, Any]] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"{function.__name__}: a model cannot give {parameter}; name every parameter")
        kind = hints.get(name, Any)
        if kind is Context or (context_name and name == context_name):
            context = name
        elif parameter.default is parameter.empty:
            fields.append((name, kind))
        else:
            fields.append((name, kind, parameter.default))
    if len(fields) == 1 and _is_struct(fields[0][1]):
        return context, fields[0][1], fields[0][0]
    return context, msgspec.defstruct(function.__name__, fields, kw_only=True), ""


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or is_dataclass(kind))


def _awaited(work: Callable[[], Coroutine[Any, Any, Any]], cancel: Cancel, loop: Loop) -> Any:
    """The outcome of a coroutine that runs in the loop's thread; an abort cancels it."""
    from concurrent.futures import CancelledError

    future = loop.submit(work)

    def interrupt() -> None:
        future.cancel()

    with cancel.interrupting(interrupt):
        try:
            return future.result()
        except CancelledError:
            cancel.check()
            raise ToolFailed("the tool was cancelled") from None
