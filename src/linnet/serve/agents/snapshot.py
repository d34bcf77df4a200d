"""How an agent is at one moment, in the words of a dialect: for a client that cannot be told how it came about."""

from collections.abc import Sequence
from typing import Any

from msgspec import Raw, Struct
from msgspec.json import encode

from linnet.core import commands, events
from linnet.decoding import decoder_of
from linnet.runtime.session import Session
from linnet.wire import served_frames
from linnet.wire.dialect import Asked, Dialect
from linnet.wire.jsonl import encode_lines

_OVER = (events.UserSaid, events.SystemTold, events.NoteAdded, events.ToolReturned, events.ToolFinished)


class _Messages(Struct):
    messages: list[Raw] = []


class _Response(Struct):
    data: Raw = Raw(b"null")


class Snapshot(Struct, frozen=True):
    """Invariant: whoever shows `messages`, applies `open` and then all events after `seq`, shows what there is."""

    seq: int
    state: Raw
    messages: list[Raw]
    first: int
    """The place of the first of them in the conversation."""
    total: int
    open: list[Raw]
    """Lines of what is in progress."""

    def event(self) -> bytes:
        """Return it as a line for a client that was told of a gap."""
        return encode_lines([served_frames.Snapshot(self.state, self.messages, self.open)])


def taken(
    session: Session,
    dialect: Dialect,
    seq: int,
    opened: Sequence[events.Event],
    last: int | None = None,
    before: int | None = None,
) -> Snapshot:
    """Return the snapshot of a session that is still; `opened` are the events of its `Opening`. With `last`, no more
    than so many messages, those before place `before` in the conversation.
    """
    state = _data(dialect, session, "get_state", commands.GetState())
    said = _data(dialect, session, "get_messages", commands.GetMessages())
    messages = decoder_of(_Messages).decode(said).messages if bytes(said) != b"null" else []
    end = len(messages) if before is None else max(0, min(before, len(messages)))
    begin = 0 if last is None else max(0, end - last)
    return Snapshot(seq, state, messages[begin:end], begin, len(messages), _open(dialect, opened))


def _data(dialect: Dialect, session: Session, name: str, query: commands.Query) -> Raw:
    line = dialect.answer(Asked(Raw(b""), name, query), session.answer_now(query))
    return decoder_of(_Response).decode(line).data if line else Raw(b"null")


def _open(dialect: Dialect, opened: Sequence[events.Event]) -> list[Raw]:
    """Return the lines of what is in progress, without those of messages that are over."""
    encoder = dialect.encoder()
    replied = any(isinstance(each, events.ReplyEnded) for each in opened)
    finished = {each.result.call_id for each in opened if isinstance(each, events.ToolFinished | events.ToolReturned)}
    lines: list[Raw] = []
    for event in opened:
        told = b"".join([bytes(buffer) for buffers in encoder.encode([event]) for buffer in buffers])
        if isinstance(event, (*_OVER, events.ReplyEnded, events.RunEnded)) or (
            replied and isinstance(event, events.ReplyStarted)
        ):
            continue
        if isinstance(event, events.ToolStarted) and event.call.id in finished:
            continue
        lines += [Raw(line) for line in told.splitlines()]
    return lines


def as_json(snapshot: Snapshot) -> bytes:
    """Return the snapshot as a JSON object."""
    spelled: Any = {name: getattr(snapshot, name) for name in snapshot.__struct_fields__}
    return encode(spelled)
