"""The pi protocol as a `Dialect`."""

from msgspec import UNSET

from linnet import errors
from linnet.core import commands
from linnet.wire.dialect import Asked, Encoder, Moment, Opened, Rejected
from linnet.wire.jsonl import Overlong, encode_lines
from linnet.wire.pi import state
from linnet.wire.pi.decode import Manner, SetStream, Stream, decode
from linnet.wire.pi.generations import PI, Generation

BUSY = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."


class Pi:
    """The dialect of one pi client. It remembers what the client has set with `set_stream`; its encoders go by that."""

    asks = True

    def __init__(
        self,
        generation: Generation = PI,
        *,
        stream: Stream | None = None,
        settled: bool = False,
        shared: bool = False,
    ) -> None:
        """With `shared`, others may be clients of the same agent: this one is told of the answers that they give."""
        self._generation = generation
        self.name: str = generation.name
        self.finishes = generation.input_end == "finish"
        settled = settled or generation.settled != "if_asked"
        self._manner = Manner(stream or generation.updates, settled=settled, shared=shared)

    def decode(self, line: bytes | Overlong) -> Asked | Rejected:
        return decode(line, self._generation)

    def moment(self, command: commands.Command) -> Moment:
        if not isinstance(command, commands.Prompt):
            return "finished"
        return "heard" if self._generation.disposition else "accepted"

    def answer(self, asked: Asked, answer: commands.Answer) -> bytes:
        return state.answer(asked, answer, self._generation)

    def heed(self, asked: Asked) -> None:
        if isinstance(asked.command, SetStream):
            self._manner.stream = asked.command.mode or self._manner.stream
            if asked.command.settled is not None:
                self._manner.settled = asked.command.settled

    def refuse(self, asked: Asked | Rejected, reason: str, code: str = "") -> bytes:
        summarizes = isinstance(asked, Asked) and isinstance(asked.command, commands.Compact)
        if summarizes and self._generation.compactions == "compaction":
            from linnet.wire.pi.to_pi import summary_failure

            reason = summary_failure(reason)
        return state.refuse(asked, reason, code)

    def explain(self, error: errors.LinnetError) -> str:
        match error:
            case errors.Busy():
                return BUSY
            case errors.UnknownModel():
                return f"Model not found: {error.provider}/{error.name}"
            case _:
                return str(error)

    def session(self, opened: Opened) -> bytes:
        """Return the header of pi's session files, with the file's path in addition."""
        from linnet.wire.pi.update_frames import SessionHeader  # Of one prompt, not of clients.

        file = UNSET if opened.file is None else opened.file
        shown = SessionHeader(version=3, id=opened.id, timestamp=opened.timestamp, cwd=opened.cwd, session_file=file)
        return encode_lines([shown])

    def warm(self) -> None:
        from linnet.wire.pi import answers, encode, prompts  # noqa: F401

    def encoder(self, session: str = "") -> Encoder:
        from linnet.wire.pi.encode import PiEncoder  # Not needed before something happens.

        return PiEncoder(self._manner, self._generation)
