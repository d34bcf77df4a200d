"""What may happen to a program, and with it: what the machine in `protocol` is fed. Pure."""

from typing import Any, TypeAlias

from msgspec import Struct

from linnet.extensions.lines import Oversized
from linnet.extensions.programs import frames


class Heard(Struct, frozen=True):
    """It printed this line."""

    line: bytes | Oversized


class Exited(Struct, frozen=True):
    """Nothing more will come of it. `how` completes a sentence about it: "exited with code 1"."""

    how: str


class NotStarted(Struct, frozen=True):
    """There is no such program, or it may not be run."""

    why: str


class Idled(Struct, frozen=True):
    """It has said hello, and nothing for a while: older programs do not say that they are ready."""


class Taken(Struct, frozen=True):
    """A tool that it registered cannot be had, for somebody else has one of that name."""

    tool: str
    owner: str


class CallAsked(Struct, frozen=True):
    id: str
    tool: str
    args: Any


class GuardAsked(Struct, frozen=True):
    """It is asked about something that is about to happen."""

    id: str
    about: frames.Occasion


class CommandAsked(Struct, frozen=True):
    id: str
    name: str
    args: str


class Expired(Struct, frozen=True):
    """Nobody waits for this answer any longer, for it took too long."""

    id: str


class Aborted(Struct, frozen=True):
    id: str


class Happened(Struct, frozen=True):
    what: frames.Occasion


class Answered(Struct, frozen=True):
    """To a question that it asked."""

    answer: frames.Answer


class Closing(Struct, frozen=True):
    pass


Fact: TypeAlias = (
    Heard
    | Exited
    | NotStarted
    | Idled
    | Taken
    | CallAsked
    | GuardAsked
    | CommandAsked
    | Expired
    | Aborted
    | Happened
    | Answered
    | Closing
)
