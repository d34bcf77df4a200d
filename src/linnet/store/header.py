"""Reads and writes the first line of a session file."""

from msgspec import Struct

from linnet.decoding import decoder_of
from linnet.store.lines import decoded, one_line

VERSION = 3


class Header(Struct, frozen=True, tag_field="type", tag="session", rename="camel", omit_defaults=True):
    """The first line of a session file."""

    id: str
    timestamp: str = ""
    cwd: str = ""
    parent_session: str | None = None  # The file that this one came from.
    version: int = 1


_header = decoder_of(Header)


def header(line: bytes) -> Header | None:
    """Return the header that a line says; None for what is no session's first line."""
    found = decoded(_header, line)
    return found if found is not None and found.id else None


def header_line(header: Header) -> bytes:
    """Return the line of a header without a line end, the fields in pi's order."""
    parent = {} if header.parent_session is None else {"parentSession": header.parent_session}
    fields = {"type": "session", "version": header.version, "id": header.id, "timestamp": header.timestamp}
    return one_line({**fields, "cwd": header.cwd, **parent})
