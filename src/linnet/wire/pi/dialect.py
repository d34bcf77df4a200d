"""The pi protocol as a Dialect."""

from collections.abc import Iterable, Sequence

from linnet import errors
from linnet.core import commands
from linnet.core.events import Event
from linnet.wire.dialect import Asked, Buffers, Moment, Opened, Rejected
from linnet.wire.jsonl import Overlong, encode_lines
from linnet.wire.pi import answers
from linnet.wire.pi.decode import SetStream, decode
from linnet.wire.pi.encode import PiEncoder, Stream
from linnet.wire.pi.prompts import Attached

BUSY = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."


class Pi:
    asks = True

    def __init__(self, *, stream: Stream = "full", settled: bool = False) -> None:
        self._encoder = PiEncoder(stream, settled=settled)

    def decode(self, line: bytes | Overlong) -> Asked | Rejected:
        return decode(line)

    def moment(self, command: commands.Command) -> Moment:
        return "accepted" if isinstance(command, commands.Prompt) else "finished"

    def answer(self, asked: Asked, answer: commands.Answer) -> bytes:
        self._heed(asked)
        return answers.answer(asked, answer, self._encoder.words)

    def _heed(self, asked: Asked) -> None:
        """Remember what a command says about lines that will be made later."""
        if isinstance(asked.command, SetStream):
            self._encoder.stream = asked.command.mode or self._encoder.stream
            if asked.command.settled is not None:
                self._encoder.settled = asked.command.settled
        elif isinstance(asked.command, Attached):
            self._encoder.words.accept(asked.command)

    def refuse(self, asked: Asked | Rejected, reason: str) -> bytes:
        return answers.refuse(asked, reason)

    def explain(self, error: errors.LinnetError) -> str:
        match error:
            case errors.Busy():
                return BUSY
            case errors.UnknownModel():
                return f"Model not found: {error.provider}/{error.name}"
            case _:
                return str(error)

    def session(self, opened: Opened) -> bytes:
        """The header of pi's sessions, with the file besides."""
        file = {} if opened.file is None else {"sessionFile": opened.file}
        shown = {"id": opened.id, "timestamp": opened.timestamp, "cwd": opened.cwd, **file}
        return encode_lines([{"type": "session", "version": 3, **shown}])

    def encode(self, events: Sequence[Event]) -> Iterable[Buffers]:
        return self._encoder.encode(events)
