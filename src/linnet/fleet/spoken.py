"""The dialects in which commands in an inbox are written: by name, with what their client has set."""

from msgspec import Struct
from msgspec.json import encode

from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.serve.agents import dialects
from linnet.wire.dialect import Dialect
from linnet.wire.jsonl import decode_line

MOST = 256


class Spoken(Struct, frozen=True):
    """How a client's commands are read and answered."""

    name: str
    stream: str | None = None
    settled: bool = False
    show_thinking: bool = False


def spelled(spoken: Spoken) -> bytes:
    return encode(spoken)


class Dialects:
    """Dialects that were made before, for a client's next command. One thread at a time calls."""

    def __init__(self) -> None:
        self._made: dict[bytes, Dialect] = {}

    def by(self, said: bytes) -> Dialect:
        """Return the dialect. Raises BadInput for one that there is not."""
        dialect = self._made.get(said)
        if dialect is None:
            try:
                spoken = decode_line(decoder_of(Spoken), said)
            except BadInput as error:
                raise BadInput(f"nobody knows what this command is written in: {error}") from None
            if len(self._made) >= MOST:
                self._made.clear()
            self._made[said] = dialect = dialects.made(
                spoken.name, stream=spoken.stream, settled=spoken.settled, show_thinking=spoken.show_thinking
            )
        return dialect
