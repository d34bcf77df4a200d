"""Decodes lines of a session file into entries, and encodes entries as lines.

What a line says beyond what is known stays in the file, and goes along when lines are copied.
"""

from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET, MsgspecError, Struct, UnsetType
from msgspec.json import Decoder, encode

from linnet.core import messages
from linnet.core.events import Compaction
from linnet.core.session_info import SessionFormat
from linnet.core.text.timestamps import milliseconds
from linnet.decoding import converted, decoder_of
from linnet.errors import BadInput
from linnet.store.entries import (
    MOVED,
    RAN,
    SPENT,
    BranchSummaryEntry,
    Compacted,
    CompactionEntry,
    Content,
    ContextEditEntry,
    Custom,
    CustomEntry,
    CustomMessageEntry,
    Edited,
    Entry,
    LabelEntry,
    Labelled,
    MessageEntry,
    ModelChanged,
    ModelChangeEntry,
    Moved,
    Named,
    Ran,
    ReadEntry,
    Said,
    SessionInfoEntry,
    Spent,
    ThinkingChanged,
    ThinkingLevelChangeEntry,
    Unknown,
    UsageEntry,
)
from linnet.wire.jsonl import decode_line, encode_lines
from linnet.wire.pi.from_pi import Spelled, SpelledUsage, message, rounded, usage, user_parts

if TYPE_CHECKING:
    from linnet.store.entries import WrittenEntry

T = TypeVar("T")


class MessageGlance(Struct, frozen=True, rename="camel", gc=False):
    """What an index needs to know of an entry's message."""

    role: str = ""
    usage: SpelledUsage | None = None
    provider: str = ""
    model: str = ""
    stop_reason: str = ""


class Glance(Struct, frozen=True, rename="camel", gc=False):
    """What an index needs to know of an entry, whatever its type. Reading no more makes long sessions open sooner."""

    type: str
    id: str = ""
    parent_id: str | None = None
    timestamp: str = ""
    version: int = 1
    message: MessageGlance | None = None
    usage: SpelledUsage | None = None
    target_id: str = ""
    label: str | None = None
    name: str | None = None
    custom_type: str = ""


class _Place(Struct, frozen=True, rename="camel", gc=False):
    """What gives an entry its place in the tree."""

    type: str
    id: str = ""
    parent_id: str | None = None


class _Kind(Struct, frozen=True, gc=False):
    type: str = ""


class _Parts(Struct, frozen=True, gc=False):
    content: list[_Kind] | str = ""


class _SaidParts(Struct, frozen=True, gc=False):
    message: _Parts


class _Files(Struct, frozen=True, rename="camel"):
    read_files: tuple[str, ...] = ()
    modified_files: tuple[str, ...] = ()


_glance = decoder_of(Glance)
_place = decoder_of(_Place)
_any = decoder_of(Any)
_first, _last = itemgetter(0), itemgetter(-1)
_OF_OTHERS = ("arguments", "details", "data")  # Fields that tools and extensions fill.


def glance(line: bytes) -> Glance | None:
    """Return the glance of a line; None for what is no entry. One with odd fields is an entry all the same: others may
    follow it.
    """
    seen = decoded(_glance, line)
    if seen is None and (place := decoded(_place, line)) is not None:
        return Glance(place.type, place.id, place.parent_id)
    return seen


def glances(text: bytes, lines: Sequence[bytes]) -> Sequence[Glance | None]:
    """Return the glance of each line of a text, as `glance` does, but faster if all of them are well-formed."""
    # No JSON goes on from a line that ends with } to one that begins with {: if all do, and there are as many values as
    # lines, then there is one in each.
    if all(lines) and set(map(_first, lines)) == {0x7B} and set(map(_last, lines)) == {0x7D} and _is_utf8(text):
        try:
            found = _glance.decode_lines(text)
        except (MsgspecError, RecursionError):
            pass
        else:
            if len(found) == len(lines):
                return found
    return [glance(line) for line in lines]


