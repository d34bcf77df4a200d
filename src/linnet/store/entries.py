"""What a session file is made of: a header, then entries. Lines to entries and back, pure; files are not known here.

The messages in it are spelled as on pi's wire, so that pi can read what linnet wrote and the other way round. What a
line says beyond what is known here stays in the file, and goes along when lines are copied.
"""

from typing import Any, TypeAlias, TypeVar

from msgspec import UNSET, MsgspecError, Raw, Struct, UnsetType, convert, structs
from msgspec.json import Decoder, encode

from linnet.core import messages
from linnet.core.events import Compaction
from linnet.errors import BadInput
from linnet.wire.jsonl import decode_line, encode_lines
from linnet.wire.pi import frames, words
from linnet.wire.pi.messages import Spelled, Usage, message, parts, usage, whole

T = TypeVar("T")
VERSION = 3
MOVED = "linnet.moved"  # A custom entry of ours: the conversation went on from its parent.
RAN = "linnet.ran"  # Another: a command has run, and is going to be part of the conversation.
SPENT = "linnet.spent"  # Another: `usage` was paid for something that left nothing else behind.


class Header(Struct, frozen=True, tag_field="type", tag="session", rename="camel", omit_defaults=True):
    """`parent_session` is the file that this one came from."""

    id: str
    timestamp: str = ""
    cwd: str = ""
    parent_session: str | None = None
    version: int = 1


class Said(Struct, frozen=True):
    """Something that belongs to the conversation, whatever entry carries it."""

    message: messages.Message


class Compacted(Struct, frozen=True):
    result: Compaction


class ModelChanged(Struct, frozen=True):
    provider: str
    model: str


class ThinkingChanged(Struct, frozen=True):
    level: str


class Named(Struct, frozen=True):
    """An empty name takes it away."""

    name: str


class Labelled(Struct, frozen=True):
    """A bookmark on another entry; an empty label takes it away."""

    target: str
    label: str


class Custom(Struct, frozen=True):
    """What an extension keeps for itself, and what it paid for that."""

    kind: str
    data: Any
    usage: messages.Usage | None = None


class Ran(Struct, frozen=True):
    """A command that ended while the agent was at work. It is said when that is done; until then this keeps it."""

    run: messages.BashRun


class Unknown(Struct, frozen=True):
    """An entry of a later version, or one that cannot be understood. It stays where it is."""


Content: TypeAlias = Said | Compacted | ModelChanged | ThinkingChanged | Named | Labelled | Custom | Ran | Unknown


class Entry(Struct, frozen=True):
    """`type` is the file's word for it. `line` is what the file says, without its line end."""

    id: str
    parent: str | None
    time: str
    type: str
    content: Content
    line: bytes


class Glance(Struct, frozen=True, rename="camel", gc=False):
    """What can be seen of an entry's message without reading it."""

    role: str = ""
    usage: Usage | None = None
    provider: str = ""
    model: str = ""
    stop_reason: str = ""


class Line(Struct, frozen=True, rename="camel", gc=False):
    """What every line says of itself, and what an index wants to know."""

    type: str
    id: str = ""
    parent_id: str | None = None
    timestamp: str = ""
    version: int = 1
    message: Glance | None = None
    usage: Usage | None = None
    target_id: str = ""
    label: str | None = None
    name: str | None = None
    custom_type: str = ""


class _Place(Struct, frozen=True, rename="camel", gc=False):
    """What keeps an entry in the tree, whatever else it says."""

    type: str
    id: str = ""
    parent_id: str | None = None


class _Files(Struct, frozen=True, rename="camel"):
    read_files: tuple[str, ...] = ()
    modified_files: tuple[str, ...] = ()


class _SaidLine(Struct, frozen=True, gc=False):
    message: Spelled


class _Fields(Struct, frozen=True, rename="camel"):
    """Everything that an entry may say, unless it is a message."""

    provider: str = ""
    model_id: str = ""
    thinking_level: str = ""
    summary: str = ""
    first_kept_entry_id: str = ""
    tokens_before: float = 0
    from_id: str = ""
    name: str | None = None
    target_id: str = ""
    label: str | None = None
    custom_type: str = ""
    content: Raw = Raw(b'""')
    display: bool = True
    details: Any = None
    data: Any = None
    usage: Usage | None = None


