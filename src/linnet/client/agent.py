"""What both kinds of client share: starts an agent, sends it commands, and waits for it."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypedDict, TypeVar, Unpack, overload
from weakref import finalize

from msgspec import Struct

from linnet.client.child import Child, linnet
from linnet.client.conversation import Conversation
from linnet.client.link import ROOM, Link
from linnet.client.request import Request
from linnet.client.run_result import RunResult
from linnet.client.stream import Pending, Stream
from linnet.client.work import Work
from linnet.faces import Steps, once, once_overloaded
from linnet.wire.incoming import Reader
from linnet.wire.jsonl import LONGEST_LINE

if TYPE_CHECKING:
    from linnet.faces import Awaits, Blocks

E = TypeVar("E")
R = TypeVar("R")
PATIENCE = 5.0  # Seconds that an agent has to finish, once its stdin is closed.


class Speech(Struct, Generic[E], frozen=True):
    """A protocol, from the client's side."""

    words: tuple[str, ...]
    """The flags by which linnet speaks it."""
    reader: Callable[[int], Reader[E]]
    work: Callable[[], Work]
    result: Callable[[], RunResult]


class Waits(Protocol):
    """How a client waits. All that the two kinds of client do differently."""

    def until(self, link: Link[Any], waited: Pending | Stream[Any], what: str, timeout: float | None) -> Steps[None]:
        """Wait until something is ready. Raises TimedOut, which names what was waited for."""

    def close(self, link: Link[Any], patience: float) -> Steps[int]:
        """Close a link; return the exit code."""


class Options(TypedDict, total=False):
    """How to start an agent. Everything may be left out."""

    provider: str | None
    """A flag that every agent knows, as is `model`."""
    model: str | None
    args: Sequence[str]
    """Other flags."""
    cwd: str | Path | None
    """The folder to start it in; ours if there is none."""
    env: Mapping[str, str | None] | None
    """What to add to our environment, or with None to take away."""
    timeout: float | None
    """Seconds that a command may take if it does not say itself; for ever if there is none."""
    patience: float
    """Seconds that the agent has to finish when it is closed: 5."""
    room: int
    """Bytes of events that may wait to be taken before the agent is held up: 64 MiB."""
    longest_line: int
    """A longer one ends the conversation: 256 MiB."""
    show_stderr: bool
    """Let the agent's stderr be seen on ours. Its end is kept in any case."""


class Agent(Generic[E]):
    """A running agent: ended when this is closed, when nobody holds it any more, or when the interpreter ends."""

    speech: Speech[E]
    _run_type: ClassVar[type[Any]]
    _waits: Waits

    def __init__(self, command: Sequence[str] | None = None, **options: Unpack[Options]) -> None:
        """Start `command`, or else this very linnet. Raises OSError if that is not possible."""
        words = [*(linnet(*self.speech.words) if command is None else command)]
        for flag, value in (("--provider", options.get("provider")), ("--model", options.get("model"))):
            words += [flag, value] if value else []
        self._timeout = options.get("timeout")
        self._patience = options.get("patience", PATIENCE)
        reader = self.speech.reader(options.get("longest_line", LONGEST_LINE))
        conversation: Conversation[E] = Conversation(self.speech.work())
        child = Child([*words, *options.get("args", ())], options.get("cwd"), options.get("env"))
        self._link: Link[E] = Link(
            child,
            reader,
            conversation,
            room=options.get("room", ROOM),
            echo=options.get("show_stderr", False),
        )
        self._finalizer = finalize(self, self._link.abandon)
        self._finalizer.atexit = False  # The link looks after that itself.
        self.pid = child.pid

    @property
    def stderr(self) -> str:
        """The end of what the agent printed on stderr, up to 256 KiB."""
        return self._link.stderr

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs and nothing follows; False also while that is not known. `wait_idle` finds out."""
        return self._link.is_idle

    @property
    def exit_code(self) -> int | None:
        """The exit code: None while the agent runs, negative for a signal."""
        gone = self._link.gone
        return gone.exit_code if gone else None

    @overload
    def call(self: "Blocks", request: Request[R]) -> R: ...
    @overload
    def call(self: "Awaits", request: Request[R]) -> Coroutine[Any, Any, R]: ...
    @once_overloaded
    def call(self, request: Request[Any]) -> Steps[Any]:
        """Send a command; return what it is answered. Raises Refused, TimedOut, BadAnswer, AgentGone."""
        pending = self._link.ask(request)
        seconds = self._timeout if request.timeout is None else request.timeout
        try:
            yield from self._answer(pending, request.name, seconds)
        except BaseException:
            self._link.let_go(pending)
            raise
        assert pending.reply
        return request.result(pending.reply)

    def tell(self, type: str, /, **fields: Any) -> None:
        """Send a frame that is not answered. Raises AgentGone."""
        self._link.tell({"type": type, **fields})

    @once
    def wait_idle(self, *, timeout: float | None = None) -> Steps[None]:
        """Return when nothing runs, waits or follows by itself any more. Raises TimedOut, AgentGone."""
        pending = self._link.watch_idle()
        try:
            yield from self._answer(pending, "wait_idle", timeout)
        finally:
            self._link.let_go(pending)

    @once
    def close(self, *, patience: float | None = None) -> Steps[int]:
        """Close stdin, wait, terminate, wait, kill; return the exit code. Idempotent."""
        code = yield from self._waits.close(self._link, self._patience if patience is None else patience)
        self._finalizer.detach()
        return code

    def _begin(self, request: Request[Any]) -> Any:
        """Send a command; return the run that it begins."""
        return self._run_type(self, request)

    def _answer(self, pending: Pending, what: str, timeout: float | None) -> Steps[None]:
        """Wait until a Pending is completed. Raises TimedOut, AgentGone."""
        if not pending.ready:
            yield from self._waits.until(self._link, pending, what, timeout)
        if pending.error:
            raise pending.error.again()
