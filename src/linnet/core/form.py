"""The form that an answer is to have, as far as a run knows of it; `output` makes one of a type or a JSON Schema."""

from typing import Any, Protocol

from msgspec import UNSET, Struct


class Reading(Struct, frozen=True):
    """What an answer says: `value` in the form that was asked for, and `data`, the same as plain JSON; or the `problem`
    for which there is none.
    """

    value: Any = UNSET
    data: Any = None
    problem: str = ""


class Form(Protocol):
    """Not called under any lock: what checks the answer may be somebody else's code."""

    @property
    def question(self) -> str:
        """Return the words that are added to what the model is asked."""

    def question_again(self, problem: str) -> str:
        """Return the question for a model whose answer does not fit."""

    def read(self, text: str) -> Reading:
        """Return what the answer says, or what is wrong with it. Never raises, whatever the text is."""


class OutputRead(Struct, frozen=True):
    """The last answer of a run that was to have a form: its value as plain JSON, or why it has none."""

    data: Any = None
    problem: str = ""
