"""What it takes to ask one provider's models through one API."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from linnet.core.cancel import Cancel
from linnet.core.models import NOTHING

if TYPE_CHECKING:
    from linnet.providers.http.client import Timeouts
    from linnet.providers.watch import Watch

Run: TypeAlias = Callable[[Sequence[str], Cancel], bytes]
"""Runs a program that prints credentials, and returns what it printed. Raises ConfigError or Cancelled."""


class Endpoint(Struct, frozen=True):
    """A provider's name, address and key, and how long it is waited for."""

    provider: str
    base_url: str = ""
    key: str = ""  # Empty where a server wants none.
    headers: Mapping[str, str] = NOTHING
    """What is sent with each request, beside what the API wants."""
    auth: str = ""
    """How the key is sent, where a server wants it otherwise than its API says: `bearer`, or the name of a header."""
    timeouts: "Timeouts | None" = None
    max_reply: int | None = None
    """So many bytes a reply may have."""
    advice: str = ""
    """What to do about a key that is refused, as part of a sentence."""
    environ: Mapping[str, str] = NOTHING
    """Where credentials are looked for that are more than one word."""
    token: "Callable[[Cancel], str] | None" = None
    """Gets the key again, if it came from a command: it may expire. Raises ConfigError or Cancelled."""
    path: str = ""
    """Where the API is under the base URL, if not where it mostly is; `{model}` stands for what a model is called."""
    names: Mapping[str, str] = NOTHING
    """What the server calls models whose ids are others."""
    bare_overflow: bool = False
    """The server says by a 400 without a word that a conversation is too long."""
    given: Any = None
    """What only this API can use: a script, a recording, an object of the program."""
    run: Run | None = None
    """For credentials that a program prints; None where none may be run."""
    secrets: Sequence[str] = ()
    """What no error may show, beside the key."""
    watch: "Callable[[], Watch | None] | None" = None
    """Returns who sees requests and replies at the moment, if anybody does."""

    def __repr__(self) -> str:
        return f"Endpoint(provider={self.provider!r}, base_url={self.base_url!r})"  # A trace shows no key.

    def credentials(self, header: str, scheme: str = "") -> dict[str, str]:
        """Return the header that has the key; none without a key. `header` and `scheme` are what the API wants."""
        if not self.key:
            return {}
        if self.auth == "bearer":
            header, scheme = "Authorization", "Bearer"
        elif self.auth:
            header, scheme = self.auth, ""
        return {header: f"{scheme} {self.key}".strip()}
