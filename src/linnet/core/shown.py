"""What extensions show to whoever drives the agent, without waiting for an answer."""

from typing import Literal, TypeAlias

from msgspec import Struct

Level: TypeAlias = Literal["info", "success", "warning", "error"]
Placement: TypeAlias = Literal["above_editor", "below_editor"]


class Notified(Struct, frozen=True):
    extension: str
    message: str
    level: Level = "info"


class Displayed(Struct, frozen=True):
    """A text that somebody asked for, such as what a command has to say."""

    extension: str
    text: str


class StatusSet(Struct, frozen=True):
    """A short text that stays until it is set again. None takes it away."""

    extension: str
    key: str
    text: str | None


class WidgetSet(Struct, frozen=True):
    """Some lines that stay until they are set again. None takes them away."""

    extension: str
    key: str
    lines: tuple[str, ...] | None
    placement: Placement = "above_editor"


class TitleSet(Struct, frozen=True):
    """Of the window."""

    extension: str
    title: str


class EditorTextSet(Struct, frozen=True):
    """What the user is about to say, to begin with."""

    extension: str
    text: str


Shown: TypeAlias = Notified | Displayed | StatusSet | WidgetSet | TitleSet | EditorTextSet
