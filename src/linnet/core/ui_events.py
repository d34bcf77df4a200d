"""Events by which extensions show something to the client, without waiting for an answer.

The session gives each event its `id` as it is told; no question has the same one.
"""

from typing import Literal, TypeAlias, get_args

from msgspec import Struct

Level: TypeAlias = Literal["info", "success", "warning", "error"]
Placement: TypeAlias = Literal["above_editor", "below_editor"]


class Notified(Struct, frozen=True):
    extension: str
    message: str
    level: Level = "info"
    id: str = ""


class Displayed(Struct, frozen=True):
    """A text that somebody asked for is shown, such as what a command has to say."""

    extension: str
    text: str
    id: str = ""


class StatusSet(Struct, frozen=True):
    """A short text is shown until it is set again. None takes it away."""

    extension: str
    key: str
    text: str | None
    id: str = ""


class WidgetSet(Struct, frozen=True):
    """Some lines are shown until they are set again. None takes them away."""

    extension: str
    key: str
    lines: tuple[str, ...] | None
    placement: Placement = "above_editor"
    id: str = ""


class TitleSet(Struct, frozen=True):
    """The window has got a title."""

    extension: str
    title: str
    id: str = ""


class EditorTextSet(Struct, frozen=True):
    """The editor has got a text for the user to begin with."""

    extension: str
    text: str
    id: str = ""


Shown: TypeAlias = Notified | Displayed | StatusSet | WidgetSet | TitleSet | EditorTextSet
KINDS = frozenset(get_args(Shown))
