"""The bytes of a session file as a header and lines. Pure, so that what a crash may leave behind can be tried out."""

from collections.abc import Sequence

from msgspec import Struct

from linnet.errors import SessionError
from linnet.store.header import VERSION, Header, header
from linnet.store.lines import Glance, glance
from linnet.store.migrate import migrated, migrated_header


class Span(Struct, frozen=True, gc=False):
    """Where in the file a line is, without its line end."""

    start: int
    length: int


class Loaded(Struct, frozen=True):
    """`lines`, `glances` and `spans` go together, one of each for every entry; lines that are no entries are left out.

    `ended` is how many bytes of the file are lines that have their line end; what follows is a line that was never
    finished, unless `unended` says that only its line end is missing. `version` is the file's own; the lines are of the
    present one, and so is `first`, which the header was read from.
    """

    header: Header
    first: bytes
    version: int
    lines: list[bytes]
    glances: list[Glance]
    spans: list[Span]
    ended: int
    unended: bool = False


def load(data: bytes, path: str) -> Loaded:
    """`path` is for the sentence in which SessionError says that it is no session."""
    if not data.strip():
        raise SessionError(f"{path} is empty: it is not a session")
    pieces = data.split(b"\n")
    last = pieces.pop()
    unended = bool(last) and glance(last) is not None
    if unended:
        pieces.append(last)
    head, first = _head(pieces, path)
    opening = pieces[first - 1]
    lines: list[bytes] = []
    glances: list[Glance] = []
    spans: list[Span] = []
    start = sum(len(piece) + 1 for piece in pieces[:first])
    after = [piece.removesuffix(b"\r") for piece in pieces[first:]] if b"\r\n" in data else pieces[first:]
    now = after if head.version == VERSION else migrated(after, head.version)
    for piece, line in zip(pieces[first:], now, strict=True):
        seen = glance(line)
        # Some versions of pi wrote a second header into a file. It is no entry, and neither is what cannot be read.
        if seen is not None and seen.id and seen.type != "session":
            lines.append(line)
            glances.append(seen)
            spans.append(Span(start, len(line)))
        start += len(piece) + 1
    return Loaded(
        head,
        opening if head.version == VERSION else migrated_header(opening),
        head.version,
        lines,
        glances,
        spans,
        len(data) - len(last),
        unended,
    )


def _head(pieces: Sequence[bytes], path: str) -> tuple[Header, int]:
    """Return the header and the index of the piece after it, where the entries begin. Raises SessionError."""
    for index, piece in enumerate(pieces):
        if not piece.strip():
            continue
        head = header(piece)
        if head is None:
            break
        if head.version > VERSION:
            newest = f"the newest that linnet knows is {VERSION}"
            raise SessionError(f"{path} is a session of version {head.version}; {newest}")
        return head, index + 1
    raise SessionError(f"{path} is not a session: its first line is no session header")
