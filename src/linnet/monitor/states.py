"""What an agent can be doing: a closed set. Pure."""

from typing import TypeAlias

from msgspec import Struct


class _State(Struct, frozen=True, tag_field="state"):
    pass


class Starting(_State, frozen=True, tag="starting"):
    """Nothing has come from it yet."""


class Idle(_State, frozen=True, tag="idle"):
    """It waits to be asked. `aborted` is how its last run ended."""

    aborted: bool = False


class Thinking(_State, frozen=True, tag="thinking"):
    """A model has been asked and has not said anything since."""


class Speaking(_State, frozen=True, tag="speaking"):
    """Text of a reply comes."""


class Running(_State, frozen=True, tag="running"):
    """A tool works, since the time `since`; `others` wait or work beside it."""

    tool: str
    call: str
    since: float
    others: int = 0


class Asking(_State, frozen=True, tag="asking"):
    """Whoever drives it is asked something, and it waits for the answer."""

    question: str


class Retrying(_State, frozen=True, tag="retrying"):
    """It waits before it tries again. `delay` is in seconds."""

    attempt: int
    attempts: int
    delay: float
    reason: str


class Compacting(_State, frozen=True, tag="compacting"):
    reason: str = ""


class Failed(_State, frozen=True, tag="failed"):
    """Its last run, or part of it, failed. It can be asked again."""

    reason: str


class Refused(_State, frozen=True, tag="refused"):
    """It answered a request without success. Lasts until its next line; `during` is what it was doing."""

    command: str
    reason: str
    during: str


class Garbled(_State, frozen=True, tag="garbled"):
    """It printed a line that is no frame. Lasts until its next line; `during` is what it was doing."""

    line: str
    reason: str
    during: str


class Gone(_State, frozen=True, tag="gone"):
    """Its stream has ended. `code` is how the process did, if that is known; `during` is what it was doing."""

    code: int | None
    during: str


State: TypeAlias = (
    Starting | Idle | Thinking | Speaking | Running | Asking | Retrying | Compacting | Failed | Refused | Garbled | Gone
)


def name(state: State) -> str:
    return str(state.__struct_config__.tag)
