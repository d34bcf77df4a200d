"""An agent that runs on some worker, as a door of this process sees it."""

from collections.abc import Callable
from threading import Event as Signal
from threading import Lock
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

from msgspec.json import encode
from msgspec.structs import replace

from linnet.core import commands
from linnet.core.fleet.records import Asked as Queued
from linnet.core.fleet.records import Kind, Shown
from linnet.core.messages import ToolCall
from linnet.decoding import decoder_of
from linnet.errors import Closed, LinnetError, LogUnavailable
from linnet.fleet.asides import Said, SnapshotWanted
from linnet.fleet.door.following import Following, Heard
from linnet.fleet.door.remote_performing import GONE, RemotePerforming, sending
from linnet.fleet.fleet_record import FleetRecord, read
from linnet.serve.agents.attachment import Attachment
from linnet.serve.agents.doors import Place, Role
from linnet.serve.agents.summary import Summary
from linnet.wire.dialect import Dialect
from linnet.wire.jsonl import encode_lines
from linnet.wire.numbered import Framing
from linnet.wire.served_frames import Unavailable

if TYPE_CHECKING:
    from linnet.fleet.door.depot_host import DepotHost

PATIENCE = 60.0  # Seconds for a worker to answer what somebody waits for.
NOBODY = "no worker has answered in time"


