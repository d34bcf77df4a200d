"""What doors, a socket or HTTP, know of agents and of who has them, wherever the agents run."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from msgspec import Struct

from linnet.core.messages import ToolCall
from linnet.serve.agents.recipe import OpenRequest
from linnet.serve.agents.record import Opening
from linnet.serve.agents.shared import HostOptions
from linnet.serve.agents.summary import Summary
from linnet.store.factory import LogFactory
from linnet.wire.dialect import Asked, Dialect, Rejected
from linnet.wire.jsonl import Overlong
from linnet.wire.numbered import Framing

if TYPE_CHECKING:
    from linnet.serve.agents.attachment import Attachment

Role: TypeAlias = Literal["drive", "watch"]
Send: TypeAlias = Callable[[bytes, Asked | None], None]
"""Is called with the line that answers a command, and with the command if it succeeded: the dialect is to heed it then.
"""
Place: TypeAlias = Callable[[], Send]
"""Is called where an answer is decided, which is where it will stand, and returns what is called with it later."""


class Performs(Protocol):
    """Carries out the commands of one client. Invariant: `place` is called once for each, and so is what it returns."""

    def carry_out(self, asked: Asked | Rejected, line: bytes | Overlong, key: str = "") -> None:
        """Carry out a command, which this line says. `key` is its name, if that is not its id. Never raises."""


class Followed(Protocol):
    """An agent, as one of its clients needs it."""

    id: str
    may_wait: bool
    """Carrying out any command may take a moment."""

    @property
    def is_busy(self) -> bool:
        """Return whether anything runs or waits to run."""

    def performing(self, dialect: Dialect, role: Role, client: str, place: Place, owner: object) -> Performs:
        """Return what carries out the commands of one client. `client` is what it calls itself, if it does; `owner` is
        whose tools are declared: those of a connection go when it goes.
        """

    def tell_snapshot(self, dialect: Dialect, tell: Callable[[int, bytes], None]) -> None:
        """Have this called, in any thread, with the number of the last event and a line that says how the agent was
        then, or why that cannot be said. Never raises.
        """

    def end_input(self, *, finishes: bool) -> None:
        """Take note that the client that it goes with sends nothing any more. What runs is ended unless it `finishes`.
        Never raises.
        """

    def detach(self, attachment: "Attachment") -> None:
        """Forget a client, with the tools that it ran. Idempotent."""


class ServedAgent(Followed, Protocol):
    """An agent, as a door needs it."""

    @property
    def dialect(self) -> str:
        """Return the name of the dialect that it was opened with."""

    @property
    def cwd(self) -> str: ...

    @property
    def session_key(self) -> str | None:
        """Return what its session is opened by where that is kept; None if it is not yet."""

    def summary(self) -> Summary:
        """Return how the agent is, as lists show it. Never blocks."""

    def perform(
        self,
        line: bytes,
        dialect: Dialect,
        send: Callable[[bytes], None],
        *,
        role: Role = "drive",
        client: str = "",
        key: str = "",
    ) -> None:
        """Carry out one command of this dialect. `send` is called once, in any thread, with the line that answers it.
        With `client`, the command has a name, (client, its id) or (client, key), and is carried out once. Never raises.
        """

    def attach(
        self,
        dialect: Dialect,
        *,
        framing: Framing,
        after: int | None,
        role: Role,
        wake: Callable[[], None],
        client: str = "",
    ) -> "Attachment":
        """Return a new client of this agent, which is told what comes after the number; None: what comes from now on.
        `wake` is called in any thread when there is something to take. Raises LinnetError, OSError.
        """

    def snapshot(self, dialect: Dialect, last: int | None = None, before: int | None = None) -> bytes:
        """Return how the agent is at this moment, as a JSON object. Blocks. Raises LinnetError."""

    def denies(self, call: ToolCall) -> bool:
        """Return whether the agent may not run this call itself, without being asked. Blocks. Raises LinnetError."""


class OpenedAgent(Struct, frozen=True):
    """An agent that was opened."""

    agent: ServedAgent
    dialect: Dialect
    """Of whoever opened it."""
    name: str
    """The dialect's."""
    remarks: tuple[str, ...] = ()
    """Sentences for whoever opened it."""


class Counts(Struct, frozen=True, kw_only=True):
    """How things are, for `/metrics`."""

    agents: int
    awake: int
    states: Mapping[str, int]
    drivers: int
    watchers: int
    prompts: int
    commands: int
    events: int
    cost: float
    tokens: Mapping[str, int]
    bytes: int


class AgentHost(Protocol):
    """Who has agents. Any thread may call."""

    options: HostOptions
    ready: bool
    """It was begun."""
    logs: LogFactory | None
    """Where sessions are kept; None is in files."""

    @property
    def environ(self) -> Mapping[str, str]:
        """Return the environment that agents are run with, as far as that is here."""

    @property
    def draining(self) -> bool: ...

    @property
    def is_quiet(self) -> bool:
        """Return whether no agent works."""

    def open(self, request: OpenRequest) -> OpenedAgent:
        """Open an agent. Blocks. Raises LinnetError, and then there is none."""

    def opened_by(self, key: str) -> tuple[ServedAgent, Opening] | None:
        """Return the agent that a request with this name opened, and what was said of that; None if none did."""

    def find(self, id: str) -> ServedAgent:
        """Return the agent. Raises NoSuchAgent."""

    def remove(self, id: str) -> None:
        """Close an agent and forget it; its session stays. Blocks. Raises NoSuchAgent."""

    def summaries(self) -> list[Summary]:
        """Return how all agents are, those that were opened last at the end."""

    def listen(self, tell: Callable[[str], None]) -> None:
        """Have this function called, in any thread, with the id of an agent that has changed, or is gone."""

    def unlisten(self, tell: Callable[[str], None]) -> None: ...

    def counts(self) -> Counts:
        """Return how things are."""

    def close(self) -> None:
        """End. Blocks. Idempotent."""
