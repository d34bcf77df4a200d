"""The form that a final answer is to have, as far as a run needs to know it.

`core.context.formed_output` makes one from a type or a JSON Schema.
"""

from typing import Any, Protocol

from msgspec import UNSET, Struct


class Reading(Struct, frozen=True):
    """What an answer says in the form that was asked for, or why it says nothing in that form."""

    value: Any = UNSET
    data: Any = None  # The same as plain JSON.
    problem: str = ""  # Why there is no value; empty if there is one.


class Form(Protocol):
    """A form of answers. It is not called under any lock: what checks an answer may be somebody else's code."""

    @property
    def question(self) -> str:
        """Return the words that are added to what the model is asked."""

    def question_again(self, problem: str) -> str:
        """Return the question for a model whose answer does not fit."""

    def read(self, text: str) -> Reading:
        """Return what the answer says, or what is wrong with it. Never raises, whatever the text is."""


class OutputRead(Struct, frozen=True):
    """The last answer of a run that was to have a form has been read."""

    data: Any = None  # Its value as plain JSON.
    problem: str = ""  # Why there is no value; empty if there is one.
