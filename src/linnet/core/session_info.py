"""What can be told about sessions without opening them: an entry in an outline, a session in a list."""

from msgspec import Struct


class OutlineEntry(Struct, frozen=True):
    """`text` is the beginning of what was said. `role` is that of the message it carries, if any."""

    id: str
    parent: str | None
    time: str
    type: str
    role: str = ""
    text: str = ""
    label: str = ""


class SessionInfo(Struct, frozen=True, kw_only=True):
    """`modified` and `created` are ISO times; `first_message` was asked first. `known_cost`, in US dollars, is that of
    the tokens whose price is known; `cost_known`: those are all of them.
    """

    path: str
    id: str
    name: str
    cwd: str
    created: str
    modified: str
    messages: int
    first_message: str
    provider: str
    model: str
    tokens: int
    known_cost: float
    cost_known: bool = True
    parent: str | None

    @property
    def cost(self) -> float | None:
        """Return what all of it cost; None if a price is not known."""
        return self.known_cost if self.cost_known else None
