"""One conversation, and the one door for whatever is asked of it. How it is told to anybody is not known here."""

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from linnet.core import commands
from linnet.core.events import Cleared, Event, SessionEntered
from linnet.core.messages import Usage
from linnet.core.slash import split
from linnet.errors import BadInput, Closed, ConfigError
from linnet.runtime.broadcast import Broadcast
from linnet.runtime.fault import as_error
from linnet.runtime.ids import entry_id, session_id
from linnet.runtime.jobs import Jobs
from linnet.runtime.listener import Listener
from linnet.runtime.queries import Queries
from linnet.runtime.questions import Questions
from linnet.runtime.requester import Requester
from linnet.runtime.settings import Settings
from linnet.runtime.slash_commands import SlashCommands
from linnet.runtime.state import State
from linnet.runtime.storage import Storage
from linnet.runtime.toolbox import Toolbox

if TYPE_CHECKING:
    from linnet.runtime.adoption import Adoption
    from linnet.runtime.door import Door, Waiting
    from linnet.runtime.extending import Extending
    from linnet.runtime.resources import Resources
    from linnet.store.header import Header

ENDING = 5.0  # Seconds for an aborted run to tell its end: a moment, but on a busy machine, or if it cannot be killed.
_ORDERED = (commands.Work, commands.RunCommand, commands.GetCommands, commands.Reload)
NOT_QUEUED = (
    'Extension command "/{}" cannot be queued. Use prompt() or execute the command when not streaming.'  # pi's words.
)
NO_ANSWER = "/{} is a command of an extension's: no model is asked, so that no answer could have a form"
_IN_THE_FILE = (commands.GetBranchMessages, commands.GetTree, commands.GetEntries, commands.SetSessionName)


