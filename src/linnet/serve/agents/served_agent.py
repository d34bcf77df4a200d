"""One agent of a server: a session that sleeps and wakes, its events, and whoever drives and watches it."""

import os
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from linnet.core import commands
from linnet.core.events import Event
from linnet.errors import Closed
from linnet.eventlog.event_log import EventLog
from linnet.logs import warn
from linnet.runtime.error_report import hand_over
from linnet.runtime.session import Session
from linnet.serve.agents import recipe as recipes
from linnet.serve.agents.askable import Askable, submitted
from linnet.serve.agents.attachment import Attachment
from linnet.serve.agents.cut_off import end
from linnet.serve.agents.doors import Place, Role
from linnet.serve.agents.named_commands import NamedCommands
from linnet.serve.agents.performing import Performing
from linnet.serve.agents.record import Record, save
from linnet.serve.agents.recorder import Recorder
from linnet.serve.agents.sleeping_session import GONE, Act, Refuse, SleepingSession
from linnet.serve.agents.summary import Summary, SummaryFold
from linnet.wire.dialect import Dialect
from linnet.wire.numbered import Framing

if TYPE_CHECKING:
    from linnet.core.toolspec import ToolSpec
    from linnet.serve.agents.shared import Shared

T = TypeVar("T")
ENDING = "the server is shutting down"