class _Written(Struct, frozen=True, rename="camel", kw_only=True):
    """An entry as it is written: these fields in this order, then its own."""

    type: str
    id: str
    parent_id: str | None
    timestamp: str
    message: frames.Message | UnsetType = UNSET
    provider: str | UnsetType = UNSET
    model_id: str | UnsetType = UNSET
    thinking_level: str | UnsetType = UNSET
    summary: str | UnsetType = UNSET
    first_kept_entry_id: str | UnsetType = UNSET
    tokens_before: int | UnsetType = UNSET
    from_id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    target_id: str | UnsetType = UNSET
    label: str | UnsetType = UNSET
    custom_type: str | UnsetType = UNSET
    content: list[frames.UserBlock] | UnsetType = UNSET
    display: bool | UnsetType = UNSET
    data: Any = UNSET
    details: Any = UNSET
    usage: frames.Usage | UnsetType = UNSET


class _DiskWords(words.Words):
    """As on the wire, but a command's output keeps its colours, beside the words that pi shows."""

    def bash(self, run: messages.BashRun) -> frames.BashExecutionMessage:
        told = super().bash(run)
        return told if told.output == run.output else structs.replace(told, raw_output=run.output)

    def assistant(self, message: messages.AssistantMessage) -> frames.AssistantMessage:
        told = super().assistant(message)
        if not any(call.unparsed for call in message.calls):
            return told
        return structs.replace(told, content=[_whole(part) for part in message.content])


def _whole(part: messages.ReplyPart) -> frames.ReplyBlock:
    told = words.part(part)
    if isinstance(part, messages.ToolCall) and isinstance(told, frames.ToolCall):
        return structs.replace(told, unparsed=part.unparsed or UNSET)
    return told


_words = _DiskWords()
_header = Decoder(Header)
_line = Decoder(Line)
_place = Decoder(_Place)
_said = Decoder(_SaidLine)
_fields = Decoder(_Fields)
_files = Decoder(_Files)
_any = Decoder(Any)
_THEIRS = ("arguments", "details", "data")


def header(line: bytes) -> Header | None:
    """Nothing if it is no session's first line."""
    found = _decoded(_header, line)
    return found if found is not None and found.id else None


def header_line(header: Header) -> bytes:
    """In pi's order."""
    parent = {} if header.parent_session is None else {"parentSession": header.parent_session}
    fields = {"type": "session", "version": header.version, "id": header.id, "timestamp": header.timestamp}
    return _one_line({**fields, "cwd": header.cwd, **parent})


def glance(line: bytes) -> Line | None:
    """Nothing for what is no entry. One that says odd things keeps its place: others follow it."""
    seen = _decoded(_line, line)
    if seen is None and (place := _decoded(_place, line)) is not None:
        return Line(place.type, place.id, place.parent_id)
    return seen


def entry(line: bytes, at: Line) -> Entry:
    """The whole of it. Whatever cannot be understood is Unknown, and never an error."""
    content: Content = Unknown()
    if at.type == "message":
        spelled = _decoded(_said, line)
        said = None if spelled is None else message(spelled.message)
        content = Unknown() if said is None else Said(said)
    else:
        fields = _decoded(_fields, line)
        content = Unknown() if fields is None else _content(at, fields)
    return Entry(at.id, at.parent_id, at.timestamp, at.type, content, line)


def entry_line(id: str, parent: str | None, time: str, content: Content) -> bytes:
    return _one_line(_written(id, parent, time, content))


