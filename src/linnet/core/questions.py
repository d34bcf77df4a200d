"""The questions that an agent may ask its client, and the answers. How a protocol puts them is a dialect's matter."""

from typing import Any, Literal, TypeAlias

from msgspec import Struct

from linnet.core.messages import ToolCall, UserPart
from linnet.errors import BadInput


class Confirm(Struct, frozen=True, tag="confirm"):
    """Ask for yes or no."""

    title: str
    message: str = ""


class Select(Struct, frozen=True, tag="select"):
    """Ask for one of these options."""

    title: str
    options: tuple[str, ...]


class EnterText(Struct, frozen=True, tag="enter_text"):
    """Ask for a line of text."""

    title: str
    placeholder: str = ""


class EditText(Struct, frozen=True, tag="edit_text"):
    """Ask for a longer text."""

    title: str
    prefill: str = ""  # The text to begin with.


class Permit(Struct, frozen=True, tag="permit"):
    """Ask whether a tool may be run with these arguments."""

    call: ToolCall
    title: str
    preview: str = ""  # What to show: a command, a diff.


class RunClientTool(Struct, frozen=True, tag="run_client_tool"):
    """Ask the client to run a tool that it declared."""

    call: ToolCall


Question: TypeAlias = Confirm | Select | EnterText | EditText | Permit | RunClientTool


class QuestionAsked(Struct, frozen=True):
    """Whoever drives the agent is asked, and something waits for the answer; no longer than `timeout` seconds."""

    id: str
    question: Question
    timeout: float | None = None


class QuestionClosed(Struct, frozen=True):
    """A question was answered, or nobody waits for its answer any more."""

    id: str
    question: Question
    how: Literal["answered", "expired", "withdrawn"]


ALLOW_ONCE = "Allow once"
ALLOW_SESSION = "Allow for this session"
DENY = "Deny"
DENY_SESSION = "Deny for this session"
PERMISSIONS = (ALLOW_ONCE, ALLOW_SESSION, DENY)


class Chosen(Struct, frozen=True):
    """The text that was chosen or written."""

    text: str


class Confirmed(Struct, frozen=True):
    """Yes or no was said."""

    yes: bool
    reason: str = ""  # Why not.


class Permitted(Struct, frozen=True):
    """A tool may be run, or not."""

    yes: bool
    always: bool = False  # For the rest of this session.
    reason: str = ""  # Why not, for the model.


class ToolReturned(Struct, frozen=True):
    """What came of a tool that the client ran."""

    content: tuple[UserPart, ...]
    is_error: bool = False
    details: dict[str, Any] | None = None


class Dismissed(Struct, frozen=True):
    """Whoever was asked would rather not say."""


Reply: TypeAlias = Chosen | Confirmed | Permitted | ToolReturned | Dismissed


class Given(Struct, frozen=True):
    """An answer as it came: the fields that clients know, not yet checked against the question."""

    value: str | None = None
    confirmed: bool | None = None
    cancelled: bool = False
    reason: str = ""


def understood(question: Question, given: Given) -> Reply:
    """Return the answer, checked against what was asked. Raises BadInput if it is none: the question stays open."""
    if given.cancelled:
        return Permitted(False, reason=given.reason) if isinstance(question, Permit) else Dismissed()
    match question:
        case Confirm():
            if given.confirmed is None:
                raise BadInput("`confirmed` must be true or false")
            return Confirmed(given.confirmed, given.reason)
        case Select(options=options):
            if given.value not in options:
                raise BadInput(f"`value` must be one of {', '.join(options)}")
            return Chosen(given.value)
        case EnterText() | EditText():
            if given.value is None:
                raise BadInput("`value` must be a string")
            return Chosen(given.value)
        case Permit():
            return _permission(given)
        case RunClientTool():
            raise BadInput("a tool that you run is answered with its result")


def _permission(given: Given) -> Permitted:
    if given.value in (*PERMISSIONS, DENY_SESSION):
        always = given.value in (ALLOW_SESSION, DENY_SESSION)
        return Permitted(given.value not in (DENY, DENY_SESSION), always, given.reason)
    if given.value is None and given.confirmed is not None:
        return Permitted(given.confirmed, reason=given.reason)
    raise BadInput(f"`value` must be one of {', '.join(PERMISSIONS)}")
