"""The interface of a provider: it sends one model call to a vendor and streams the reply."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from linnet.core.cancel import Cancel
from linnet.core.context.history import Sendable
from linnet.core.deltas import Delta
from linnet.core.models import Model, PromptCache, Reasoning, possible
from linnet.core.toolspec import ToolSpec


class Request(Struct, frozen=True):
    """One model call."""

    model: Model
    system: str
    messages: Sequence[Sendable]  # Already repaired: every call in them is answered.
    tools: Sequence[ToolSpec] = ()
    reasoning: Reasoning = "off"
    cache: PromptCache = "short"
    session: str = ""
    """Says which requests begin alike, so that a vendor finds what it has kept of them; empty if nobody knows."""

    @property
    def level(self) -> Reasoning:
        """Return the level of thinking that was asked for, or the nearest that the model has."""
        return possible(self.reasoning, self.model, with_tools=bool(self.tools))


class Provider(Protocol):
    """Turns requests into deltas."""

    name: str

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        """Yield the deltas of one reply.

        A batch is what one network read brought, so that its receiver can answer with one write. The first batch comes
        when the vendor has accepted the request, and starts with ReplyOpened. The stream ends after Stopped; it raises
        ProviderRejected, ProviderUnavailable or Cancelled, and nothing else, when it cannot get that far.
        """

    def warm(self) -> None:
        """Load what the first request will need. May be left to that request."""

    def close(self) -> None:
        """Let go of idle connections."""
