"""The file of a recording: JSON lines that say what was asked of models, what they streamed and how that ended. Pure.

The first line is the header. A call has one line `asked`, a line `streamed` for each batch, and one line `ended`. What
a line `asked` does not say is as in the call before it, so that the file grows with what a run adds. Calls may overlap.
"""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Literal, TypeAlias, TypeVar, cast, get_args

from msgspec import MsgspecError, Struct, ValidationError, to_builtins
from msgspec.json import encode
from msgspec.structs import astuple, replace

from linnet.core.context.history import Sendable
from linnet.core.deltas import Delta
from linnet.core.json.checked import explained
from linnet.core.json.position import spelled
from linnet.core.messages import AssistantMessage, Image, ReplyPart, ToolResult, UserPart
from linnet.core.models import NOTHING, Model
from linnet.core.toolspec import ToolSpec
from linnet.decoding import converted, decoder_of
from linnet.errors import ConfigError
from linnet.providers import body

FORMAT = 1
T = TypeVar("T", bound=Struct)
Part: TypeAlias = UserPart | ReplyPart
Written: TypeAlias = dict[str, Any]
"""A model as it is written."""
_DELTAS: dict[str, type[Delta]] = {kind.__name__: kind for kind in get_args(Delta)}


class Tool(Struct, frozen=True, array_like=True):
    """A tool that the model was offered."""

    name: str
    digest: str  # Of its description and its schema.


class Message(Struct, frozen=True, omit_defaults=True):
    """A message as the model is shown it: without times, costs and what only clients see. Images are digests."""

    role: Literal["user", "assistant", "tool"]
    content: tuple[Part, ...]
    call_id: str = ""
    name: str = ""
    is_error: bool = False


class Header(Struct, frozen=True, tag_field="line", tag="recording"):
    """The first line."""

    format: int
    linnet: str  # The version that wrote it.
    cwd: str
    home: str  # The folder of what is the user's own.
    model: Written  # The one that was chosen as the process began.


class Asked(Struct, frozen=True, tag_field="line", tag="asked", omit_defaults=True):
    """A model was asked. The messages follow the first `kept` ones of the call before; None means the same as there."""

    call: int
    kept: int
    messages: tuple[Message, ...]
    model: Written | None = None
    reasoning: str | None = None
    system: str | None = None
    tools: tuple[Tool, ...] | None = None


class Streamed(Struct, frozen=True, tag_field="line", tag="streamed"):
    """A batch of deltas came, so many milliseconds after the model was asked."""

    call: int
    ms: int
    deltas: list[list[Any]]  # The name of the delta, then its fields.


class Ended(Struct, frozen=True, tag_field="line", tag="ended", omit_defaults=True):
    """The reply ended. `code` is that of the error, if it failed."""

    call: int
    ms: int
    how: Literal["complete", "failed", "aborted"]
    code: str = ""
    sentence: str = ""
    status: int | None = None
    retry_after: float | None = None


Line: TypeAlias = Header | Asked | Streamed | Ended


class Question(Struct, frozen=True):
    """All that a model is asked with one call."""

    model: Model
    reasoning: str
    system: str
    tools: tuple[Tool, ...]
    messages: Sequence[Message]


class Batch(Struct, frozen=True):
    """The deltas that came at once."""

    ms: int
    deltas: list[Delta]


class Call(Struct):
    """One call of a recording."""

    number: int
    model: Model
    reasoning: str
    system: str
    tools: tuple[Tool, ...]
    kept: int  # So many of the messages are those of the call before.
    added: tuple[Message, ...]
    began: int  # The number of its first line.
    batches: list[Batch]
    ended: Ended | None = None  # None if the file ends before it did.
    over: float = float("inf")  # The number of its last line.


class Recording(Struct, frozen=True):
    """A file that was read, and found to be whole but for its end."""

    file: str
    cwd: str
    home: str
    model: Model
    calls: list[Call]

    @property
    def models(self) -> list[Model]:
        """Return the models that were chosen or asked, each once, the first one first."""
        found: dict[tuple[str, str], Model] = {}
        for model in (self.model, *(call.model for call in self.calls)):
            found.setdefault((model.provider, model.id), model)
        return list(found.values())


def written(line: Line) -> bytes:
    """Return a line of the file, with its end. Halves of surrogate pairs are mended."""
    try:
        return encode(line) + b"\n"
    except UnicodeEncodeError:
        return body.encode(to_builtins(line)) + b"\n"


def row(delta: Delta) -> list[Any]:
    """Return a delta as it is written."""
    return [type(delta).__name__, *astuple(delta)]