class RemoteAgent:
    """`ServedAgent` for an agent of a depot. `_lock` guards who follows it."""

    may_wait = True

    def __init__(self, host: "DepotHost", shown: Shown) -> None:
        self.id = shown.id
        self._host = host
        self._shown = shown
        self._found: FleetRecord = read(shown.record)
        self._lock = Lock()
        self._following: Following | None = None
        self._attachments: list[Attachment] = []
        self._connections: dict[object, str] = {}
        self._declaring: set[str] = set()  # Connections whose client runs tools.

    def see(self, shown: Shown) -> bool:
        """Take note of how it is now, and return whether that is something else. Raises SessionError."""
        if shown.record != self._shown.record:
            self._found = read(shown.record)
        before, self._shown = self._shown, shown
        return before != shown

    @property
    def last(self) -> int:
        """Return the number of its last event, as far as that is known."""
        return self._shown.last

    @property
    def record(self) -> FleetRecord:
        return self._found

    @property
    def cwd(self) -> str:
        return self._found.record.cwd

    @property
    def dialect(self) -> str:
        return self._found.record.dialect

    @property
    def session_key(self) -> str | None:
        return self._found.record.summary.session_id or None

    @property
    def is_busy(self) -> bool:
        following = self._following
        return self._shown.working if following is None else following.busy or following.waits

    @property
    def is_working(self) -> bool:
        return self._shown.working

    def summary(self) -> Summary:
        shown = self._found.record.summary
        attachments = list(self._attachments)
        drivers = sum(each.role == "drive" for each in attachments)
        state = shown.state if self._shown.owner or self._shown.working else "asleep"
        error = self._shown.parked or shown.error
        return replace(
            shown,
            id=self.id,
            seq=self._shown.last,
            drivers=drivers,
            watchers=len(attachments) - drivers,
            state="idle" if self._shown.parked else state,
            error=error,
        )

    def refusal(self, command: commands.Command) -> tuple[str, str]:
        if self._shown.parked:
            return f"the agent was set aside: {self._shown.parked}", "parked"
        return self._host.refusal(command, self._found.record.spent)

    def declares(self, connection: str) -> None:
        """Take note that the client of a connection runs tools, which go when that goes."""
        self._declaring.add(connection)

    def count_command(self) -> None:
        self._host.count_command()

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
        try:
            self._follow()
        except LinnetError as error:
            asked = dialect.decode(line)
            send(dialect.refuse(asked, str(error), error.code))
            return

        def done(answer: bytes) -> None:
            self._unfollow()
            send(answer)

        owner = f"{client or 'http'}"
        performing = RemotePerforming(self, dialect, role, client, sending(done), owner)
        performing.carry_out(dialect.decode(line), line, key)

    def performing(self, dialect: Dialect, role: Role, client: str, place: Place, owner: object) -> RemotePerforming:
        connection = self._connections.setdefault(owner, uuid4().hex)
        return RemotePerforming(self, dialect, role, client, place, connection)

    def ask(self, said: Queued, heard: Heard) -> Literal["new", "waits", "reused", "gone"]:
        """Put a command into the inbox. `heard` is called with its answer, if there will be one. Raises LinnetError."""
        following = self._following
        if following is None:
            raise Closed(GONE)
        name = said.client, said.name
        following.expect(name, heard)
        became = self._host.asked(self.id, said)
        if isinstance(became, bytes):
            following.settle(name, became)
            return "waits"
        if became in ("reused", "gone"):
            following.forget(name, heard)
        return became

    def attach(
        self,
        dialect: Dialect,
        *,
        framing: Framing,
        after: int | None,
        role: Role,
        wake: Callable[[], None],
        client: str = "",
    ) -> Attachment:
        following = self._follow()
        attachment = Attachment(self, following.log, dialect, framing, role, wake, client)
        with self._lock:
            self._attachments.append(attachment)
        try:
            attachment.begin(after)
        except BaseException:
            attachment.close()
            raise
        self._host.changed(self.id)
        return attachment

    def detach(self, attachment: Attachment) -> None:
        with self._lock:
            if attachment not in self._attachments:
                return
            self._attachments.remove(attachment)
            connection = self._connections.pop(attachment, "")
            left = attachment.role == "drive" and not any(each.role == "drive" for each in self._attachments)
        if connection in self._declaring:
            self._declaring.discard(connection)
            self._quietly("forget", connection)
        if left and self._host.options.on_detach == "abort" and self.is_working:
            self._quietly("abort", uuid4().hex)
        self._unfollow()
        self._host.changed(self.id)

    def snapshot(self, dialect: Dialect, last: int | None = None, before: int | None = None) -> bytes:
        found: list[bytes] = []
        done = Signal()

        def heard(line: bytes, after: int) -> None:
            found.append(line)
            done.set()

        self._aside("snapshot", encode(SnapshotWanted(last, before, whole=True)), heard, dialect)
        if not done.wait(PATIENCE):
            raise LogUnavailable(NOBODY)
        said = decoder_of(Said).decode(found[0])
        if said.error:
            raise LinnetError(said.error)
        return bytes(said.said)

    def tell_snapshot(self, dialect: Dialect, tell: Callable[[int, bytes], None]) -> None:
        def heard(line: bytes, after: int) -> None:
            said = decoder_of(Said).decode(line)
            tell(after, encode_lines([Unavailable(said.error)]) if said.error else bytes(said.said) + b"\n")

        try:
            self._aside("snapshot", encode(SnapshotWanted()), heard, dialect)
        except LinnetError as error:
            tell(self._shown.last, encode_lines([Unavailable(str(error))]))

    def denies(self, call: ToolCall) -> bool:
        found: list[bytes] = []
        done = Signal()

        def heard(line: bytes, after: int) -> None:
            found.append(line)
            done.set()

        self._aside("denies", encode(call), heard, None)
        if not done.wait(PATIENCE):
            raise LogUnavailable(NOBODY)
        said = decoder_of(Said).decode(found[0])
        if said.error:
            raise LinnetError(said.error)
        return bool(decoder_of(bool).decode(said.said))

    def end_input(self, *, finishes: bool) -> None:
        self._quietly("end_input", uuid4().hex, b"finishes" if finishes else b"")

    def poke(self) -> None:
        """Look for what is new. Never blocks."""
        following = self._following
        if following is not None:
            following.poke()

    def gone(self) -> None:
        """Take note that it was removed: clients are told."""
        for attachment in list(self._attachments):
            attachment.end()

    def _follow(self) -> Following:
        """Follow it, for one more client. Raises LinnetError."""
        with self._lock:
            if self._following is None:
                following = Following(self._host.depot, self.id, self._rests, self._broken)
                following.begin(self._shown.last)
                self._following = following
            self._following.users += 1
            following = self._following
        self._host.follows(self, True)
        following.poke()
        return following

    def _unfollow(self) -> None:
        with self._lock:
            following = self._following
            if following is None:
                return
            following.users -= 1
            if following.users:
                return
            self._following = None
            following.stop()
        self._host.follows(self, False)

    def _rests(self) -> None:
        for attachment in list(self._attachments):
            attachment.poke()

    def _broken(self, error: LinnetError) -> None:
        """Take note that it cannot be followed: clients attach anew."""
        self._host.warn(f"agent {self.id} cannot be followed: {error}")
        self.gone()

    def _aside(self, kind: Kind, line: bytes, heard: Heard, dialect: Dialect | None) -> None:
        """Ask the worker something that is no command. Raises LinnetError."""
        self._follow()

        def done(answer: bytes, after: int) -> None:
            self._unfollow()
            heard(answer, after)

        spoken = dialect.name if dialect is not None else ""
        try:
            became = self.ask(Queued(client="door", name=uuid4().hex, kind=kind, dialect=spoken, line=line), done)
            if became == "gone":
                raise Closed(GONE)
        except BaseException:
            self._unfollow()
            raise

    def _quietly(self, kind: Kind, client: str, line: bytes = b"") -> None:
        """Have the worker do something for which nobody waits."""
        self._host.quietly(self.id, Queued(client=client, name=kind, kind=kind, line=line))
