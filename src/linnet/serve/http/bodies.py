"""What requests and answers have in them. The OpenAPI document is made from these types."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from linnet.core.models import Model, Reasoning
from linnet.core.permissions.rule import Mode
from linnet.serve.agents.summary import Summary
from linnet.serve.http.seen_sessions import SessionItem
from linnet.serve.http.tokens import Role
from linnet.wire.pi.state import Prices

DialectName = Literal["zot", "pi", "pi-legacy", "pi-0.73", "pi-0.87", "pi-1"]
Word = Annotated[str, Meta(min_length=1, max_length=4096)]


class ErrorBody(Struct, frozen=True):
    code: Annotated[str, Meta(description="One word for programs.")]
    message: Annotated[str, Meta(description="A sentence for people.")]


class Error(Struct, frozen=True):
    """Why a request was not carried out."""

    error: ErrorBody


class OpenAgent(Struct, frozen=True, forbid_unknown_fields=True):
    """An agent to open."""

    cwd: Annotated[Word, Meta(description="The folder to work in, under one of the server's roots.")]
    dialect: Annotated[DialectName | None, Meta(description="What it speaks unless a request says otherwise.")] = None
    flags: Annotated[
        list[Word], Meta(max_length=64, description="Flags as `linnet` takes them, of those that `/v1/about` lists.")
    ] = []
    name: Word | None = None
    model: Word | None = None
    provider: Word | None = None
    thinking: Reasoning | None = None
    permission: Annotated[Mode | None, Meta(description="One that is not less strict than the server's.")] = None

    def words(self) -> list[str]:
        """Return all of it as flags."""
        given = {"name": self.name, "model": self.model, "provider": self.provider}
        more = {**given, "thinking": self.thinking, "permission": self.permission}
        return [*self.flags, *(f"--{name}={value}" for name, value in more.items() if value is not None)]


class AgentOpened(Struct, frozen=True):
    agent: Summary
    remarks: list[str]


class AgentList(Struct, frozen=True):
    agents: list[Summary]


class CommandLine(Struct, frozen=True):
    """A command of the dialect that the query names: `type`, and what that command takes."""

    type: Annotated[str, Meta(description="The name of the command, such as `prompt`.")]


class Snapshot(Struct, frozen=True):
    """What a client shows before it follows the events that come after `seq`."""

    seq: int
    state: Annotated[dict[str, Any] | None, Meta(description="What `get_state` says, in dialects that have it.")]
    messages: list[dict[str, Any]]
    first: Annotated[int, Meta(description="The index of the first of these messages.")]
    total: int
    open: Annotated[list[dict[str, Any]], Meta(description="Lines of what is in progress.")]


class SessionList(Struct, frozen=True):
    sessions: list[SessionItem]


class ServedLimits(Struct, frozen=True):
    body: int
    requests: int
    streams: int


class About(Struct, frozen=True):
    version: str
    role: Role
    roots: list[str]
    flags: list[str]
    limits: ServedLimits


class ModelItem(Struct, frozen=True, rename="camel"):
    """A model that can be used. Prices are US dollars for a million tokens."""

    id: str
    provider: str
    name: str
    reasoning: bool
    images: bool
    context_window: int
    max_tokens: int
    cost: Prices | None
    default: bool


def prices(model: Model) -> Prices | None:
    """Return what a model costs; None if nobody knows."""
    found = model.prices
    if found is None:
        return None
    return Prices(found.input, found.output, found.cache_read, found.cache_write)


class ModelList(Struct, frozen=True):
    models: list[ModelItem]
