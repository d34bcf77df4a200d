"""The earlier pi protocol as a `Dialect`."""

from linnet import errors
from linnet.core.commands import Answer
from linnet.wire.dialect import Asked, Encoder, Rejected
from linnet.wire.jsonl import Overlong, encode_lines
from linnet.wire.pi.decode import Stream
from linnet.wire.pi.dialect import Pi
from linnet.wire.pi_legacy.decode import decode
from linnet.wire.pi_legacy.encode import Error, LegacyEncoder

BUSY = "Agent is already processing. Wait for agent_end, or abort, before the next prompt."


class PiLegacy(Pi):
    """The dialect of one client. Commands have no responses; one that is refused is told as an `error` event."""

    asks = False

    def __init__(self, *, stream: Stream | None = None) -> None:
        super().__init__(stream=stream)
        self.name = "pi-legacy"

    def decode(self, line: bytes | Overlong) -> Asked | Rejected:
        return decode(line)

    def answer(self, asked: Asked, answer: Answer) -> bytes:
        return b""

    def refuse(self, asked: Asked | Rejected, reason: str, code: str = "") -> bytes:
        return encode_lines([Error(reason)])

    def encoder(self, session: str = "") -> Encoder:
        return LegacyEncoder(self._manner)

    def explain(self, error: errors.LinnetError) -> str:
        return BUSY if isinstance(error, errors.Busy) else super().explain(error)
