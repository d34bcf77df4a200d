"""The Host that a session is to its extensions: what they can ask it, and what they can do to it.

Extensions call it in threads of their own, and never with the session's lock held.
"""

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
from linnet.runtime.extensions.pi_host import PiPart, Said
from linnet.runtime.jobs import Jobs
from linnet.runtime.requester import Requester
from linnet.runtime.sessions.storage import Storage
from linnet.runtime.tools.open_questions import OpenQuestions
from linnet.runtime.tools.session_tools import SessionTools

if TYPE_CHECKING:
    from linnet.processes.process import Processes
    from linnet.runtime.session import Session


class _Awaited(Requester):
    """Keeps the outcome of a command for a thread that waits for it."""

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


class SessionHost(PiPart):
    """Implements PiHost, whose docstrings say what each method does."""

    def __init__(
        self,
        session: "Session",
        session_tools: SessionTools,
        broadcast: Broadcast,
        storage: Storage,
        questions: OpenQuestions,
        jobs: Jobs,
        clock: Callable[[], int],
    ) -> None:
        super().__init__(session, session_tools, broadcast, storage, questions, jobs, clock)
        self._closing = CancelToken()  # Ends the wait of those who show something.
        self._memory: dict[str, Any] = {}  # State that extensions keep where there is no session to keep it in.

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
        """Release the extensions that wait for a slow reader, now and from here on."""
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
        self._session.submit(prompt, Said(self.failed))

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
        """Forget the state that was kept in memory: it belongs to a conversation that was left."""
        self._memory.clear()

    def _note(self, text: str, kind: str, details: Any) -> None:
        """Add a note to the conversation: now, if no job is active; to the run that goes on, if there is one; or when
        the job has ended.
        """
        jobs, state = self._jobs, self._broadcast.state
        with self._broadcast.lock:
            if not jobs.active:
                note = Note(kind, (Text(text),), self._clock(), details=details)
                self._broadcast.publish_locked([NoteAdded(note)])
                return
            steers = state.streaming
        if steers:  # Without the lock, as `submit` demands. If the run ends meanwhile, this becomes a prompt.
            prompt = commands.Prompt(text, (), "steer", slash="text", kind=kind, details=details)
            self._session.submit(prompt, Said(self.failed))
            return

        def later() -> None:
            jobs.wait_inactive()
            if not (jobs.closed and jobs.active):  # Or else it waits for nobody, and nothing more is said in it.
                self._note(text, kind, details)

        start(Thread(target=later, name="linnet-note", daemon=True))


def _plain(data: Any) -> Any:
    """Return a copy of the data. Raises BadInput if it is not plain JSON."""
    try:
        return msgspec.json.decode(msgspec.json.encode(data))
    except (TypeError, msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise BadInput(f"only plain JSON can be kept: {error}") from None