def _content(at: Line, fields: _Fields) -> Content:
    match at.type:
        case "compaction":
            return Compacted(_compaction(at, fields))
        case "branch_summary":
            time = milliseconds(at.timestamp)
            return Said(messages.BranchSummary(fields.summary, fields.from_id, time))
        case "custom_message":
            time = milliseconds(at.timestamp)
            return Said(messages.Note(fields.custom_type, _parts(fields), time, fields.display, fields.details))
        case "model_change" if fields.provider and fields.model_id:
            return ModelChanged(fields.provider, fields.model_id)
        case "thinking_level_change" if fields.thinking_level:
            return ThinkingChanged(fields.thinking_level)
        case "session_info":
            return Named(fields.name or "")
        case "label":
            return Labelled(fields.target_id, fields.label or "")
        case "custom" if fields.custom_type == RAN:
            return _ran(fields)
        case "custom":
            return Custom(fields.custom_type, fields.data, None if fields.usage is None else usage(fields.usage))
        case _:
            return Unknown()


def _ran(fields: _Fields) -> Content:
    try:
        said = message(convert(fields.data, Spelled))
    except MsgspecError:
        return Unknown()
    return Ran(said) if isinstance(said, messages.BashRun) else Unknown()


def _parts(fields: _Fields) -> tuple[messages.UserPart, ...]:
    try:
        return parts(fields.content)
    except MsgspecError:
        return ()


def _compaction(at: Line, fields: _Fields) -> Compaction:
    try:
        files = _files.decode(encode(fields.details))
    except MsgspecError:
        files = _Files()
    summary = messages.Summary(fields.summary, whole(fields.tokens_before), milliseconds(at.timestamp))
    spent = usage(fields.usage)
    return Compaction(summary, 0, fields.first_kept_entry_id, files.read_files, files.modified_files, spent)


def _written(id: str, parent: str | None, time: str, content: Content) -> _Written:
    def entry(type: str, **fields: Any) -> _Written:
        return _Written(type=type, id=id, parent_id=parent, timestamp=time, **fields)

    match content:
        case Said(messages.BranchSummary(text, from_id)):
            return entry("branch_summary", from_id=from_id, summary=text)
        case Said(messages.Note(kind, said, _, display, details)):
            told = UNSET if details is None else details
            return entry("custom_message", custom_type=kind, content=words.blocks(said), display=display, details=told)
        case Said(said):
            return entry("message", message=_words.message(said))
        case Compacted(result):
            details = frames.Files(result.read_files, result.modified_files)
            return entry(
                "compaction",
                summary=result.summary.text,
                first_kept_entry_id=result.first_kept,
                tokens_before=result.summary.tokens_before,
                details=details,
                usage=_words.usage(result.total),
            )
        case ModelChanged(provider, model):
            return entry("model_change", provider=provider, model_id=model)
        case ThinkingChanged(level):
            return entry("thinking_level_change", thinking_level=level)
        case Named(name):
            return entry("session_info", name=name)
        case Labelled(target, label):
            return entry("label", target_id=target, label=label or UNSET)
        case Custom(kind, data, paid):
            kept = UNSET if data is None else data
            return entry("custom", custom_type=kind, data=kept, usage=UNSET if paid is None else _words.usage(paid))
        case Ran(run):
            return entry("custom", custom_type=RAN, data=_words.bash(run))
        case Unknown():
            raise ValueError("what is not known cannot be written anew")


def _one_line(value: Any) -> bytes:
    return encode_lines([value])[:-1]


def _decoded(decoder: Decoder[T], line: bytes) -> T | None:
    try:
        return decode_line(decoder, line)
    except BadInput:
        return _decoded_without_nulls(decoder, line) if b"null" in line else None


def _decoded_without_nulls(decoder: Decoder[T], line: bytes) -> T | None:
    """Some programs write null for what is not there."""
    try:
        return decoder.decode(encode(_without_nulls(decode_line(_any, line))))
    except (BadInput, MsgspecError, RecursionError):
        return None


def _without_nulls(value: Any) -> Any:
    """What belongs to tools and extensions stays as it is."""
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: each if key in _THEIRS else _without_nulls(each) for key, each in value.items() if each is not None}


def milliseconds(stamp: str) -> int:
    """Since 1970; zero for what is no time."""
    from datetime import datetime

    try:
        return round(datetime.fromisoformat(stamp).timestamp() * 1000)
    except ValueError:
        return 0