def entry(line: bytes, at: Glance) -> Entry:
    """Return the entry of a line, of which `at` is the glance. Unknown stands for whatever cannot be understood."""
    found = decoded(_entries(), line)
    content = Unknown() if found is None else _content(found, at.timestamp)
    return Entry(at.id, at.parent_id, at.timestamp, at.type, content, line)


def content_of(line: bytes, id: str, stamp: str) -> Content | None:
    """Return what the entry with this id and this time says; None if the line is another entry's."""
    found = decoded(_entries(), line)
    if found is not None:
        return _content(found, stamp) if found.id == id else None
    seen = glance(line)
    return Unknown() if seen is not None and seen.id == id else None


def entry_line(id: str, parent: str | None, time: str, content: Content, format: SessionFormat = "0.73") -> bytes:
    """Return the line of a new entry, without a line end. Raises ValueError for Unknown, and for an edit that replaces
    what an entry said.
    """
    return one_line(_written(id, parent, time, content, format))


def calls_in(line: bytes) -> int:
    """Return how many tools the reply in this line calls."""
    found = decoded(decoder_of(_SaidParts), line)
    parts = found.message.content if found is not None else ""
    return 0 if isinstance(parts, str) else sum(part.type == "toolCall" for part in parts)


def one_line(value: Any) -> bytes:
    """Return any value as a line of JSON, without a line end."""
    return encode_lines([value])[:-1]


def decoded(decoder: Decoder[T], line: bytes) -> T | None:
    """Return the value of a line; None for what the decoder does not take, even where nulls count as absent."""
    try:
        return decode_line(decoder, line)
    except BadInput:
        return _decoded_without_nulls(decoder, line) if b"null" in line else None


def _is_utf8(text: bytes) -> bool:
    try:
        return text.isascii() or bool(text.decode())
    except UnicodeDecodeError:
        return False


@cache
def _entries() -> Decoder[ReadEntry]:
    return decoder_of(ReadEntry)  # 0.7 ms that a new session, in which there is nothing to read, should not pay.


def _content(found: ReadEntry, stamp: str) -> Content:
    match found:
        case MessageEntry(message=spelled):
            said = message(spelled)
            return Unknown() if said is None else Said(said)
        case CompactionEntry():
            return Compacted(_compaction(found, stamp))
        case ContextEditEntry(target_id=target, replacement=replacement):
            return Edited(target, None if replacement is None else replacement.content)
        case UsageEntry(kind=kind, provider=provider, model=model):
            return Spent(usage(found.usage), kind, provider, model)
        case BranchSummaryEntry(summary=summary, from_id=from_id):
            return Said(messages.BranchSummary(summary, from_id, milliseconds(stamp)))
        case CustomMessageEntry(custom_type=kind, content=content, display=display, details=details):
            parts = user_parts(_present(content) or "")
            return Said(messages.Note(kind, parts, milliseconds(stamp), display, _present(details)))
        case ModelChangeEntry(provider=provider, model_id=model):
            return ModelChanged(provider, model)
        case ThinkingLevelChangeEntry(thinking_level=level):
            return ThinkingChanged(level)
        case SessionInfoEntry(name=name):
            return Named(name or "")
        case LabelEntry(target_id=target, label=label):
            return Labelled(target, _present(label) or "")
        case CustomEntry():
            return _custom(found)


def _custom(found: CustomEntry[SpelledUsage]) -> Content:
    paid = _present(found.usage)
    if found.custom_type == MOVED:
        return Moved()
    if found.custom_type == RAN:
        return _ran(found.data)
    if found.custom_type == SPENT:
        return Spent(usage(paid))
    return Custom(found.custom_type, _present(found.data), None if paid is None else usage(paid))


def _ran(data: Any) -> Content:
    try:
        said = message(converted(data, Spelled))
    except MsgspecError:
        return Unknown()
    return Ran(said) if isinstance(said, messages.BashRun) else Unknown()


