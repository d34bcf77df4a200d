"""What is written down of an agent, so that it is there again after a restart: how it was opened, and where it stands.

No key is in it: those that a client brought are in memory only.
"""

import os
from contextlib import suppress

from msgspec import Struct, field
from msgspec.structs import replace as changed

from linnet.decoding import decoder_of
from linnet.errors import BadInput, LinnetError
from linnet.files.folders import make
from linnet.files.reading import contents
from linnet.files.replacing import replace
from linnet.serve.agents.summary import Summary
from linnet.wire.jsonl import decode_line, encode_lines

FILE = "agent.json"
VERSION = 1


class Missing(Exception):
    """There is no record: the server was killed while it opened the agent, which nobody was told of."""


class Unknown(LinnetError):
    """A record that this linnet cannot read."""


class Chosen(Struct, omit_defaults=True):
    """What commands have set, and a session does not keep: it holds again when the agent wakes."""

    model: str | None = None
    reasoning: str | None = None
    steering_mode: str | None = None
    follow_up_mode: str | None = None
    auto_compaction: bool | None = None
    retry_runs: bool | None = None


class Opening(Struct, frozen=True):
    """The request with a name by which an agent was opened: one that is sent again opens no second one."""

    key: str
    digest: str
    """A hash of what it said."""
    remarks: tuple[str, ...] = ()
    """What it was answered with, beside how the agent was."""


class Record(Struct, kw_only=True):
    """One agent."""

    id: str
    version: int = VERSION
    words: tuple[str, ...] = ()
    """What would follow `linnet`, without a key."""
    program: str = "linnet"
    dialect: str = ""
    cwd: str = ""
    saved: bool = True
    """It has a session on disk. Without one, it is gone after a restart."""
    kept: bool = True
    """It outlives the connection that opened it. If not, that is gone after a restart, and so is the agent."""
    working: bool = False
    """A prompt or a compaction had begun and not ended when this was written."""
    cleared: bool = False
    """Its conversation was forgotten, and nothing was said since."""
    spent: float = 0.0
    """Dollars that it has cost, in all of its sessions."""
    chosen: Chosen = field(default_factory=Chosen)
    opening: Opening | None = None
    summary: Summary


def load(folder: str) -> Record:
    """Return the record in an agent's folder. Raises Missing, Unknown, OSError."""
    text = contents(os.path.join(folder, FILE))
    if text is None:
        raise Missing
    try:
        record = decode_line(decoder_of(Record), text)
    except BadInput as error:
        raise Unknown(f"{folder}/{FILE} cannot be read: {error}") from None
    if record.version != VERSION:
        raise Unknown(f"{folder}/{FILE} is version {record.version}, and this linnet reads version {VERSION}")
    return record


def save(folder: str, record: Record) -> None:
    """Write the record, without what ends with the process. What the disk refuses is not written: the agent goes on,
    and a restart knows less.
    """
    with suppress(OSError):
        make(folder, 0o700)
        shown = changed(record.summary, state="idle", tool=None, waiting=[], drivers=0, watchers=0)
        replace(os.path.join(folder, FILE), encode_lines([changed(record, summary=shown)]), mode=0o600)
