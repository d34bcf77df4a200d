"""The line with which a connection begins: which agent is meant, or that one is to be opened. Pure."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import UNSET, DecodeError, Meta, Raw, Struct, UnsetType, ValidationError

from linnet.decoding import decoder_of
from linnet.errors import LinnetError
from linnet.serve.agents.summary import Summary
from linnet.wire.jsonl import Overlong, encode_lines

FORMS = (
    'the first line must be {"type":"open",…}, {"type":"attach","agent":ID,…} or {"type":"agents"}: see docs/serve.md'
)


class Open(Struct, frozen=True, tag_field="type", tag="open", forbid_unknown_fields=True):
    """Open an agent, and drive it."""

    id: Raw = Raw(b"")
    dialect: str | None = None
    cwd: str | None = None
    flags: tuple[str, ...] = ()
    env: dict[str, str] = {}
    program: str = "linnet"
    keep: bool = True
    cursor: bool = False
    client: str = ""


class Attach(Struct, frozen=True, tag_field="type", tag="attach", forbid_unknown_fields=True, rename={"after": "from"}):
    """Drive or watch an agent that is there."""

    agent: str
    id: Raw = Raw(b"")
    dialect: str | None = None
    after: Annotated[int, Meta(ge=0)] | None = None
    """The number that was seen last."""
    role: Literal["drive", "watch"] = "drive"
    cursor: bool = False
    client: str = ""
    stream: Literal["full", "deltas"] | None = None
    settled: bool = False
    show_thinking: bool = False


class Agents(Struct, frozen=True, tag_field="type", tag="agents", forbid_unknown_fields=True):
    """List the agents that there are."""

    id: Raw = Raw(b"")


FirstLine: TypeAlias = Open | Attach | Agents


class Refused(Struct, frozen=True):
    """A line that is none of these."""

    id: Raw
    command: str
    reason: str
    code: str = "bad_input"


class Attached(Struct, frozen=True):
    """What `open` and `attach` are answered with."""

    agent: str
    """The id of the agent."""
    seq: int
    """The number of the event that was told last."""
    dialect: str
    """What is spoken from here on."""
    remarks: Sequence[str] = ()
    """Sentences for whoever opened it."""


class AgentsListed(Struct, frozen=True):
    """What `agents` is answered with."""

    agents: Sequence[Summary]


class _Named(Struct):
    id: Raw = Raw(b"")
    type: Any = ""


class Response(Struct, frozen=True, tag_field="type", tag="response"):
    """The answer to a first line, the same in every dialect."""

    command: str
    success: bool
    id: Raw | UnsetType = UNSET
    data: Any = UNSET
    error: str | UnsetType = UNSET
    code: str | UnsetType = UNSET


def understood(line: bytes | Overlong) -> FirstLine | Refused:
    """Return what the line wants. Never raises."""
    if isinstance(line, Overlong):
        return Refused(Raw(b""), "", line.reason)
    try:
        said: FirstLine = decoder_of(FirstLine).decode(line)
    except (DecodeError, ValidationError, UnicodeError, RecursionError) as error:
        try:
            named = decoder_of(_Named).decode(line)
        except (DecodeError, UnicodeError, RecursionError):
            return Refused(Raw(b""), "", FORMS)
        kind = named.type if isinstance(named.type, str) else ""
        known = kind in ("open", "attach", "agents")
        return Refused(named.id, kind, f"{kind}: {error}" if known else FORMS)
    return said


def answered(to: FirstLine | Refused, data: Any) -> bytes:
    """Return the line that answers a first line with this."""
    return encode_lines([Response(_command(to), True, _id(to.id), data)])


def refused(to: FirstLine | Refused, error: "LinnetError | str", code: str = "") -> bytes:
    """Return the line that refuses a first line."""
    code = code or (error.code if isinstance(error, LinnetError) else "bad_input")
    return encode_lines([Response(_command(to), False, _id(to.id), UNSET, str(error), code)])


def _command(to: FirstLine | Refused) -> str:
    return to.command if isinstance(to, Refused) else str(to.__struct_config__.tag)


def _id(id: Raw) -> Raw | UnsetType:
    return id if bytes(id) else UNSET
