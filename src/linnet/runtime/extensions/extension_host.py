"""What extensions may do to the session they belong to."""

from collections.abc import Callable, Mapping
from threading import Event as Signal
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from linnet.concurrency.cancel import CancelToken
from linnet.core import commands
from linnet.core.cancel import Cancel
from linnet.core.events import HookFailed, NoteAdded, StateKept
from linnet.core.messages import Note, Text
from linnet.core.models import Model
from linnet.core.questions import Question, Reply
from linnet.core.ui_events import Shown
from linnet.errors import BadInput, LinnetError
from linnet.extensions.host import Saying
from linnet.runtime.broadcast import Broadcast
from linnet.runtime.error_report import start
from linnet.runtime.jobs import Jobs
from linnet.runtime.requester import Requester
from linnet.runtime.sessions.storage import Storage
from linnet.runtime.settings.settings import LiveSettings
from linnet.runtime.tools.open_questions import OpenQuestions
from linnet.runtime.tools.session_tools import SessionTools

if TYPE_CHECKING:
    from linnet.processes.process import Processes
    from linnet.runtime.resources import Resources
    from linnet.runtime.session import Session


class _Awaited(Requester):
    def __init__(self) -> None:
        self.over = Signal()
        self.answer: commands.Answer | None = None
        self.error: LinnetError | None = None

    def finished(self, answer: commands.Answer) -> None:
        self.answer = answer
        self.over.set()

    def refused(self, error: LinnetError) -> None:
        self.error = error
        self.over.set()


class _Said(Requester):
    """Nobody waits for it; that it was refused is told."""

    def __init__(self, host: "SessionHost") -> None:
        self._host = host

    def refused(self, error: LinnetError) -> None:
        self._host.failed("<runtime>", "say", str(error))


class SessionHost:
    """A Host. State that an agent without a session keeps is forgotten when the conversation is."""

    def __init__(
        self,
        session: "Session",
        live: LiveSettings,
        resources: "Resources",
        broadcast: Broadcast,
        storage: Storage,
        questions: OpenQuestions,
        jobs: Jobs,
        clock: Callable[[], int],
        session_tools: SessionTools,
    ) -> None:
        self._session_tools = session_tools
        self._closing = CancelToken()
        self._session = session
        self._live = live
        self._resources = resources
        self._broadcast = broadcast
        self._storage = storage
        self._questions = questions
        self._jobs = jobs
        self._clock = clock
        self._memory: dict[str, Any] = {}

    @property
    def cwd(self) -> str:
        return self._live.now.cwd

    @property
    def home(self) -> str:
        return self._live.now.sessions.home

    @property
    def flags(self) -> Mapping[str, Any]:
        return self._live.now.extension_flags

    @property
    def processes(self) -> "Processes":
        return self._resources.processes

    @property
    def session_id(self) -> str:
        return self._session.id

    @property
    def session_file(self) -> str | None:
        return self._session.file

    @property
    def model(self) -> Model:
        return self._broadcast.state.model

    @property
    def busy(self) -> bool:
        return self._jobs.active

    def ask(self, question: Question, cancel: Cancel, timeout: float | None = None) -> Reply | None:
        if timeout is None:
            timeout = self._live.now.question_timeout
        return self._questions.ask(question, cancel, timeout)

    def show(self, shown: Shown) -> None:
        with self._broadcast.lock:
            self._broadcast.publish_locked([shown])
        self._broadcast.pace(self._closing)  # One that never stops showing something fills no memory.

    def close(self) -> None:
        """Nobody is kept waiting any more."""
        self._closing.set()

    def say(self, text: str, how: Saying, kind: str = "", details: Any = None) -> None:
        if not text.strip():
            raise BadInput("there is nothing to say")
        details = _plain(details)
        if how == "note":
            self._note(text, kind or "extension", details)
            return
        when: Literal["steer", "follow_up"] = "steer" if how == "steer" else "follow_up"
        prompt = commands.Prompt(text, (), when, slash="text", kind=kind, details=details)
        self._session.submit(prompt, _Said(self))

    def run(self, command: commands.Command, cancel: Cancel) -> commands.Answer:
        awaited = _Awaited()
        number = self._session.submit(command, awaited)

        def interrupt() -> None:
            awaited.over.set()
            self._session.abort(number)

        with cancel.interrupting(interrupt):
            awaited.over.wait()
        if awaited.error is not None:
            raise awaited.error
        assert awaited.answer is not None
        return awaited.answer

    def abort(self) -> None:
        self._jobs.abort_active()

    def keep(self, owner: str, data: Any) -> None:
        data = _plain(data)
        with self._broadcast.lock:
            self._memory[owner] = data
            self._broadcast.publish_locked([StateKept(owner, data)])

    def kept(self, owner: str) -> Any:
        with self._broadcast.lock:
            journal = self._storage.journal
            found = self._memory.get(owner) if journal is None else journal.store.custom(owner)
        return _plain(found)  # A copy: what the extension does to it changes nothing that is kept.

    def owner(self, tool: str, path: str) -> str:
        return next((owner for name, owner in self._session_tools.owners() if name == tool and owner != path), "")

    def failed(self, path: str, event: str, error: str) -> None:
        with self._broadcast.lock:
            self._broadcast.publish_locked([HookFailed(path, event, error)])

    def forget_locked(self) -> None:
        """The conversation goes on elsewhere."""
        self._memory.clear()

    def _note(self, text: str, kind: str, details: Any) -> None:
        """Now, if nothing runs; or to the agent that works; or else when what runs has ended."""
        jobs, state = self._jobs, self._broadcast.state
        with self._broadcast.lock:
            if not jobs.active:
                note = Note(kind, (Text(text),), self._clock(), details=details)
                self._broadcast.publish_locked([NoteAdded(note)])
                return
            steers = state.streaming
        if steers:
            prompt = commands.Prompt(text, (), "steer", slash="text", kind=kind, details=details)
            self._session.submit(prompt, _Said(self))
            return

        def later() -> None:
            jobs.wait_inactive()
            if not (jobs.closed and jobs.active):  # Or else it waits for nobody, and nothing more is said in it.
                self._note(text, kind, details)

        start(Thread(target=later, name="linnet-note", daemon=True))


def _plain(data: Any) -> Any:
    """A copy, in plain JSON. Raises BadInput."""
    try:
        return msgspec.json.decode(msgspec.json.encode(data))
    except (TypeError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadInput(f"only plain JSON can be kept: {error}") from None