class Agent(Askable):
    """`_lock` guards what this object holds: clients, their tools, open files. It is never held while something of the
    session is called.
    """

    may_wait = False

    def __init__(self, folder: str, record: Record, shared: "Shared", env: Mapping[str, str] | None = None) -> None:
        self.id = record.id
        self.record = record
        self._env: Mapping[str, str] = env or {}  # Keys that whoever opened it brought. In memory only.
        self._key: str | None = None  # The same, if it was said in so many words.
        self._folder = folder
        self._shared = shared
        self._lock = RLock()
        self._session = SleepingSession(self._open_again, self._woke_or_slept)
        self._log: EventLog | None = None
        self._closed = False  # No file of it is opened any more.
        self._removed = False  # Nor is anything written.
        self._attachments: list[Attachment] = []
        self._tools: dict[object, Sequence[ToolSpec]] = {}  # By whoever declared them.
        self._named: NamedCommands | None = None
        self._begins: list[Callable[[], None]] = []  # Called when the job that begins is written.
        self.fold = SummaryFold(record.summary, shared.clock, record.spent)
        self.stays_awake = not record.saved  # Or else what only its memory has would be lost.
        self.submit: Callable[[Act, Refuse], None] = self._session.submit

    @property
    def cwd(self) -> str:
        return self.record.cwd

    @property
    def dialect(self) -> str:
        """Return the name of the dialect that it was opened with."""
        return self.record.dialect

    @property
    def session_file(self) -> str | None:
        return self.record.summary.session_file

    @property
    def session_key(self) -> str | None:
        file = self.session_file
        return file if file is not None and os.path.exists(file) else None

    @property
    def session_id(self) -> str:
        return self.record.summary.session_id

    @property
    def idle_since(self) -> float:
        return self._session.idle_since

    @property
    def is_working(self) -> bool:
        """Return whether a prompt or a compaction has begun and not ended."""
        return self.fold.working

    @property
    def is_gone(self) -> bool:
        """Return whether it was closed for good."""
        return self._session.is_gone

    @property
    def is_busy(self) -> bool:
        """Return whether anything runs or waits to run."""
        return self._session.is_busy

    def summary(self) -> Summary:
        """Return how the agent is, as lists show it. Never blocks."""
        shown = self.record.summary
        shown.seq = self._log.told if self._log is not None else shown.seq
        attachments = list(self._attachments)
        shown.drivers = sum(each.role == "drive" for each in attachments)
        shown.watchers = len(attachments) - shown.drivers
        asleep = self._session.is_asleep and shown.state == "idle"
        return replace(shown, state="asleep") if asleep else shown

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
        Performing(self, dialect, role, client, lambda: lambda line, heed: send(line)).take(line, key)

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
        """Return a new client of this agent, which is told what comes after the number; None: what comes from now on.
        `wake` is called in any thread when there is something to take. Raises LinnetError, OSError.
        """
        with self._lock:
            if self._session.is_gone:
                raise Closed(GONE)
            attachment = Attachment(self, self.log, dialect, framing, role, wake, client)
            self._attachments.append(attachment)
        attachment.begin(after)
        if self._session.is_asleep and self.log.live()[1]:
            self.wake()  # What a killed process left open is ended, also if its record did not know of it.
        self.tell_changed()
        return attachment

    def detach(self, attachment: Attachment) -> None:
        """Forget a client, with the tools that it ran. Idempotent."""
        with self._lock:
            if attachment not in self._attachments:
                return
            self._attachments.remove(attachment)
            left = attachment.role == "drive" and not any(each.role == "drive" for each in self._attachments)
            tools = self._tools.pop(attachment, None)
            self._close_log_if_unused_locked()
        if tools is not None:
            self.quietly(commands.SetTools(self.tools()))
        if left and self._shared.options.on_detach == "abort" and self.is_working:
            self.quietly(commands.Abort())
        self.tell_changed()

    def performing(self, dialect: Dialect, role: Role, client: str, place: Place, owner: object) -> Performing:
        return Performing(self, dialect, role, client, place, owner)

    def declare(self, owner: object, specs: "Sequence[ToolSpec]") -> "tuple[ToolSpec, ...]":
        """Take note of the tools that one client runs, instead of those it had; return those of all."""
        with self._lock:
            self._tools[owner] = specs
        return self.tools()

    def tools(self) -> "tuple[ToolSpec, ...]":
        """Return the tools that clients run; of two with one name, the one that was declared last."""
        with self._lock:
            return tuple({spec.name: spec for specs in self._tools.values() for spec in specs}.values())

    @property
    def named(self) -> NamedCommands:
        """Return the commands of clients that name themselves. Raises OSError, and Closed at the end."""
        with self._lock:
            if self._closed:
                raise Closed(GONE)
            if self._named is None:
                path = os.path.join(self._folder, "commands.jsonl")
                self._named = NamedCommands(path, self._shared.clock, self._shared.options.limits.milliseconds)
            return self._named

    def rest_named(self) -> None:
        """Hold no named commands in memory while it sleeps: a repetition is answered without waking it."""
        if self._session.is_asleep and self._named is not None:
            self._named.rest()

    @property
    def log(self) -> EventLog:
        """Return its events. Raises OSError, and Closed at the end."""
        with self._lock:
            if self._closed:
                raise Closed(GONE)
            if self._log is None:
                folder = os.path.join(self._folder, "events")
                limits = self._shared.options.limits
                told = self.record.summary.seq
                self._log = EventLog(folder, self._shared.reserved, self._shared.clock, limits, least=told)
            return self._log

    def refusal(self, command: commands.Command) -> tuple[str, str]:
        """Return why the server does not let this be begun, and a code; empty if it does."""
        return self._shared.refusal(command, self.fold.spent)

    def begin(self, made: recipes.Recipe) -> Session:
        """Open its session for the first time, in this thread. Raises LinnetError, and then it is gone."""
        self._key = made.flags.config.get("api_key")
        return self._session.begin(lambda: self._opened(made))

    def wake(self) -> None:
        """Have it wake, without anything to do."""
        self.submit(lambda session: None, lambda error: None)

    def sleep(self) -> bool:
        """Have it fall asleep if nothing of it is used, and return whether it did. Blocks for a moment."""
        return not self.stays_awake and self._session.sleep()

    def stop(self) -> None:
        """Abort what runs, so that `close` need not wait long for it."""
        self._session.stop()

    def close(self, *, gone: bool = False) -> None:
        """Close the session, and let go of all files. With `gone`, the agent is removed, and clients are told. Blocks
        until what runs has ended. Idempotent.
        """
        slept = self._session.is_asleep
        with self._lock:
            self._removed = self._removed or gone
        self._session.close(GONE if gone else ENDING)
        for attachment in list(self._attachments):
            attachment.end()
        with self._lock:
            if not slept:  # Or else that was written when it fell asleep.
                self.keep()
            self._closed = True
            if self._named is not None:
                self._named.close()
            self._close_log_locked()

    def keep(self) -> None:
        """Write down how it is, unless it was removed."""
        with self._lock:
            if self._removed:
                return
            if self._log is not None:
                self.record.summary.seq = self._log.told
            self.record.working, self.record.spent = self.fold.working, self.fold.spent
            save(self._folder, self.record)

    def rest(self) -> None:
        """Take note that all jobs and background commands have ended."""
        self._session.idle_since = monotonic()
        for attachment in list(self._attachments):
            attachment.poke()

    def when_begun(self, tell: Callable[[], None]) -> None:
        """Call this function when the job is written that begins now. Called with the session's lock held."""
        self._begins.append(tell)

    def begun(self) -> None:
        """Take note that a job has begun, and is written. Called with the session's lock held."""
        begins, self._begins = self._begins, []
        for tell in begins:
            tell()

    def end_step(self) -> None:
        """Take note that a step has ended: if the server is to end, so is the run."""
        if self._shared.draining:
            hand_over("linnet-drain", lambda: self.quietly(commands.Abort()))

    def tell_changed(self) -> None:
        """Have it told that its summary has changed."""
        self._shared.changed(self.id)

    def count(self, events: Sequence[Event], cost: float) -> None:
        """Count what has happened, and what that cost."""
        self._shared.count_events(len(events), cost)

    def count_command(self) -> None:
        self._shared.count_command()

    def warn(self, sentence: str) -> None:
        warn(__name__, f"agent {self.id}: {sentence}")

    def _opened(self, made: recipes.Recipe) -> Session:
        """Open the session. Raises LinnetError."""
        environ = {**self._shared.environ, **self._env}
        factory = recipes.factory_of(made, environ, own_process=self._shared.own_process)
        settings = factory.first()
        recorder = Recorder(self, self.log)
        session = factory.open(settings, [recorder], answerable=True)
        recorder.opened(session, settings)
        return session

    def _open_again(self) -> Session:
        """Open the session that is asleep, as it was. Raises LinnetError."""
        file = self.session_file
        written = file if file is not None and os.path.exists(file) else None
        session = self._opened(recipes.again(self.record, written, self._shared.options.defaults, self._key))
        try:
            if self.record.cleared:
                submitted(session, commands.Clear())
            if self._tools:
                submitted(session, commands.SetTools(self.tools()))
            self._end_what_is_open(session)
        except BaseException:
            session.close()
            raise
        return session

    def _end_what_is_open(self, session: Session) -> None:
        """Tell the end of what an earlier process had begun and not ended."""
        with session.still:
            _, opened = self.log.live()
            if not opened:
                return
            end(session, opened, self._note, self._shared.clock())
        self.keep()

    def _note(self, happened: Sequence[Event]) -> None:
        """Have followers told what the session knows."""
        self.log.append(happened)
        self.fold.apply(happened)

    def _woke_or_slept(self) -> None:
        with self._lock:  # It may wake just as it has fallen asleep: whoever looks last sees how it is.
            if self._session.is_asleep:
                self._shared.fell_asleep(self)
                self.keep()
                if self._log is not None:
                    self._log.settle()  # Here, and not in the thread of whoever leaves last.
                self.rest_named()
                self._close_log_if_unused_locked()
            else:
                self._shared.awoke(self)
        for attachment in list(self._attachments):
            attachment.poke()  # It may be all that was waited for.
        self.tell_changed()

    def _close_log_if_unused_locked(self) -> None:
        if self._session.is_asleep and not self._attachments:
            self._close_log_locked()

    def _close_log_locked(self) -> None:
        if self._log is not None:
            self.record.summary.seq = self._log.told
            self._log.close()
            self._log = None