class Session:
    """State changes happen under one lock, and whoever is told of them is told in their order."""

    def __init__(
        self,
        settings: Settings,
        resources: "Resources",
        listeners: Sequence[Listener] = (),
        *,
        answerable: bool = False,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        new_id: Callable[[], str] = entry_id,
        new_session_id: Callable[[], str] = session_id,
    ) -> None:
        """`answerable`: one of the listeners puts questions to somebody who may answer.

        Raises SessionError or ConfigError if a session was asked for that cannot be used.
        """
        _check_named(settings)
        if settings.sandbox:
            settings.project.watch()
        state = State(
            settings.model, settings.reasoning, auto_compaction=settings.auto_compaction, auto_retry=settings.retry_runs
        )
        state.queues.steering_mode = settings.steering_mode
        state.queues.follow_up_mode = settings.follow_up_mode
        storage = Storage(new_id, settings.sessions.spelled)
        self.remarks: Sequence[str] = settings.remarks  # What whoever started the program should know.
        self._resources = resources
        self._storage = storage
        self._broadcast = storage.broadcast = Broadcast(state, [storage, *listeners], storage.new_id)
        if settings.sessions.wanted:
            from linnet.runtime.opening import open_first, sessions_of

            storage.sessions = sessions_of(settings, clock, new_id, new_session_id)
            self.remarks = [*settings.remarks, *open_first(settings, state, storage)]
        else:
            state.apply(SessionEntered(session_id=new_session_id()))
        self._questions = Questions(self._broadcast, session_id, answerable=answerable)
        self._slash = SlashCommands()
        self._slash.add(resources.inputs.listed)
        self._queries = Queries(state, storage, settings, self._questions, self._slash)
        self._toolbox = Toolbox(settings, resources, self._questions)
        self._broadcast.add(self._toolbox)
        state.has_tools = self._toolbox.offers_any
        self._settings = settings
        self._accounts = settings.accounts
        self._adoption: Adoption | None = None
        self._jobs = Jobs(settings, self._toolbox, self._broadcast, storage, clock, new_session_id)
        self._settings = settings
        self._clock = clock
        self._extending: Extending | None = None
        self._door: Door | None = None
        self._looked = False
        self._stale = False  # Extensions are to be read again, before whoever needs them next.
        self._reloaded = False

    def submit(self, command: commands.Command, requester: Requester, *, may_wait: bool = True) -> int:
        """Carry it out, now or when its turn comes, and answer the requester. Never raises.

        With `may_wait` false, work is refused with Busy while other work is active. Returns a number to abort it by: a
        job is active from here on, so that an abort that follows will find it.
        """
        number = self._jobs.new_number()
        try:
            if isinstance(command, _ORDERED) and (door := self._find_door(command)) is not None:
                from linnet.runtime.door import Waiting

                if self._stale and not self._jobs.active:
                    self._stale = False
                    door.submit(Waiting(self._jobs.new_number(), commands.Reload(), Requester(), True))
                door.submit(Waiting(number, command, requester, may_wait))
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
        """Whether anything runs; what waits is started in the same moment as the last one ends."""
        return self._jobs.busy

    @property
    def id(self) -> str:
        """Of the session that is open. This, `file`, `name` and `spent` are read without the lock, and never wait."""
        return self._broadcast.state.session_id

    @property
    def file(self) -> str | None:
        return self._broadcast.state.session_file

    @property
    def header(self) -> "Header | None":
        """Of the session that is open, kept or not; None if there is none."""
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
        if self._settings.unheard_tools and self._find_door() is None:
            from linnet.runtime.rules import doubtful

            with self._broadcast.lock:
                self._broadcast.publish(doubtful(self._settings.unheard_tools))

    def warm(self) -> None:
        """Import and build what the first run will need."""
        import linnet.runtime.worker  # noqa: F401

        self.survey(at_first=True)
        if (door := self._find_door()) is not None:
            door.begin()
        else:
            self.tell_doubts()
        with self._broadcast.lock:
            self._broadcast.state.conversation.read()
        self._storage.sync()
        self._resources.warm()

    def end_input(self) -> None:
        """Nobody will answer any more: what is asked, and what will be, counts as not answered.

        Nor will anybody abort a command: one that goes on when all else is finished is ended.
        """
        self._questions.close()
        self._jobs.end_input()

    def finish(self) -> None:
        """Wait until nothing runs and nothing waits."""
        self._jobs.wait(None)

    def close(self, timeout: float = 0.5) -> None:
        """Refuse what waits, abort what runs, leave no child behind; what runs in the background has so many seconds to
        end. The last events of a run are waited for longer: whoever follows it depends on them. Idempotent.
        """
        self._questions.close()
        if self._door is not None:
            self._door.close()
        self._jobs.close()
        self._jobs.wait(timeout)
        self._jobs.wait_inactive(max(0.0, ENDING - timeout))
        self._jobs.abandon()
        if self._extending is not None:
            self._extending.close()
        with self._broadcast.lock:
            self._storage.close()
        self._resources.close()

    def _trust(self, command: commands.Trust, requester: Requester) -> None:
        """Files are read without the lock. What follows from them is for the next run."""
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
                self._offer(settings)
            requester.finished(commands.Ok())

    def _offer(self, settings: Settings) -> None:
        """For the next run, whenever that is. Called under the lock."""
        from linnet.runtime.adoption import Adoption

        if self._adoption is None:
            self._adoption = Adoption(self._settings, self._adopt)
            self._broadcast.add(self._adoption)
        self._adoption.offer(settings, active=self._jobs.active)

    def _decide_again(self) -> None:
        """Before extensions are read again: is the project what was trusted? Files are read without the lock. Raises
        ConfigError if what holds then cannot be used.
        """
        self._reloaded = True
        if self._settings.project.decide_again():
            settings = self._settings.again()
            with self._broadcast.lock:
                self._offer(settings)
                self._stale = False  # They are about to be read.
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

    def _adopt(self, settings: Settings, events: list[Event]) -> None:
        before, self._settings, self._accounts = self._settings, settings, settings.accounts
        for holder in (self._queries, self._storage, self._resources, self._toolbox, self._jobs):
            holder.adopt(settings)
        self._looked = False
        if self._extending is not None:
            self._extending.adopt(settings)
            self._stale = True
        self._broadcast.publish(events)
        if settings.unheard_tools != before.unheard_tools:
            self.tell_doubts()

    def _carry_out(self, number: int, command: commands.Command, requester: Requester, *, may_wait: bool) -> None:
        """Raises LinnetError for what is refused at once."""
        if isinstance(command, commands.Prompt) and command.slash != "text" and command.text.startswith("/"):
            command = self._typed(command)
        if not self._settings.needs_key and isinstance(command, commands.Prompt | commands.Compact):
            self._accounts.require(self._broadcast.state.model.provider)
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

    def _find_door(self, command: commands.Command | None = None) -> "Door | None":
        """None if there are no extensions: then nothing is in the way."""
        if self._door is None and (isinstance(command, commands.Reload) or not self._looked):
            from linnet.runtime.packages import may_have_extensions

            wanted = isinstance(command, commands.Reload) or may_have_extensions(self._settings)
            with self._broadcast.lock:
                if self._door is None and wanted:
                    self._door = self._jobs.door = self._build_door()
                self._looked = True
        return self._door

    def _build_door(self) -> "Door":
        from linnet.runtime.door import Door
        from linnet.runtime.extending import Extending
        from linnet.runtime.hosting import SessionHost

        host = SessionHost(
            self,
            self._settings,
            self._resources,
            self._broadcast,
            self._storage,
            self._questions,
            self._jobs,
            self._clock,
            self._toolbox,
        )
        self._extending = Extending(self._settings, self._broadcast, self._toolbox, host)
        self._broadcast.add(self._extending)
        self._slash.add(self._extending.commands)
        return Door(self._extending, self._jobs, self._let_in, self._decide_again, self._broadcast.broke)

    def _let_in(self, waiting: "Waiting") -> None:
        """What came through the door. Raises LinnetError for what is refused at once."""
        self._carry_out(waiting.number, waiting.command, waiting.requester, may_wait=waiting.may_wait)

    def _typed(self, prompt: commands.Prompt) -> commands.Prompt | commands.RunCommand:
        """A command of an extension's; or what was typed as `/name` in full, before it is queued: whoever sees the
        queue sees what will be said. Raises BadInput.
        """
        chain = self._toolbox.chain
        if chain is not None and (words := split(prompt.text)) is not None and chain.has_command(words[0]):
            if prompt.slash == "refuse":
                raise BadInput(NOT_QUEUED.format(words[0]))
            if prompt.form is not None:
                raise BadInput(NO_ANSWER.format(words[0]))
            return commands.RunCommand(*words) if prompt.slash == "at_once" else prompt
        text = self._resources.inputs.expanded(prompt.text)
        if not text.strip() and not prompt.images:
            raise BadInput(f"{prompt.text.split()[0]} stands for an empty message")
        return replace(prompt, text=text)

    def _control(self, command: commands.Control, requester: Requester) -> None:
        """It is answered first: what it leads to comes after that."""
        with self._broadcast.lock:
            told = self._answered(command)
            if isinstance(command, commands.Clear):
                self._broadcast.publish([Cleared()])
            requester.finished(commands.Ok())
            interruptions = [*told, *self._jobs.control(command)]
        for interrupt in interruptions:
            interrupt()  # Not under the lock: there may be a socket to close and a process tree to kill.

    def _answered(self, command: commands.Control) -> list[Callable[[], None]]:
        """Take an answer to a question to whoever waits for it. Raises BadInput. Returns what is left to be done
        without the lock.
        """
        match command:
            case commands.AnswerQuestion(id, given):
                self._questions.answer(id, given)
            case commands.ReturnTool(id, returned):
                self._questions.return_tool(id, returned)
            case commands.ReportToolProgress(id, text):
                return [self._questions.report(id, text)]
            case _:
                pass
        return []

    def _answer(self, command: commands.Setting | commands.Query, requester: Requester) -> None:
        """Under the lock: an answer keeps its place among the events around it."""
        if isinstance(command, commands.GetCommands):
            self._resources.inputs.look()
        with self._broadcast.lock:
            if self._jobs.closed and isinstance(command, _IN_THE_FILE):
                raise Closed
            if isinstance(command, commands.Setting):
                answer = self._set(command)
            else:
                answer = self._queries.answer(command, busy=self._jobs.active)
            requester.finished(answer)

    def _set(self, setting: commands.Setting) -> commands.Answer:
        from linnet.runtime.setters import Setters

        home = self._settings.sessions.home
        setters = Setters(self._broadcast.state, self._storage, self._accounts, self._toolbox, home)
        events, answer = setters.set(setting)
        self._broadcast.publish(events)
        return answer


def _check_named(settings: Settings) -> None:
    """Raises ConfigError if an extension that was named is not there. Nothing is imported where none was."""
    if settings.extensions:
        from linnet.extensions.named import check

        check(settings.extensions, os.environ)
