"""Clients whose methods block. Any thread may use one, several at a time."""

from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from linnet.client.agent import Agent
from linnet.client.link import Link
from linnet.client.pi_commands import PiCommands, PiLegacyCommands
from linnet.client.run_events import RunEvents, Taken
from linnet.client.stream import Pending, Stream
from linnet.client.zot_commands import ZotCommands
from linnet.errors import TimedOut
from linnet.faces import Blocking, blocks
from linnet.wire.incoming import BadLine, UnknownEvent
from linnet.wire.pi.reading import incoming as pi
from linnet.wire.zot import frames

E = TypeVar("E")


class InThread:
    """Waits in the thread that calls."""

    @blocks
    def until(self, link: Link[Any], waited: Pending | Stream[Any], what: str, timeout: float | None) -> None:
        """Wait until something is ready. Raises TimedOut."""
        if not link.wait(lambda: waited.ready, timeout):
            raise TimedOut(what, timeout or 0)

    @blocks
    def close(self, link: Link[Any], patience: float) -> int:
        """Close a link; return the exit code."""
        return link.close(patience)


class Events(Taken[E], Blocking, Iterator["E | UnknownEvent | BadLine"]):
    """Events as they come. Ends when the client is closed; raises AgentGone if the agent ends by itself."""

    def __next__(self) -> E | UnknownEvent | BadLine:
        event = self._take() if self._taken else self.next()
        if event is None:
            raise StopIteration
        return event


class Run(RunEvents[E], Events[E]):
    """The events of what one command asked for, up to its end. Raises Refused if it was refused."""


class Client(Agent[E], Blocking):
    """What both protocols have in common."""

    _run_type = Run
    _waits = InThread()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def events(self) -> Events[E]:
        """Return everything that comes from now on, of whatever run."""
        return Events(self, self._link.listen())


class ZotClient(ZotCommands, Client[frames.Event]):
    """An agent that speaks zot's protocol: `linnet rpc`, or `zot rpc`."""


class PiClient(PiCommands, Client[pi.Event]):
    """An agent that speaks pi's protocol: `linnet --mode rpc`, or `pi --mode rpc`, of any version."""


class PiLegacyClient(PiLegacyCommands, Client[pi.Event]):
    """An agent that speaks the protocol pi had before it had answers: `linnet --mode rpc --dialect pi-legacy`."""
