"""One connection to the socket: a first line, and then an agent's lines both ways."""

import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from linnet.errors import LinnetError
from linnet.runtime.error_report import as_error, hand_over
from linnet.serve.agents.attachment import Attachment
from linnet.serve.agents.dialects import made
from linnet.serve.agents.doors import AgentHost
from linnet.serve.agents.host import NoSuchAgent, OpenRequest
from linnet.serve.unix.first_line import (
    Agents,
    AgentsListed,
    Attach,
    Attached,
    FirstLine,
    Open,
    Refused,
    answered,
    refused,
    understood,
)
from linnet.wire.jsonl import Lines, Overlong

if TYPE_CHECKING:
    from linnet.serve.unix.loop import Loop

CHUNK = 64 * 1024
TURN = 1024 * 1024  # Bytes that one client is sent before others have their turn.
MOST_LINES = 1024  # Unseen lines above which a client is not read from.


class Client:
    """Invariants: what is sent stays in order. One thread, the loop's, reads and writes; agents are opened and attached
    to in threads of their own, and what a client sends meanwhile waits.
    """

    def __init__(self, connection: socket.socket, loop: "Loop", host: AgentHost) -> None:
        self.connection: socket.socket | None = connection
        self.fd = connection.fileno()
        self._loop = loop
        self._host = host
        self._lines = Lines()
        self._unseen: deque[bytes | Overlong] = deque()
        self.occupied = False
        """A thread sees to a line: the first, or one that begins something. What comes after it waits."""
        self._attachment: Attachment | None = None
        self._owns = False  # The agent is closed when this client has ended.
        self._removing = False  # A thread closes the agent; the connection ends after that.
        self._finishes = True
        self._sending: memoryview | None = None
        self._notices: deque[bytes] = deque()  # Answers to first lines. Any thread adds to it.
        self._input_ended = False
        self._told_end = False  # The agent knows that, if it goes with this client.
        self._ending = False  # The connection is closed as soon as all is sent.
        self.blocked = False
        """The kernel takes no more for now."""
        self.poked = False
        """The loop is to look at it, and has not yet."""

    @property
    def may_read(self) -> bool:
        """Return whether the loop should read from this client."""
        return self._may_take and not self._input_ended and len(self._unseen) <= MOST_LINES

    @property
    def _may_take(self) -> bool:
        """Return whether the next line may be carried out: not for a client that has too much to read already."""
        attachment = self._attachment
        full = bool(self._notices) if attachment is None else attachment.is_full
        return not (self._ending or self.occupied or full)

    def read(self) -> None:
        """Read what the client has sent, and carry it out."""
        if self.connection is None or not self.may_read:
            return
        try:
            chunk = self.connection.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self._input_ended = not chunk
        self._unseen.extend(self._lines.feed(chunk) if chunk else self._lines.finish())
        self._take_lines()

    def write(self) -> None:
        """Send what there is, as far as the kernel takes it."""
        self.blocked = False
        self._take_lines()
        if self.connection is None:
            self._let_go()
            return
        sent = 0
        while self.connection is not None and sent < TURN:
            if self._sending is None:
                data = self._next()
                if data is None:
                    break
                self._sending = memoryview(data)
            try:
                count = self.connection.send(self._sending)
            except BlockingIOError:
                self.blocked = True
                return
            except OSError:
                self.close()
                return
            sent += count
            self._sending = self._sending[count:] if count < len(self._sending) else None
        if sent >= TURN or (self._unseen and self._may_take):  # There is room for more answers.
            self._loop.poke(self)  # The others first.
            return
        self._finish()

    def end(self) -> None:
        """Read nothing any more, and close the connection when all is sent."""
        self._ending = True
        self._loop.poke(self)

    def close(self) -> None:
        """Close the connection, and let go of the agent. One that goes with it ends its work first. Idempotent."""
        connection, self.connection = self.connection, None
        if connection is None:
            return
        self._loop.forget(self)
        connection.close()
        self._sending = None
        self._let_go()

    def _let_go(self) -> None:
        """Let go of the agent, since nobody is connected any more; called again when what goes on by then is over."""
        if self.occupied:
            return
        self._unseen.clear()  # It had more answers to read than it may, and reads none any more.
        self._notices.clear()
        attachment = self._attachment
        if attachment is None:
            return
        if self._owns:
            self._end_input()
            self._finish()
        elif not self._removing:
            attachment.close()

    def _next(self) -> bytes | None:
        if self._notices:
            return self._notices.popleft()
        return self._attachment.take() if self._attachment is not None else None

    def _take_lines(self) -> None:
        while self._unseen and self._may_take:
            line = self._unseen.popleft()
            if isinstance(line, bytes) and (not line or line.isspace()):
                continue
            if self._attachment is None:
                self._take_first(line)
            else:
                begin = self._attachment.command(line)
                if begin is not None:
                    self._occupy(begin)
        if self._input_ended and not self.occupied and (self._ending or not self._unseen):
            self._end_input()

    def _take_first(self, line: bytes | Overlong) -> None:
        """See to a first line: at once, or in a thread if that may take its time."""
        said = understood(line)
        if isinstance(said, Refused):
            self._end_with(refused(said, said.reason, said.code))
        elif isinstance(said, Agents):
            self._notices.append(answered(said, AgentsListed(self._host.summaries())))
            self._loop.poke(self)
        else:
            self._occupy(lambda: self._open(said))

    def _occupy(self, act: Callable[[], None]) -> None:
        """Have a thread do this; what the client sends meanwhile waits."""

        def done() -> None:
            act()
            self.occupied = False
            self._loop.poke(self)

        self.occupied = True
        self._loop.beginnings.add(done)

    def _open(self, said: Open | Attach) -> None:
        """Open an agent, or attach to one: what a thread of its own does."""
        try:
            if isinstance(said, Open):
                self._opened(said)
            else:
                self._attached(said)
        except Exception as fault:
            self._end_with(refused(said, as_error(fault, "an agent could not be opened")))

    def _opened(self, said: Open) -> None:
        request = OpenRequest(
            dialect=said.dialect, cwd=said.cwd, flags=said.flags, env=said.env, program=said.program, keep=said.keep
        )
        opened = self._host.open(request)
        try:
            attachment = opened.agent.attach(
                opened.dialect,
                framing="seq" if said.cursor else "plain",
                after=None,
                role="drive",
                wake=lambda: self._loop.poke(self),
                client=said.client,
            )
        except Exception:
            self._host.remove(opened.agent.id)  # Nobody will hear of it.
            raise
        self._owns = not said.keep
        self._begin(said, attachment, opened.name, opened.remarks, finishes=opened.dialect.finishes)

    def _attached(self, said: Attach) -> None:
        agent = self._host.find(said.agent)
        name = said.dialect or agent.dialect
        dialect = made(name, stream=said.stream, settled=said.settled, show_thinking=said.show_thinking)
        attachment = agent.attach(
            dialect,
            framing="seq" if said.cursor else "plain",
            after=said.after,
            role=said.role,
            wake=lambda: self._loop.poke(self),
            client=said.client,
        )
        self._begin(said, attachment, name, (), finishes=dialect.finishes)

    def _begin(
        self, said: FirstLine, attachment: Attachment, name: str, remarks: tuple[str, ...], *, finishes: bool
    ) -> None:
        agent = attachment.agent
        told = Attached(agent.id, attachment.position, name, remarks)
        self._finishes = finishes
        self._notices.append(answered(said, told))
        self._attachment = attachment

    def _end_with(self, line: bytes) -> None:
        self._notices.append(line)
        self._ending = True
        self._loop.poke(self)

    def _end_input(self) -> None:
        """Take note that the client sends nothing any more; if the agent goes with it, so does the agent."""
        self._input_ended = True
        if self._told_end:
            return
        self._told_end = True
        attachment = self._attachment
        if attachment is None:
            self._ending = True
        elif self._owns:
            attachment.agent.end_input(finishes=self._finishes)
        self._loop.poke(self)

    def _finish(self) -> None:
        """Close the connection if nothing is left to be sent, and an agent that goes with it if its work is done."""
        attachment = self._attachment
        if self._sending is not None or self.occupied or self._notices:
            return
        if attachment is None:
            if self._ending or self._input_ended:
                self.close()
            return
        if attachment.ended or (self._ending and self.connection is not None):
            self._owns = False
            self.close()
            attachment.close()
            return
        if not self._input_ended or self._removing or attachment.role == "watch":
            return
        gone = self.connection is None
        if (attachment.is_answered or gone) and not attachment.agent.is_busy:
            if not gone and (data := self._next()) is not None:  # A run tells its end before it stops being busy.
                self._sending = memoryview(data)
                self._loop.poke(self)
            elif self._owns:
                self._owns, self._removing = False, True
                try:
                    hand_over("linnet-close", lambda: self._remove(attachment))
                except LinnetError:  # No thread: others wait, and nothing is left behind.
                    self._remove(attachment)
            else:
                self.close()

    def _remove(self, attachment: Attachment) -> None:
        """Close the agent: what a thread of its own does. Whoever is attached to it is told."""
        with suppress(NoSuchAgent):  # Somebody else has.
            self._host.remove(attachment.agent.id)
        if self.connection is None:
            attachment.close()
