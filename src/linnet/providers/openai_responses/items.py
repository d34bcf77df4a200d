"""What the vendor wants back with a reply, as it is kept in the signatures of the reply's parts. Pure.

A thought keeps the whole item that it came as. A text keeps the id of its message and the phase that it belongs to, a
call the id of its item. pi keeps the same; it writes a call's item into the call's id, behind a bar.
"""

from typing import Any, Literal

from msgspec import DecodeError, Struct

from linnet.decoding import converted, decoder_of
from linnet.providers.body import encode

_LONGEST = 64


class SummaryText(Struct):
    text: str
    type: Literal["summary_text"]


class ReasoningItem(Struct):
    """What an item must have to be sent back: without its encrypted content the vendor would look for it in vain."""

    type: Literal["reasoning"]
    id: str
    summary: list[SummaryText]
    encrypted_content: str


class MessageId(Struct, omit_defaults=True):
    """Which message a text was, in its vendor's words."""

    v: int = 0
    id: str = ""
    phase: Literal["commentary", "final_answer"] | None = None


_decode_any = decoder_of(dict[str, Any]).decode
_decode_message = decoder_of(MessageId).decode


def reasoning_item(signature: str) -> dict[str, Any] | None:
    """Return the item that a thought came as; None if the signature is no whole item."""
    if not signature.startswith("{"):
        return None
    try:
        item = _decode_any(signature)
        known = converted(item, ReasoningItem)
    except (DecodeError, UnicodeError, RecursionError):  # What does not fit a type is a DecodeError, too.
        return None
    if not known.encrypted_content:
        return None
    return {key: value for key, value in item.items() if value is not None}


def message_signature(id: str, phase: str | None) -> str:
    """Return what is kept with a text."""
    return encode({"v": 1, "id": id, "phase": phase} if phase else {"v": 1, "id": id}).decode()


def message_id(signature: str) -> MessageId:
    """Return which message a text was; one without an id if the signature does not say it in a usable form."""
    try:
        said = _decode_message(signature) if signature.startswith("{") else MessageId(id=signature)
    except (DecodeError, UnicodeError, RecursionError):
        return MessageId()
    return said if said.id.startswith("msg") and len(said.id) <= _LONGEST else MessageId(phase=said.phase)


def call_and_item(id: str, signature: str = "") -> tuple[str, str]:
    """Return the id of a call and that of its item, which is empty if there is none in a usable form."""
    call_id, bar, behind = id.partition("|")
    if not bar or not behind.startswith("fc"):
        call_id, behind = id, ""
    item = signature or behind
    return call_id, item if item.startswith("fc") and len(item) <= _LONGEST else ""
