"""The dialects that clients of a server may speak, by name."""

from linnet.errors import BadInput
from linnet.flags.dialect_choice import made as made_for
from linnet.flags.flags import DIALECTS, Flags
from linnet.wire.dialect import Dialect

NAMES = DIALECTS


def made(name: str, *, stream: str | None = None, settled: bool = False, show_thinking: bool = False) -> Dialect:
    """Return a fresh dialect for one client. Raises BadInput for a name or a stream that there is not."""
    if name not in NAMES:
        raise BadInput(f"there is no dialect {name!r}: it is one of {', '.join(NAMES)}")
    flags = Flags(settled=settled, show_thinking=show_thinking)
    match stream:
        case None | "full" | "deltas":
            flags.stream = stream
        case _:
            raise BadInput(f"`stream` is full or deltas, not {stream!r}")
    return made_for(flags, name, shared=True)
