"""The context that a handler is given: asks and tells the user, speaks to the agent, runs programs, keeps state."""

from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from linnet.core.cancel import Cancel
from linnet.core.questions import Chosen, Confirm, Confirmed, EditText, EnterText, Question, Reply, Select
from linnet.core.ui_events import (
    EditorTextSet,
    Level,
    Notified,
    Placement,
    Shown,
    StatusSet,
    TitleSet,
    WidgetSet,
)
from linnet.extensions.host import Host

if TYPE_CHECKING:
    from linnet.core.answers import Answer
    from linnet.core.models import Model
    from linnet.extensions.python.workers import Call

MOST_OUTPUT = 1 << 20


class Ran(Struct, frozen=True):
    """What came of a program."""

    output: str
    """Both streams, at most 1 MiB."""
    exit_code: int | None
    """None if its time ran out; negative for the signal that ended it."""


class State(MutableMapping[str, Any]):
    """Plain JSON that is kept in the session, under the extension's name.

    It belongs to the branch of the conversation: after a move to an earlier point, it is what it was there. Each change
    is written at once; to change what is inside of a value, set the value again.
    """

    def __init__(self, host: Host, owner: str) -> None:
        self._host = host
        self._owner = owner

    def __getitem__(self, key: str) -> Any:
        return self._all()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self._host.keep(self._owner, {**self._all(), key: value})

    def __delitem__(self, key: str) -> None:
        left = self._all()
        del left[key]
        self._host.keep(self._owner, left)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Any]:
        """Return a copy of all that is kept."""
        kept = self._host.kept(self._owner)
        return dict(kept) if isinstance(kept, dict) else {}


class Context:
    """What one call of a handler, a command or a tool is given. What waits in it raises Cancelled at an abort."""

    def __init__(self, host: Host, owner: str, call: "Call[Any]") -> None:
        self._host = host
        self._owner = owner
        self._call = call

    @property
    def state(self) -> State:
        """What the extension keeps in the session."""
        return State(self._host, self._owner)

    @property
    def cwd(self) -> str:
        """The folder that is worked in."""
        return self._host.cwd

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self._host.session_id

    @property
    def session_file(self) -> str | None:
        """The file of the session; None if it is in memory only."""
        return self._host.session_file

    @property
    def model(self) -> "Model":
        """The model that is chosen now."""
        return self._host.model

    @property
    def busy(self) -> bool:
        """Whether the agent is at work."""
        return self._host.busy

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for this call any more. Look at it in loops."""
        return self._call.cancel.is_set

    @property
    def cancel(self) -> Cancel:
        """For what blocks: `with ctx.cancel.interrupting(socket.close): …`, `ctx.cancel.sleep(1)`."""
        return self._call.cancel

    def notify(self, message: str, level: Level = "info") -> None:
        """Show the user a message."""
        self._show(Notified(self._owner, str(message), level))

    def status(self, text: str | None, key: str = "") -> None:
        """Show a short text that stays until it is set again; None takes it away."""
        self._show(StatusSet(self._owner, key or self._owner, text))

    def widget(self, lines: Sequence[str] | None, key: str = "", placement: Placement = "above_editor") -> None:
        """Show lines that stay until they are set again; None takes them away."""
        shown = None if lines is None else tuple(map(str, lines))
        self._show(WidgetSet(self._owner, key or self._owner, shown, placement))

    def title(self, title: str) -> None:
        """Set the title of the user's window."""
        self._show(TitleSet(self._owner, title))

    def editor_text(self, text: str) -> None:
        """Put text into the user's editor, to begin a prompt with."""
        self._show(EditorTextSet(self._owner, text))

    def confirm(self, title: str, message: str = "", *, timeout: float | None = None) -> bool:
        """Ask the user, and wait. No answer is no."""
        reply = self._ask(Confirm(title, message), timeout)
        return isinstance(reply, Confirmed) and reply.yes

    def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        """Ask for one of these, and wait. None if nobody chose."""
        return _text(self._ask(Select(title, tuple(map(str, options))), timeout))

    def input(self, title: str, placeholder: str = "", *, timeout: float | None = None) -> str | None:
        """Ask for a line of text, and wait. None if nobody answered."""
        return _text(self._ask(EnterText(title, placeholder), timeout))

    def editor(self, title: str, prefill: str = "", *, timeout: float | None = None) -> str | None:
        """Ask for a longer text, and wait. None if nobody answered."""
        return _text(self._ask(EditText(title, prefill), timeout))

    def say(
        self,
        text: str,
        *,
        when: Literal["follow_up", "steer", "note"] = "follow_up",
        kind: str = "",
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Say something to the agent, as the user would. One that works hears it when it is done, or, with `steer`,
        after the tool that runs; one that does not begins to work. A `note` begins nothing: it is shown to the model
        with what is said next. With a `kind`, it is an entry of that kind, and not what the user said.
        """
        self._host.say(text, when, kind, details)

    def run(self, command: str, /, **fields: Any) -> "Answer":
        """Carry out a command that a client could send, such as `ctx.run("compact")` or `ctx.run("new_session")`, wait,
        and return the answer. Raises LinnetError. The time counts: a hook cannot wait for what waits for it.
        """
        from linnet.extensions.python.asking import asked

        return self._host.run(asked(command, fields), self._call.cancel)

    def abort(self) -> None:
        """Abort what the agent does now. Returns at once."""
        self._host.abort()

    def exec(self, *argv: str, timeout: float | None = None) -> Ran:
        """Run a program in the folder that is worked in, wait, and return what came of it. What it leaves running in
        the background ends with the session. Raises OSError if there is no such program.
        """
        output = _Output()
        ended = self._host.processes.run(argv, cwd=self.cwd, sink=output, cancel=self._call.cancel, timeout=timeout)
        return Ran(bytes(output.data).decode("utf-8", "replace"), ended.exit_code)

    def _show(self, shown: Shown) -> None:
        self._host.show(shown)

    def _ask(self, question: Question, timeout: float | None) -> Reply | None:
        """Put a question to the user; meanwhile the handler's time does not count."""
        with self._call.paused():
            return self._host.ask(question, self._call.cancel, timeout)


class _Output:
    """A Sink that keeps the beginning of what a program prints."""

    def __init__(self) -> None:
        self.data = bytearray()

    def feed(self, data: bytes) -> None:
        self.data += data[: MOST_OUTPUT - len(self.data)]

    def tick(self) -> float | None:
        return None


def _text(reply: Reply | None) -> str | None:
    """Return the text of a reply; None if there is none."""
    return reply.text if isinstance(reply, Chosen) else None
