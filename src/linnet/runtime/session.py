"""A session: one conversation with all that belongs to it, and `submit`, the one entry for commands of any client.

It knows no protocol: listeners and requesters do.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, TypeGuard

from linnet.core import commands
from linnet.core.events import Cleared, Event, PermissionSet, QueueChanged, SessionEntered
from linnet.core.messages import Message, ToolCall, Usage
from linnet.core.models import Model
from linnet.core.questions import QuestionAsked
from linnet.errors import Closed
from linnet.runtime.broadcast import Broadcast, act
from linnet.runtime.error_report import as_error, park
from linnet.runtime.extensions.lazy_extensions import LazyExtensions
from linnet.runtime.listener import Listener
from linnet.runtime.queries import Queries
from linnet.runtime.requester import PendingRequest, Requester
from linnet.runtime.session_project import SessionProject, check_named
from linnet.runtime.sessions.storage import Storage, entry_id, session_id
from linnet.runtime.slash_commands import SlashCommands
from linnet.runtime.state import begun_with
from linnet.runtime.tools.open_questions import OpenQuestions
from linnet.runtime.tools.session_tools import SessionTools

if TYPE_CHECKING:
    from linnet.runtime.jobs import Jobs
    from linnet.runtime.resources import Resources
    from linnet.store.factory import LogFactory
    from linnet.store.header import Header
    from linnet.tools.toolset import Around

ENDING = 5.0  # Seconds for an aborted run to tell its end: a moment, but on a busy machine, or if it cannot be killed.
_IN_THE_FILE = (commands.GetBranchMessages, commands.GetTree, commands.GetEntries, commands.SetSessionName)


class Session:
    """All state is changed under one lock, that of `Broadcast`, and listeners are told in the order of the changes."""

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
        around: "Around | None" = None,
    ) -> None:
        """Open the session that the settings of `resources` ask for. `answerable`: one of the listeners puts questions
        to somebody who may answer. `clock` returns milliseconds since 1970. `logs` saves sessions, if not in files.
        `around` wraps the tools.

        Raises SessionError or ConfigError if the session that was asked for cannot be used.
        """
        live, settings = resources.live, resources.live.now
        check_named(settings)
        if settings.sandbox:
            settings.project.watch()
        state = begun_with(settings)
        storage = Storage(new_id, settings.sessions.spelled)
        self.remarks: Sequence[str] = settings.remarks  # What whoever started the program should know.
        self._resources, self._storage = resources, storage
        ended = self.close if logs is not None and logs.may_wait else None
        keeping = [storage] if settings.sessions.wanted or ended is not None else []
        self._broadcast = storage.broadcast = Broadcast(state, [*keeping, *listeners], storage.new_id, ended)
        self.tell = self._broadcast.tell  # Calls a function in its turn among all that is told.
        if settings.sessions.wanted:
            from linnet.runtime.sessions.first import begin_unsaved, open_first, sessions_of

            if settings.session_format != "0.73":
                self._broadcast.asides = storage.asides
            sessions = partial(sessions_of, live, clock, new_id, new_session_id, logs, self._broadcast.telling)
            if settings.sessions.begins_unsaved:
                remarks = begin_unsaved(settings, state, storage, sessions, new_session_id(), clock())
            else:
                remarks = open_first(settings, state, storage, sessions())
            self.remarks = [*settings.remarks, *remarks]
        else:
            state.apply(SessionEntered(session_id=new_session_id()))
        if settings.sessions.kept_in is not None:
            resources.session_variables = state.as_pis_variables
        self._questions = OpenQuestions(self._broadcast, session_id, answerable=answerable)
        self._slash = SlashCommands()
        self._slash.add(resources.slash_names.listed)
        self._queries = Queries(state, storage, live, self._questions, self._slash)
        self._session_tools = SessionTools(live, resources, self._questions, around)
        self._broadcast.add(self._session_tools, frozenset((SessionEntered, PermissionSet)))
        state.has_tools = self._session_tools.offers_any
        self._numbers = count(1)
        self._clock, self._new_session_id = clock, new_session_id
        self._extensions = LazyExtensions(
            self, self._session_tools, self._broadcast, storage, self._questions, self._slash, clock, self._carry_out
        )
        self._project = SessionProject(self, live, self._broadcast, self._extensions)
        self._broadcast.begin()  # Last: from here on, another thread may tell listeners what has waited.

    def submit(self, command: commands.Command, requester: Requester, *, may_wait: bool = True) -> int:
        """Carry out a command, now or when its turn comes, and answer the requester. Never raises. Not to be called
        under the session's lock.

        With `may_wait` false, work is refused with Busy while other work is active. Returns a number to abort it by: it
        is known to the schedule when this returns, so that an abort that follows finds it.
        """
        number, requester = next(self._numbers), self._broadcast.in_turn(requester)
        try:
            if self._waits(command):
                self.jobs.arrive(number, PendingRequest(requester, command, may_wait=may_wait))
            else:
                self._carry_out(number, command, requester, may_wait)
        except Exception as fault:
            requester.refused(as_error(fault, f"a command broke: {type(command).__name__}"))
        return number

    def answer_now(self, query: commands.Query) -> commands.Answer:
        """Answer a question about the session for an extension of it, whatever else waits. Raises LinnetError."""
        if isinstance(query, commands.GetCommands):
            self._resources.slash_names.look()
        with self._broadcast.lock:
            return self._queries.answer(query, busy=self.jobs.active)

    def set_now(self, setting: commands.Setting) -> commands.Answer:
        """Set something for an extension of the session, which may still be about to start. Raises LinnetError."""
        with self._broadcast.lock:
            return self._set_locked(setting)

    def denies(self, call: ToolCall) -> bool:
        """Return whether this call of one of linnet's tools may not run, and nobody would be asked about it."""
        with self._broadcast.lock:
            return self._session_tools.denies(call)

    def _waits(self, command: commands.Command) -> TypeGuard[commands.Ordered]:
        """Return whether a command has to wait for extensions, or for its turn among those that do. A shell command
        waits until they are loaded, since there may be guards among them, and no longer.
        """
        if not isinstance(command, commands.Ordered) or not self._extensions.may_exist(command):
            return False
        return not (isinstance(command, commands.Bash) and self._session_tools.chain is not None)

    def abort(self, number: int) -> None:
        """Abort that job, if it is the active one."""
        self.jobs.abort(number)

    @property
    def busy(self) -> bool:
        """Return whether anything runs, waits to run, or waits to be told."""
        return self.jobs.busy or self._broadcast.is_owing()

    @property
    def at_rest(self) -> bool:
        """Return whether nothing runs, waits, is asked, or was left running by a command. True of a moment."""
        if self.busy:
            return False
        with self._broadcast.lock:
            waits = self._questions.open or len(self._broadcast.state.queues)
        return not waits and not self._resources.left_running

    @property
    def still(self) -> AbstractContextManager[object]:
        """Return what keeps the session as it is while it is entered: nothing changes, and nothing is told."""
        return self._broadcast.lock

    def expect(self, questions: Sequence[QuestionAsked]) -> None:
        """Take note of questions that are open since another process asked them, and are asked again."""
        self._questions.expect(questions)

    def expect_no_more(self) -> None:
        """Close those of them that were not asked again. Not to be called under the session's lock."""
        self._questions.expect_no_more()

    def publish(self, events: Sequence[Event]) -> None:
        """Have these events happen: whoever opened the session knows of them, and nobody in it does."""
        with self._broadcast.lock:
            self._broadcast.publish_locked(events)

    @property
    def id(self) -> str:
        """Return the id of the open session. This, `file`, `name` and `spent` take no lock, and never wait."""
        return self._broadcast.state.session_id

    @property
    def file(self) -> str | None:
        """Return the path of the open session; None if it is not in a file."""
        return self._broadcast.state.session_file

    @property
    def header(self) -> "Header | None":
        """Return the header of the open session, saved or not; None if the agent keeps no sessions."""
        journal = self._storage.journal
        return journal.store.header if journal is not None else None

    @property
    def name(self) -> str:
        """Return what the open session was named; empty if it was not."""
        return self._storage.name

    @property
    def model(self) -> Model:
        """Return the model that the next job will ask."""
        return self._broadcast.state.model

    @property
    def spent(self) -> Usage:
        """Return what the open session has cost so far, in tokens and money."""
        return self._broadcast.state.spent

    def history(self) -> "Sequence[tuple[str, Message]]":
        """Return all that was said on the way to where the conversation stands, also before compactions, each with its
        id. It is read when it is asked for, in any thread. Raises SessionError.
        """
        with self._broadcast.lock:
            return self._storage.kept.store.history()

    def tell_doubts(self) -> None:
        """Tell clients of tools that rules name and nobody has."""
        self._extensions.tell_doubts()

    def warm(self) -> None:
        """Import and build what the first run will need, and tell what clients should know before it. Called once, in a
        thread that nobody waits for, after the first answer.
        """
        import linnet.runtime.run.worker

        _ = self.jobs
        if self._storage.journal is not None:
            import linnet.store.words  # noqa: F401
        self._project.survey(at_first=True)
        if self._extensions.may_exist():
            self.jobs.want_extensions()
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
        """Take note that the client sends nothing any more: questions, open ones and later ones, count as not answered;
        and a background command that goes on when all else is finished is ended after a while.
        """
        self._questions.close()
        self.jobs.end_input()

    def stop(self) -> None:
        """Refuse what waits, and abort what runs, without waiting for its end; nothing begins from here on."""
        self._questions.close()
        self.jobs.close()

    def finish(self) -> None:
        """Wait until nothing runs, nothing waits, and all is told."""
        self.jobs.wait(None)
        self._broadcast.drain()

    def close(self, timeout: float = 0.5) -> None:
        """Refuse what waits, abort what runs, and end all children. Background commands have `timeout` seconds to end;
        a run has up to ENDING, since whoever follows it needs its last events. Idempotent.
        """
        # Inwards: those who wait for people, what runs, what hears of it, the log, and at last what runs were run with.
        self._questions.close()
        self.jobs.close()
        self.jobs.wait(timeout)
        self.jobs.wait_inactive(max(0.0, ENDING - timeout))
        self.jobs.abandon()
        self._extensions.close()
        with self._broadcast.lock:
            self._storage.close()
        self._broadcast.close(ENDING)
        self._resources.close()

    @cached_property
    def jobs(self) -> "Jobs":
        """Make what carries out jobs when one is first asked for: what a client asks first is seldom about a job."""
        from linnet.runtime.jobs import Jobs

        live, tools, broadcast, storage = self._resources.live, self._session_tools, self._broadcast, self._storage
        return Jobs(live, tools, broadcast, storage, self._clock, self._new_session_id)

    def _carry_out(self, number: int, command: commands.Command, requester: Requester, may_wait: bool) -> None:
        """Pass a command that waits for no extensions to whom it is for. Raises LinnetError if it is refused
        at once.
        """
        if isinstance(command, commands.Prompt) and command.text.startswith("/"):
            command = self._resources.slash_names.resolved(command, self._session_tools.chain)
        settings = self._resources.live.now
        if not settings.needs_key and isinstance(command, commands.Prompt | commands.Compact):
            settings.accounts.require(self._broadcast.state.model.provider)
        if isinstance(command, commands.Work):
            self.jobs.submit(number, command, requester, may_wait=may_wait)
        elif isinstance(command, commands.Background):
            self.jobs.launch(number, command, requester)
        elif isinstance(command, commands.Trust):
            self._project.trust(command, requester)
        elif isinstance(command, commands.Control):
            self._control(command, requester)
        else:
            self._answer(command, requester)

    def _control(self, command: commands.Control, requester: Requester) -> None:
        """Carry out a command that waits for nothing. It is answered before what it leads to is told."""
        with self._broadcast.lock:
            told = self._questions.take_locked(command)
            answer: commands.Answer = commands.Ok()
            if isinstance(command, commands.Clear):
                self._broadcast.publish_locked([Cleared()])
            elif isinstance(command, commands.ClearQueue):
                answer = self._clear_queue_locked()
            waits = isinstance(command, commands.Abort) and command.wait and self.jobs.follow_locked(requester)
            if not waits:
                requester.finished(answer)
            actions = [*told]
            if isinstance(command, commands.Interruption):
                actions += self.jobs.interrupt_locked(command)
        act(actions)

    def _clear_queue_locked(self) -> commands.QueueCleared:
        """Take away what waits to be said to the agent, tell that nothing waits any more, and return what did."""
        queues = self._broadcast.state.queues
        cleared = commands.QueueCleared(tuple(queues.steering), tuple(queues.follow_ups))
        queues.clear()
        self._broadcast.publish_locked([QueueChanged((), ())])
        return cleared

    def _answer(self, command: commands.Setting | commands.Query, requester: Requester) -> None:
        """Answer a command that sets or asks something. Under the lock, so that the answer keeps its place among the
        events around it.
        """
        if isinstance(command, commands.GetCommands):
            self._resources.slash_names.look()
        with self._broadcast.lock:
            if isinstance(command, _IN_THE_FILE) and self.jobs.closed:
                raise Closed
            if isinstance(command, commands.Setting):
                answer = self._set_locked(command)
            else:
                answer = self._queries.answer(command, busy="jobs" in vars(self) and self.jobs.active)
            requester.finished(answer)

    def _set_locked(self, setting: commands.Setting) -> commands.Answer:
        """Set what the command says, tell it, and return the answer. Raises LinnetError if it cannot be set."""
        from linnet.runtime.setters import Setters

        settings, state = self._resources.live.now, self._broadcast.state
        homes = settings.sessions.home, settings.sessions.kept_in
        setters = Setters(state, self._storage, settings.known_models, self._session_tools, *homes)
        events, answer = setters.set(setting)
        self._broadcast.publish_locked(events)
        return answer
