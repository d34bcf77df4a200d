"""The zot protocol as a `Dialect`."""

from collections.abc import Iterable, Sequence

from linnet.core.commands import Answer, Command
from linnet.core.events import Event
from linnet.errors import LinnetError
from linnet.wire.dialect import Asked, Buffers, Encoder, Moment, Opened, Rejected
from linnet.wire.jsonl import Overlong, encode_lines
from linnet.wire.zot import answers
from linnet.wire.zot.decode import decode


class ZotEncoder:
    """The encoder of one client's session. It remembers nothing, since no line of zot's depends on another."""

    def __init__(self, *, show_thinking: bool = False, shared: bool = False) -> None:
        self._show_thinking = show_thinking
        self._shared = shared

    def encode(self, events: Sequence[Event]) -> Iterable[Buffers]:
        from linnet.wire.zot.encode import encode  # Not needed before something happens.

        frames = encode(events, show_thinking=self._show_thinking, shared=self._shared)
        return ([encode_lines(frames)],) if frames else ()

    def skip(self, events: Iterable[Event]) -> None:
        pass


class Zot:
    """The dialect of one zot client."""

    name = "zot"
    asks = True
    finishes = True

    def __init__(self, *, show_thinking: bool = False, shared: bool = False) -> None:
        """With `shared`, others may be clients of the same agent: this one is told of the answers that they give."""
        self._show_thinking = show_thinking
        self._shared = shared

    def decode(self, line: bytes | Overlong) -> Asked | Rejected:
        return decode(line)

    def moment(self, command: Command) -> Moment:
        return "started"

    def answer(self, asked: Asked, answer: Answer) -> bytes:
        return encode_lines([answers.answer(asked, answer)])

    def heed(self, asked: Asked) -> None:
        pass

    def refuse(self, asked: Asked | Rejected, reason: str, code: str = "") -> bytes:
        return encode_lines([answers.refuse(asked, reason, code)])

    def explain(self, error: LinnetError) -> str:
        return str(error)

    def session(self, opened: Opened) -> bytes:
        if opened.file is None:
            return b""
        from linnet.wire.zot.frames import SessionKept  # Of one prompt, not of clients.

        return encode_lines([SessionKept(opened.id, opened.file)])

    def warm(self) -> None:
        from linnet.wire.zot import encode  # noqa: F401

    def encoder(self, session: str = "") -> Encoder:
        return ZotEncoder(show_thinking=self._show_thinking, shared=self._shared)
