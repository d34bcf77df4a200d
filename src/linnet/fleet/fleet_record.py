"""What is written down of an agent in a depot: how it was opened and where it stands, and where its open job began."""

from msgspec import Struct

from linnet.decoding import decoder_of
from linnet.errors import BadInput, SessionError
from linnet.serve.agents.record import Record
from linnet.wire.jsonl import decode_line, encode_lines

VERSION = 1


class FleetRecord(Struct, kw_only=True):
    record: Record
    began: int = 0
    """The number of the event with which the open job began; 0 if none is open."""
    new: bool = False
    """Nobody has opened it yet: its session begins as it was asked for."""
    session: str = ""
    """The id of the session, if it is new and nothing else was asked for."""
    version: int = VERSION


def spelled(record: Record, began: int) -> bytes:
    """Return the record of an agent that was open, as it is kept."""
    return spelled_record(FleetRecord(record=record, began=began))


def spelled_record(record: FleetRecord) -> bytes:
    return encode_lines([record])


def read(text: bytes) -> FleetRecord:
    """Raises SessionError for one that this linnet cannot read."""
    try:
        found = decode_line(decoder_of(FleetRecord), text)
    except BadInput as error:
        raise SessionError(f"the record of an agent cannot be read: {error}") from None
    if found.version != VERSION:
        raise SessionError(f"an agent's record is version {found.version}, and this linnet reads version {VERSION}")
    return found
