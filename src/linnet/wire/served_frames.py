"""Types for the lines that clients of a server are told besides those of their dialect, the same in all of them."""

from msgspec import Raw, Struct


class Served(Struct, frozen=True, tag_field="type"):
    """A line that only a server prints."""


class Gap(Served, frozen=True, tag="gap"):
    """What came after this number cannot be told again; a snapshot follows. An addition, of servers."""

    after: int
    """The number that the client had seen, or that was told last."""


class Snapshot(Served, frozen=True, tag="snapshot"):
    """How the agent is now: all it takes to go on from here. An addition, of servers."""

    state: Raw
    """What `get_state` answers; null in a dialect without answers."""
    messages: list[Raw]
    """The conversation, as `get_messages` answers it."""
    open: list[Raw]
    """Lines of what is in progress, to be read as if they came now."""


class Unavailable(Served, frozen=True, tag="error"):
    """No snapshot could be taken: the agent cannot be woken. An addition, of servers."""

    error: str
