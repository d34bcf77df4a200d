"""Frames of questions that whoever stands between clients and a worker asks for itself, and of their answers."""

from msgspec import Raw, Struct


class SnapshotWanted(Struct, frozen=True, omit_defaults=True):
    """How the agent is: as a line for a client that was told of a gap, or `whole`, with so many messages."""

    last: int | None = None
    before: int | None = None
    whole: bool = False


class Said(Struct, frozen=True, omit_defaults=True):
    """The answer, or why there is none."""

    said: Raw = Raw(b"null")
    error: str = ""
