"""Questions to the user: for permission, or in a form; and what the answers mean. What is not understood is a no."""

from typing import Any

from linnet.core.questions import (
    ALLOW_ONCE,
    ALLOW_SESSION,
    DENY,
    DENY_SESSION,
    Confirm,
    EditText,
    EnterText,
    Given,
    Question,
    Select,
)
from linnet.wire.acp.frames import CallFields

NO = Given(cancelled=True)
WHY = "reject_with_reason"
"""The id of the option that has the user asked for a reason."""
NONE = "none"
_MEANING = {
    "allow_once": ALLOW_ONCE,
    "allow_always": ALLOW_SESSION,
    "reject_once": DENY,
    WHY: DENY,
    "reject_always": DENY_SESSION,
}


def permission(session: str, call: CallFields, *, reasons: bool) -> dict[str, Any]:
    """Return the parameters of a question for permission; `reasons`: the user may be asked for one. What allows least
    comes first: some clients take the first.
    """
    listed = [
        ("allow_once", "Allow once", "allow_once"),
        ("allow_always", "Allow for this session", "allow_always"),
        ("reject_once", "No", "reject_once"),
        *([(WHY, "No, and say why", "reject_once")] if reasons else []),
        ("reject_always", "No, not in this session", "reject_always"),
    ]
    options = [{"optionId": id, "name": name, "kind": kind} for id, name, kind in listed]
    return {"sessionId": session, "toolCall": call, "options": options}


def permitted(answer: Any) -> str:
    """Return the id of the option that was selected, if there is such an option; empty otherwise."""
    match answer:
        case {"outcome": {"outcome": "selected", "optionId": str(chosen)}} if chosen in _MEANING:
            return chosen
        case _:
            return ""


def given(option: str, reason: str = "") -> Given:
    """Return what a selected option means."""
    return Given(value=_MEANING[option], reason=reason) if option else NO


def reason_form(session: str, call: str) -> dict[str, Any]:
    """Return the parameters of a form that asks why a call was denied."""
    shown = {"value": {"type": "string", "title": "Reason"}}
    return _form(session, "Why not? The agent is told.", shown, []) | {"toolCallId": call}


def form(session: str, question: Question) -> dict[str, Any] | None:
    """Return the parameters of a form for a question; None if it cannot be put so."""
    match question:
        case Confirm(title, message):
            text = f"{title}\n\n{message}" if message else title
            return _form(session, text, {"value": {"type": "boolean", "title": title}}, ["value"])
        case Select(title, options):
            return _form(session, title, {"value": {"type": "string", "enum": list(options)}}, ["value"])
        case EnterText(title, placeholder):
            shown = {"type": "string", "title": title, **({"description": placeholder} if placeholder else {})}
            return _form(session, title, {"value": shown}, ["value"])
        case EditText(title, prefill):
            return _form(session, title, {"value": {"type": "string", "title": title, "default": prefill}}, ["value"])
        case _:
            return None


def options(session: str, call: CallFields, question: Question) -> dict[str, Any] | None:
    """Return the parameters of a question with options, for clients without forms; None if it cannot be put so."""
    match question:
        case Confirm():
            listed = [("0", "Yes", "allow_once"), (NONE, "No", "reject_once")]
        case Select(options=names) if names:
            listed = [(str(place), name, "allow_once") for place, name in enumerate(names)]
            listed.append((NONE, "None of these", "reject_once"))
        case _:
            return None
    options = [{"optionId": id, "name": name, "kind": kind} for id, name, kind in listed]
    return {"sessionId": session, "toolCall": call, "options": options}


def picked(question: Question, answer: Any) -> Given:
    """Return which of the options was selected."""
    match answer:
        case {"outcome": {"outcome": "selected", "optionId": str(id)}}:
            if isinstance(question, Confirm) and id in ("0", NONE):
                return Given(confirmed=id == "0")
            if isinstance(question, Select):
                return next((Given(value=name) for place, name in enumerate(question.options) if str(place) == id), NO)
        case _:
            pass
    return NO


def filled(question: Question, answer: Any) -> Given:
    """Return what a form was filled in with."""
    value = text_of(answer)
    if isinstance(question, Confirm):
        return Given(confirmed=value) if isinstance(value, bool) else NO
    if not isinstance(value, str) or (isinstance(question, Select) and value not in question.options):
        return NO
    return Given(value=value)


def text_of(answer: Any) -> Any:
    """Return the one value of a form that was accepted; None if it was not."""
    match answer:
        case {"action": "accept", "content": {"value": value}}:
            return value
        case _:
            return None


def _form(session: str, message: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": required}
    return {"mode": "form", "sessionId": session, "message": message, "requestedSchema": schema}
