"""The facts that the state machine in `protocol` is fed: what a program printed, and what is asked of it. Pure."""

from typing import Any, TypeAlias

from msgspec import Struct

from linnet.extensions.lines import Oversized
from linnet.extensions.programs import frames


class Heard(Struct, frozen=True):
    """The program printed this line."""

    line: bytes | Oversized


class Exited(Struct, frozen=True):
    """The program has ended, and nothing more will come of it."""

    how: str  # Completes a sentence about it: "exited with code 1".


class NotStarted(Struct, frozen=True):
    """There is no such program, or it may not be run."""

    why: str


class Idled(Struct, frozen=True):
    """The program has said hello, and nothing for a while: older ones do not say that they are ready."""


class Taken(Struct, frozen=True):
    """A tool that the program registered cannot be had, for somebody else has one of that name."""

    tool: str
    owner: str


class CallAsked(Struct, frozen=True):
    """The program is asked to run a call."""

    id: str
    tool: str
    args: Any


class GuardAsked(Struct, frozen=True):
    """The program is asked about something that is about to happen."""

    id: str
    about: frames.Occasion


class CommandAsked(Struct, frozen=True):
    """The program is asked to run a command."""

    id: str
    name: str
    args: str


class Expired(Struct, frozen=True):
    """Nobody waits for this answer any longer, for it took too long."""

    id: str


class Aborted(Struct, frozen=True):
    """Nobody waits for this answer any longer, for there was an abort."""

    id: str


class Happened(Struct, frozen=True):
    """Something happened in the session."""

    what: frames.Occasion


class Answered(Struct, frozen=True):
    """The user answered a question of the program's, or nobody did."""

    answer: frames.Answer


class Closing(Struct, frozen=True):
    """The session ends, or another one is to be loaded: the program is to go."""


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
