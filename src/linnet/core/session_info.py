"""What can be told about sessions without opening them: a session in a list, an entry in a session's outline."""

from typing import Literal, TypeAlias

from msgspec import Struct

SessionFormat: TypeAlias = Literal["0.73", "1.5"]
"""The version of pi that writes sessions so: they differ in how a failed reply is taken out of the conversation, and in
whether what the model is told before it is kept, too.
"""


class OutlineEntry(Struct, frozen=True):
    """An entry of a session file, without its content."""

    id: str
    parent: str | None
    time: str
    type: str
    role: str = ""  # That of the message it carries, if any.
    text: str = ""  # The beginning of what was said.
    label: str = ""


class TreeEntry(Struct, frozen=True, gc=False):
    """An entry of a session file as it is, and its place."""

    line: bytes  # Without a line end.
    parent: int | None = None  # The index of the entry that it follows, which is an earlier one; None for a root.
    label: str = ""
    label_time: str = ""  # When it was set.


class Tally(Struct, frozen=True):
    """How much was said in a session, on all of its branches."""

    user: int
    assistant: int
    calls: int
    results: int
    total: int
    """Commands of the user, and system messages, are among them."""


class SessionInfo(Struct, frozen=True, kw_only=True):
    """A session in a list."""

    path: str
    id: str
    name: str
    cwd: str
    created: str  # An ISO time, as the next is.
    modified: str
    messages: int
    first_message: str  # What the user asked first.
    provider: str
    model: str
    tokens: int
    known_cost: float  # That of the tokens whose price is known, in US dollars.
    cost_known: bool = True  # The price of all tokens is known.
    parent: str | None

    @property
    def cost(self) -> float | None:
        """Return what all tokens cost, in US dollars; None if the price of some is not known."""
        return self.known_cost if self.cost_known else None
