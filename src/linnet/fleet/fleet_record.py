"""What is written down of an agent in a depot: how it was opened and where it stands, and where its open job began."""

from msgspec import Struct
from msgspec.structs import replace

from linnet.decoding import decoder_of
from linnet.errors import BadInput, SessionError
from linnet.serve.agents.record import Record
from linnet.wire.jsonl import decode_line, encode_lines

VERSION = 1


class FleetRecord(Struct, kw_only=True):
    record: Record
    began: int = 0
    """The number of the event with which the open job began; 0 if none is open."""
    version: int = VERSION


def spelled(record: Record, began: int) -> bytes:
    return encode_lines([FleetRecord(record=record, began=began)])


def read(text: bytes) -> FleetRecord:
    """Raises SessionError for one that this linnet cannot read."""
    try:
        found = decode_line(decoder_of(FleetRecord), text)
    except BadInput as error:
        raise SessionError(f"the record of an agent cannot be read: {error}") from None
    if found.version != VERSION:
        raise SessionError(f"an agent's record is version {found.version}, and this linnet reads version {VERSION}")
    return found


def asleep(record: Record) -> Record:
    """Return the record as it is when nothing of the agent is in any process."""
    return replace(record, summary=replace(record.summary, state="asleep", tool=None, waiting=[]))