def _compaction(found: CompactionEntry[SpelledUsage], stamp: str) -> Compaction:
    try:
        files = converted(found.details, _Files)
    except MsgspecError:
        files = _Files()
    summary = messages.Summary(found.summary, rounded(found.tokens_before), milliseconds(stamp))
    total = usage(found.usage)
    return Compaction(
        summary,
        0,
        found.first_kept_entry_id,
        files.read_files,
        files.modified_files,
        total,
        _system(found.system_message),
        total,
        by_extension=_present(found.from_hook) or False,
    )


def _system(spelled: Any) -> messages.SystemMessage | None:
    if not isinstance(spelled, dict):
        return None
    try:
        said = message(converted(spelled, Spelled))
    except MsgspecError:
        return None
    return said if isinstance(said, messages.SystemMessage) else None


def _written(id: str, parent: str | None, time: str, content: Content, format: SessionFormat) -> "WrittenEntry":
    at: Any = {"id": id, "parent_id": parent, "timestamp": time}
    match content:
        case ModelChanged(provider, model):
            return ModelChangeEntry(**at, provider=provider, model_id=model)
        case ThinkingChanged(level):
            return ThinkingLevelChangeEntry(**at, thinking_level=level)
        case Named(name):
            return SessionInfoEntry(**at, name=name)
        case Labelled(target, label):
            return LabelEntry(**at, target_id=target, label=label or UNSET)
        case Moved():
            return CustomEntry(**at, custom_type=MOVED)
        case Edited(target, None):
            return ContextEditEntry(**at, target_id=target, replacement=None)
        case Unknown() | Edited():
            raise ValueError("what is not known cannot be written anew")
        case _:
            return _spelled(at, content, format)


def _spelled(at: Any, content: Said | Compacted | Ran | Spent | Custom, format: SessionFormat) -> "WrittenEntry":
    from linnet.store import words  # A new session says nothing yet.

    spelling = words.WORDS[format]
    match content:
        case Said(messages.BranchSummary(text, from_id)):
            return BranchSummaryEntry(**at, summary=text, from_id=from_id)
        case Said(messages.Note(kind, said, _, display, details)):
            told = words.blocks(said)
            return CustomMessageEntry(**at, custom_type=kind, content=told, display=display, details=_filled(details))
        case Said(said):
            return MessageEntry(**at, message=spelling.message(said))
        case Compacted(result):
            return CompactionEntry(
                **at,
                summary=result.summary.text,
                first_kept_entry_id=result.first_kept,
                tokens_before=result.summary.tokens_before,
                details=words.Files(result.read_files, result.modified_files),
                usage=spelling.usage(result.total),
                from_hook=result.by_extension if format == "1.5" else UNSET,
                system_message=UNSET if result.system is None else words.system(result.system),
            )
        case Ran(run):
            return CustomEntry(**at, custom_type=RAN, data=spelling.bash(run))
        case Spent(paid, kind, provider, model) if format == "1.5":
            return UsageEntry(**at, kind=kind, provider=provider, model=model, usage=spelling.usage(paid))
        case Spent(paid):
            return CustomEntry(**at, custom_type=SPENT, usage=spelling.usage(paid))
        case Custom(kind, data, paid):
            used = UNSET if paid is None else spelling.usage(paid)
            return CustomEntry(**at, custom_type=kind, data=_filled(data), usage=used)


def _present(value: T | UnsetType | None) -> T | None:
    return None if isinstance(value, UnsetType) else value


def _filled(value: Any) -> Any:
    """Return the value, or UNSET for None: what there is none of is left out, and not written as null."""
    return UNSET if value is None else value


def _decoded_without_nulls(decoder: Decoder[T], line: bytes) -> T | None:
    """Return the value of a line without its nulls, which some programs write for what is not there; None if the
    decoder does not take it.
    """
    try:
        return decoder.decode(encode(_without_nulls(decode_line(_any, line))))
    except (BadInput, MsgspecError, RecursionError):
        return None


def _without_nulls(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_nulls(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: each if key in _OF_OTHERS else _without_nulls(each) for key, each in value.items() if each is not None}