def delta(row: list[Any]) -> Delta:
    """Return the delta that was written so. Raises ValueError."""
    name, *values = row or [None]
    kind = _DELTAS.get(name) if isinstance(name, str) else None
    if kind is None or len(values) > len(kind.__struct_fields__):
        raise ValueError(f"{encode(row).decode()} is no delta")
    try:
        return converted(dict(zip(kind.__struct_fields__, values, strict=False)), kind)
    except ValidationError as error:
        raise ValueError(f"{encode(row).decode()} is no delta: {error}") from None


def tool(spec: ToolSpec) -> Tool:
    """Return a tool as it is written."""
    return Tool(spec.name, _digest(body.encode([spec.description, spec.schema])))


def model(asked: Model) -> Written:
    """Return a model as it is written: without its headers, which let requests in and which nobody plays."""
    return cast(Written, to_builtins(replace(asked, headers=NOTHING)))


def bare(message: Sendable) -> Message:
    """Return a message as it is written."""
    content = tuple([_small(part) if isinstance(part, Image) else part for part in message.content])
    if isinstance(message, ToolResult):
        return Message("tool", content, message.call_id, message.name, message.is_error)
    return Message("assistant" if isinstance(message, AssistantMessage) else "user", content)


def parse(data: bytes, file: str) -> Recording:
    """Return the recording that is in a file. What was being written as a process was killed, a last line without its
    end, does not count. Raises ConfigError with the line that cannot be used.
    """
    calls: list[Call] = []
    messages = 0  # Of the last call.
    lines = _lines(data, file)
    number, first = next(lines, (1, None))
    if not isinstance(first, Header):
        raise ConfigError(f"{file}:{number}: is not a recording of linnet; its first line is another one")
    if first.format != FORMAT:
        raise ConfigError(f"{file}:1: the format is {first.format}, and this linnet knows {FORMAT}; record it again")
    for number, line in lines:
        if isinstance(line, Asked):
            if line.call != len(calls) + 1 or not 0 <= line.kept <= messages:
                raise ConfigError(f"{file}:{number}: call {line.call} does not follow what is before it")
            messages = line.kept + len(line.messages)
            calls.append(_call(line, calls, number, file))
            continue
        call = calls[line.call - 1] if isinstance(line, Streamed | Ended) and 0 < line.call <= len(calls) else None
        if call is None or call.ended is not None or isinstance(line, Header):
            raise ConfigError(f"{file}:{number}: belongs to no call that goes on there")
        if isinstance(line, Streamed):
            try:
                call.batches.append(Batch(line.ms, [delta(each) for each in line.deltas]))
            except ValueError as error:
                raise ConfigError(f"{file}:{number}: {error}") from None
        else:
            call.ended, call.over = line, number
    return Recording(file, first.cwd, first.home, _model(first.model, f"{file}:1"), calls)


def _lines(data: bytes, file: str) -> Iterator[tuple[int, Line]]:
    decoder = decoder_of(Line)
    for number, text in enumerate(data.split(b"\n")[:-1], 1):
        try:
            yield number, decoder.decode(text)
        except (MsgspecError, UnicodeError, RecursionError) as error:
            found = explained(text, Line, error)
            key = f"{spelled(found.path)}: " if found.path else ""
            raise ConfigError(f"{file}:{number}: {key}{found.problem}") from None


def _call(line: Asked, calls: Sequence[Call], number: int, file: str) -> Call:
    """Return the call that a line begins, with what it leaves to the call before. Raises ConfigError."""
    names = ("model", "reasoning", "system", "tools")
    before = calls[-1] if calls else None
    said: dict[str, Any] = {name: getattr(line, name) for name in names}
    if line.model is not None:
        said["model"] = _model(line.model, f"{file}:{number}")
    said |= {name: getattr(before, name, None) for name, value in said.items() if value is None}
    if lacking := [name for name, value in said.items() if value is None]:
        raise ConfigError(f"{file}:{number}: the first call says nothing of its {lacking[0]}")
    return Call(number=line.call, **said, kept=line.kept, added=line.messages, began=number, batches=[])


def _model(written: Written, where: str) -> Model:
    """Return a model that was written. Raises ConfigError."""
    try:
        return _to_the_digit(converted(written, Model), written)
    except ValidationError as error:
        raise ConfigError(f"{where}: model: {error}") from None


def _to_the_digit(made: T, written: Written) -> T:
    """Return the same with whole numbers where some were written: protocols print a price of 2 otherwise than 2.0."""
    values: dict[str, Any] = {}
    for name, was in written.items():
        value = getattr(made, name, None)
        if isinstance(value, Struct) and isinstance(was, dict):
            values[name] = _to_the_digit(value, was)
        elif isinstance(value, float) and isinstance(was, int):
            values[name] = was
    return replace(made, **values)


def _small(image: Image) -> Image:
    return Image(image.mime_type, _digest(image.data.encode()) if image.data else "", image.url)


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:12]
