"""How an agent is started and spoken to, whichever kind of client does it."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar, Unpack
from weakref import finalize

from msgspec import Struct

from linnet.client.child import Child, linnet
from linnet.client.conversation import Conversation, Heard
from linnet.client.link import ROOM, Link
from linnet.client.request import Request
from linnet.client.spoken import Spoken
from linnet.client.stream import Stream
from linnet.client.work import Work
from linnet.wire.incoming import BadLine, Reader, UnknownEvent
from linnet.wire.jsonl import LONGEST_LINE

E = TypeVar("E")
PATIENCE = 5.0  # Seconds that an agent has to finish, once its stdin is closed.


class Speech(Struct, Generic[E], frozen=True):
    """A protocol, from the client's side. `words` start linnet in it."""

    words: tuple[str, ...]
    reader: Callable[[int], Reader[E]]
    work: Callable[[], Work]
    spoken: Callable[[], Spoken]


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
        """The end of what the agent printed there, up to 256 KiB."""
        return self._link.stderr

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs and nothing follows; False also while that is not known. `wait_idle` finds out."""
        return self._link.is_idle

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative for a signal."""
        gone = self._link.gone
        return gone.exit_code if gone else None

    def tell(self, type: str, /, **fields: Any) -> None:
        """Send something that is not answered."""
        self._link.tell({"type": type, **fields})

    def _seconds(self, request: Request[Any]) -> float | None:
        return self._timeout if request.timeout is None else request.timeout


class Taken(Generic[E]):
    """Events as they come, from the moment this was made. Letting go of it costs nothing; the agent goes on.

    `line` is the line that the last event came as, with the fields that nobody knows of here.
    """

    def __init__(self, agent: Agent[E], stream: Stream[E]) -> None:
        self.line = b""
        self._agent = agent  # So that the agent lives as long as somebody listens to it.
        self._link = agent._link
        self._stream = stream
        self._taken: deque[Heard[E]] = deque()

    def close(self) -> None:
        """Take no more."""
        self._taken.clear()
        self._link.let_go(self._stream)

    def _take(self) -> E | UnknownEvent | BadLine | None:
        """The next event; None if there is none. Raises AgentGone after the last one."""
        if not self._taken:
            self._taken = self._link.take(self._stream)
            if not self._taken:
                return None
        heard = self._taken.popleft()
        self.line = heard.line
        return heard.event

    def __del__(self) -> None:
        if hasattr(self, "_link"):
            self._link.wake()  # It may have been what reading waited for.
