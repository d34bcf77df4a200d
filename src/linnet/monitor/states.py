"""The states that a watched agent can be in: a closed set. Pure."""

from typing import TypeAlias

from msgspec import Struct


class _State(Struct, frozen=True, tag_field="state"):
    pass


class Starting(_State, frozen=True, tag="starting"):
    """Nothing has come from the agent yet."""


class Idle(_State, frozen=True, tag="idle"):
    """The agent waits to be asked."""

    aborted: bool = False  # How its last run ended.


class Thinking(_State, frozen=True, tag="thinking"):
    """A model has been asked and has not said anything since."""


class Speaking(_State, frozen=True, tag="speaking"):
    """Text of a reply comes."""


class Running(_State, frozen=True, tag="running"):
    """A tool runs."""

    tool: str
    call: str  # Its id.
    since: float
    others: int = 0  # Calls that wait or run beside it.


class Asking(_State, frozen=True, tag="asking"):
    """The agent waits for an answer of whoever drives it."""

    question: str


class Retrying(_State, frozen=True, tag="retrying"):
    """The agent waits before it tries again."""

    attempt: int
    attempts: int
    delay: float  # Seconds.
    reason: str


class Compacting(_State, frozen=True, tag="compacting"):
    """The agent replaces old messages by a summary."""

    reason: str = ""


class Failed(_State, frozen=True, tag="failed"):
    """The last run, or part of it, failed. The agent can be asked again."""

    reason: str


class Refused(_State, frozen=True, tag="refused"):
    """The agent answered a request without success. Lasts until its next line."""

    command: str
    reason: str
    during: str  # What it was doing.


class Garbled(_State, frozen=True, tag="garbled"):
    """The agent printed a line that is no frame. Lasts until its next line."""

    line: str
    reason: str
    during: str  # What it was doing.


class Gone(_State, frozen=True, tag="gone"):
    """The stream of the agent has ended."""

    code: int | None  # The exit code of the process, if it is known.
    during: str  # What it was doing.


State: TypeAlias = (
    Starting | Idle | Thinking | Speaking | Running | Asking | Retrying | Compacting | Failed | Refused | Garbled | Gone
)


def name(state: State) -> str:
    """Return the name of a state, as it is in JSON."""
    return str(state.__struct_config__.tag)
