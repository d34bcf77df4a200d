"""One conversation, and the one way in for whatever is asked of it. How it is told to anybody is not known here."""

import os
import time
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from linnet.core import commands
from linnet.core.events import Cleared, Event, SessionEntered
from linnet.core.messages import Usage
from linnet.errors import BadInput, Closed, ConfigError
from linnet.runtime.broadcast import Broadcast, act
from linnet.runtime.error_report import as_error, park
from linnet.runtime.listener import Listener
from linnet.runtime.queries import Queries
from linnet.runtime.requester import PendingRequest, Requester
from linnet.runtime.sessions.storage import Storage, entry_id, session_id
from linnet.runtime.settings.settings import Settings
from linnet.runtime.slash_commands import SlashCommands
from linnet.runtime.state import SessionState
from linnet.runtime.tools.open_questions import OpenQuestions
from linnet.runtime.tools.session_tools import SessionTools

if TYPE_CHECKING:
    from linnet.runtime.adoption import Adoption
    from linnet.runtime.extensions.session_extensions import SessionExtensions
    from linnet.runtime.jobs import Jobs
    from linnet.runtime.resources import Resources
    from linnet.store.factory import LogFactory
    from linnet.store.header import Header

ENDING = 5.0  # Seconds for an aborted run to tell its end: a moment, but on a busy machine, or if it cannot be killed.
_IN_THE_FILE = (commands.GetBranchMessages, commands.GetTree, commands.GetEntries, commands.SetSessionName)


