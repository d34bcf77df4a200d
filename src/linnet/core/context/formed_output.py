"""Answers in the form of a type or a JSON Schema: how they are asked for, found in a text, and checked."""

from collections.abc import Mapping
from typing import Any

import msgspec

from linnet.core.form import Reading
from linnet.core.json import typed
from linnet.core.json.schema import check_schema, problem
from linnet.errors import BadInput

ASK = """

When the work is done, end with one JSON value and nothing else: no words before or after it, no code fence. \
It has to fit this JSON Schema:

{schema}"""
ASK_AGAIN = """Your last answer cannot be used: {reason}

Do no further work. Answer again with the JSON value alone; it has to fit this JSON Schema:

{schema}"""


class Output:
    """A Form that is a JSON Schema, or a type: a struct, a dataclass, a pydantic model, a list of them, …"""

    def __init__(self, form: Any) -> None:
        """Raise BadInput for what is neither, and for a schema that cannot be checked."""
        self._form = form
        self._is_schema = isinstance(form, Mapping)
        if self._is_schema:
            check_schema(form)
        try:
            shown = form if self._is_schema else typed.schema(form)
            self._shown = msgspec.json.encode(shown).decode()
        except (TypeError, RuntimeError) as error:
            raise BadInput(f"output must be a type that can be checked, or a JSON Schema: {error}") from None

    @property
    def question(self) -> str:
        return ASK.format(schema=self._shown)

    def question_again(self, reason: str) -> str:
        return ASK_AGAIN.format(reason=reason, schema=self._shown)

    def read(self, text: str) -> Reading:
        found = json_in(text)
        if found is None:
            return Reading(problem="it holds no JSON value" if text.strip() else "it is empty")
        try:
            data = msgspec.json.decode(found)
            if not self._is_schema:
                return Reading(typed.decode(found, self._form), data)
            reason = problem(data, self._form)
            return Reading(problem=reason) if reason else Reading(data, data)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            return Reading(problem=str(error))


def json_in(text: str) -> str | None:
    """Return the JSON value in a text: all of it, or else what is in its last code fence, or in its outermost braces or
    brackets. None if none of these is JSON.
    """
    whole = text.strip()
    if _is_json(whole):
        return whole
    fences = whole.split("```")
    if len(fences) >= 3:
        inside = fences[-2].removeprefix("json").strip()
        if _is_json(inside):
            return inside
    for opening, closing in ("{}", "[]"):
        begin, end = whole.find(opening), whole.rfind(closing)
        if 0 <= begin < end and _is_json(whole[begin : end + 1]):
            return whole[begin : end + 1]
    return None


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True
