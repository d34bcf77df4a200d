"""What can be told about sessions without opening them: a session in a list, an entry in a session's outline."""

from msgspec import Struct


class OutlineEntry(Struct, frozen=True):
    """An entry of a session file, without its content."""

    id: str
    parent: str | None
    time: str
    type: str
    role: str = ""  # That of the message it carries, if any.
    text: str = ""  # The beginning of what was said.
    label: str = ""


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