class Session:
    """State changes happen under one lock, and whoever is told of them is told in their order."""

    def __init__(
        self,
        resources: "Resources",
        listeners: Sequence[Listener] = (),
        *,
        answerable: bool = False,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        new_id: Callable[[], str] = entry_id,
        new_session_id: Callable[[], str] = session_id,
        logs: "LogFactory | None" = None,
    ) -> None:
        """`resources` have the settings. `answerable`: one of the listeners puts questions to somebody who may answer.
        `logs`: where to save sessions, if not in files.

        Raises SessionError or ConfigError if a session was asked for that cannot be used.
        """
        self._live = live = resources.live
        settings = live.now
        _check_named(settings)
        if settings.sandbox:
            settings.project.watch()
        state = SessionState(
            settings.model, settings.reasoning, auto_compaction=settings.auto_compaction, auto_retry=settings.retry_runs
        )
        state.queues.steering_mode = settings.steering_mode
        state.queues.follow_up_mode = settings.follow_up_mode
        storage = Storage(new_id, settings.sessions.spelled)
        self.remarks: Sequence[str] = settings.remarks  # What whoever started the program should know.
        self._resources, self._storage = resources, storage
        ended = self.close if logs is not None and logs.may_wait else None
        keeping = [storage] if settings.sessions.wanted or ended is not None else []
        self._broadcast = storage.broadcast = Broadcast(state, [*keeping, *listeners], storage.new_id, ended)
        self.tell = self._broadcast.tell  # Calls something in the order of what is told.
        if settings.sessions.wanted:
            from linnet.runtime.sessions.first import open_first, sessions_of

            storage.sessions = sessions_of(live, clock, new_id, new_session_id, logs, self._broadcast.telling)
            self.remarks = [*settings.remarks, *open_first(settings, state, storage)]
        else:
            state.apply(SessionEntered(session_id=new_session_id()))
        self._questions = OpenQuestions(self._broadcast, session_id, answerable=answerable)
        self._slash = SlashCommands()
        self._slash.add(resources.inputs.listed)
        self._queries = Queries(state, storage, live, self._questions, self._slash)
        self._session_tools = SessionTools(live, resources, self._questions)
        self._broadcast.add(self._session_tools, frozenset((SessionEntered,)))
        state.has_tools = self._session_tools.offers_any
        self._adoption: Adoption | None = None
        self._numbers = count(1)
        self._clock, self._new_session_id = clock, new_session_id
        self._extensions: SessionExtensions | None = None
        self._looked = self._reloaded = False
        self._broadcast.begin()

    def submit(self, command: commands.Command, requester: Requester, *, may_wait: bool = True) -> int:
        """Carry it out, now or when its turn comes, and answer the requester. Never raises.

        With `may_wait` false, work is refused with Busy while other work is active. Returns a number to abort it by: a
        job is active from here on, so that an abort that follows will find it.
        """
        number, requester = next(self._numbers), self._broadcast.in_turn(requester)
        try:
            if isinstance(command, commands.Ordered) and self._may_have_extensions(command):
                self._jobs.arrive(number, PendingRequest(requester, command, may_wait=may_wait))
            else:
                self._carry_out(number, command, requester, may_wait=may_wait)
        except Exception as fault:
            requester.refused(as_error(fault, f"a command broke: {type(command).__name__}"))
        return number

    def abort(self, number: int) -> None:
        """Abort that job, if it is the active one."""
        self._jobs.abort(number)

    @property
    def busy(self) -> bool:
        """Return whether anything runs, or waits to be told; what waits to run is started as the last one ends."""
        return self._jobs.busy or self._broadcast.is_owing()

    @property
    def id(self) -> str:
        """Return the id of the open session. This, `file`, `name` and `spent` are read without the lock, at once."""
        return self._broadcast.state.session_id

    @property
    def file(self) -> str | None:
        return self._broadcast.state.session_file

    @property
    def header(self) -> "Header | None":
        """Return the header of the session that is open, kept or not; None if there is none."""
        journal = self._storage.journal
        return journal.store.header if journal is not None else None

    @property
    def name(self) -> str:
        journal = self._storage.journal
        return journal.store.name if journal is not None else ""

    @property
    def spent(self) -> Usage:
        return self._broadcast.state.spent

    def survey(self, *, at_first: bool = False) -> None:
        """Tell, if nobody has said whether the project is trusted, what is left out of what it brings; `at_first`
        unless a `reload` came before, which tells it.
        """
        untrusted = self._settings.project.survey()
        if untrusted is not None:
            with self._broadcast.lock:
                if not (at_first and self._reloaded):
                    self._broadcast.publish([untrusted])

    def tell_doubts(self) -> None:
        """Tell clients of tools that rules name and nobody has. Where there are extensions, it is they who tell."""
        if self._settings.unheard_tools and not self._may_have_extensions():
            from linnet.runtime.settings.rules import doubtful

            with self._broadcast.lock:
                self._broadcast.publish(doubtful(self._settings.unheard_tools))

    def warm(self) -> None:
        """Import and build what the first run will need."""
        import linnet.runtime.run.worker

        _ = self._jobs
        if self._storage.journal is not None:
            import linnet.store.words  # noqa: F401

        self.survey(at_first=True)
        if self._may_have_extensions():
            self._jobs.want_extensions()
        else:
            self.tell_doubts()
        with self._broadcast.lock:
            self._broadcast.state.conversation.read_ahead()
        self._storage.sync()
        self._resources.warm()
        if not self._resources.has_servers:  # Those take long to import, and whoever has some waits for them anyway.
            _ = self._session_tools.tools
        park()

    def end_input(self) -> None:
        """Take note that nobody will answer any more: what is asked, and what will be, counts as not answered.

        Nor will anybody abort a command: one that goes on when all else is finished is ended.
        """
        self._questions.close()
        self._jobs.end_input()

    def finish(self) -> None:
        """Wait until nothing runs and nothing waits."""
        self._jobs.wait(None)
        self._broadcast.drain()

    def close(self, timeout: float = 0.5) -> None:
        """Refuse what waits, abort what runs, leave no child behind; what runs in the background has so many seconds to
        end. The last events of a run are waited for longer: whoever follows it depends on them. Idempotent.
        """
        self._questions.close()
        self._jobs.close()
        self._jobs.wait(timeout)
        self._jobs.wait_inactive(max(0.0, ENDING - timeout))
        self._jobs.abandon()
        if self._extensions is not None:
            self._extensions.close()
        with self._broadcast.lock:
            self._storage.close()
        self._broadcast.close(ENDING)
        self._resources.close()

    @cached_property
    def _jobs(self) -> "Jobs":
        """Made when it is first needed: the first question to be answered is seldom about a job."""
        from linnet.runtime.jobs import Jobs

        live, tools, broadcast, storage = self._live, self._session_tools, self._broadcast, self._storage
        return Jobs(live, tools, broadcast, storage, self._clock, self._new_session_id)

    @property
    def _settings(self) -> Settings:
        """Return what holds now."""
        return self._live.now

    def _trust(self, command: commands.Trust, requester: Requester) -> None:
        """Take an answer about the project. Files are read without the lock; what follows is for the next run."""
        settings, was = self._settings, self._settings.project.standing
        try:
            settings.project.answer(command.answer)
        except BadInput:
            self.survey()  # There is something else by now, which should be seen before it is trusted.
            raise
        changed = settings.project.standing != was
        if changed:
            settings = self._resolved_again(settings)
        with self._broadcast.lock:
            if changed:
                self._offer_locked(settings)
            requester.finished(commands.Ok())

    def _offer_locked(self, settings: Settings) -> None:
        """Let these hold from the next run on, whenever that is."""
        from linnet.runtime.adoption import Adoption

        if self._adoption is None:
            self._adoption = Adoption(self._live, self._changed_locked)
            self._broadcast.add(self._adoption)
        self._adoption.offer_locked(settings, active=self._jobs.active)

    def _decide_again(self) -> None:
        """Find out, before extensions are read again, whether the project is what was trusted. Files are read without
        the lock. Raises ConfigError if what holds then cannot be used.
        """
        self._reloaded = True
        if self._settings.project.decide_again():
            settings = self._settings.again()
            with self._broadcast.lock:
                self._offer_locked(settings)
                # They are about to be read. Nothing follows from this fact alone, so that the lock may be held.
                self._jobs.outdate_extensions(outdated=False)
        self.survey()

    @staticmethod
    def _resolved_again(settings: Settings) -> Settings:
        try:
            settings = settings.again()
            _check_named(settings)
            return settings
        except ConfigError:
            settings.project.withdraw()  # What cannot be used is not trusted either.
            raise

    def _changed_locked(self, before: Settings, events: list[Event]) -> None:
        """Tell that other settings hold. Extensions were read by those before, and are read again."""
        self._looked = False
        if self._extensions is not None:
            self._jobs.outdate_extensions()  # It is kept for the next that needs them: nothing follows now.
        self._broadcast.publish(events)
        if self._settings.unheard_tools != before.unheard_tools:
            self.tell_doubts()

    def _carry_out(self, number: int, command: commands.Command, requester: Requester, *, may_wait: bool) -> None:
        """Take a command, which extensions no longer keep, where it belongs. Raises LinnetError for what is refused."""
        if isinstance(command, commands.Prompt) and command.text.startswith("/"):
            command = self._resources.inputs.resolved(command, self._session_tools.chain)
        if not self._settings.needs_key and isinstance(command, commands.Prompt | commands.Compact):
            self._settings.accounts.require(self._broadcast.state.model.provider)
        if isinstance(command, commands.Work):
            self._jobs.submit(number, command, requester, may_wait=may_wait)
        elif isinstance(command, commands.Background):
            self._jobs.launch(number, command, requester)
        elif isinstance(command, commands.Trust):
            self._trust(command, requester)
        elif isinstance(command, commands.Control):
            self._control(command, requester)
        else:
            self._answer(command, requester)

    def _may_have_extensions(self, command: commands.Command | None = None) -> bool:
        """Return whether there may be any. Looks once, unless the command is about them."""
        if self._extensions is None and (isinstance(command, commands.Reload) or not self._looked):
            wanted = isinstance(command, commands.Reload) or self._settings.may_have_extensions
            with self._broadcast.lock:
                if self._extensions is None and wanted:
                    self._extensions = self._build_extending()
                self._looked = True
        return self._extensions is not None

    def _build_extending(self) -> "SessionExtensions":
        from linnet.runtime.extensions.admission import Admission
        from linnet.runtime.extensions.extension_host import SessionHost
        from linnet.runtime.extensions.session_extensions import SessionExtensions

        host = SessionHost(
            self,
            self._live,
            self._resources,
            self._broadcast,
            self._storage,
            self._questions,
            self._jobs,
            self._clock,
            self._session_tools,
        )
        extending = SessionExtensions(self._live, self._broadcast, self._session_tools, host)
        self._broadcast.add(extending)
        self._slash.add(extending.commands)
        self._jobs.admission = Admission(
            extending, self._jobs, self._carry_out_request, self._decide_again, self._broadcast.broke
        )
        return extending

    def _carry_out_request(self, number: int, request: PendingRequest) -> None:
        """Carry out a command that has waited for extensions. Raises LinnetError for what is refused at once."""
        assert request.command is not None
        self._carry_out(number, request.command, request.requester, may_wait=request.may_wait)

    def _control(self, command: commands.Control, requester: Requester) -> None:
        """Carry out what waits for nothing. It is answered first: what it leads to comes after that."""
        with self._broadcast.lock:
            told = self._questions.take_locked(command)
            if isinstance(command, commands.Clear):
                self._broadcast.publish([Cleared()])
            requester.finished(commands.Ok())
            actions = [*told, *self._jobs.control_locked(command)]
        act(actions)

    def _answer(self, command: commands.Setting | commands.Query, requester: Requester) -> None:
        """Answer at once. Under the lock: an answer keeps its place among the events around it."""
        if isinstance(command, commands.GetCommands):
            self._resources.inputs.look()
        with self._broadcast.lock:
            if isinstance(command, _IN_THE_FILE) and self._jobs.closed:
                raise Closed
            if isinstance(command, commands.Setting):
                answer = self._set(command)
            else:
                answer = self._queries.answer(command, busy="_jobs" in vars(self) and self._jobs.active)
            requester.finished(answer)

    def _set(self, setting: commands.Setting) -> commands.Answer:
        from linnet.runtime.setters import Setters

        settings, state = self._settings, self._broadcast.state
        setters = Setters(state, self._storage, settings.accounts, self._session_tools, settings.sessions.home)
        events, answer = setters.set(setting)
        self._broadcast.publish(events)
        return answer


def _check_named(settings: Settings) -> None:
    """Raises ConfigError if an extension that was named is not there. Nothing is imported where none was."""
    if settings.extensions:
        from linnet.extensions.named import check

        check(settings.extensions, os.environ)
