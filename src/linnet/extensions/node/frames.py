"""The frames between linnet and its host in Node, each a line of JSON. Pure.

linnet asks and tells; the host answers, and calls back for what an extension does to its session. Payloads of events
are in pi's own words, and nothing here looks into them.
"""

from typing import Any, TypeAlias

from msgspec import UNSET, DecodeError, Struct, UnsetType, ValidationError, field, json

from linnet.decoding import decoder_of


class Hello(Struct, frozen=True, tag="hello"):
    version: str


class OfferedTool(Struct, frozen=True, rename="camel"):
    name: str
    description: str = ""
    parameters: Any = None
    prompt_snippet: str | None = None
    prompt_guidelines: list[str] | None = None
    sequential: bool = False
    hidden: bool = False


class OfferedCommand(Struct, frozen=True):
    name: str
    description: str = ""


class OfferedFlag(Struct, frozen=True):
    name: str
    description: str = ""
    type: str = "boolean"
    default: Any = None


class OfferedProvider(Struct, frozen=True, rename="camel"):
    name: str
    base_url: str = ""
    api: str = ""
    api_key: str = ""
    headers: dict[str, str] = {}
    models: list[dict[str, Any]] = []
    streams: bool = False


class Offers(Struct, frozen=True, tag="offers"):
    """All that an extension offers now."""

    extension: int
    events: list[str] = []
    tools: list[OfferedTool] = []
    commands: list[OfferedCommand] = []
    flags: list[OfferedFlag] = []
    providers: list[OfferedProvider] = []


class Failed(Struct, frozen=True, tag="failed"):
    """An extension could not be loaded."""

    extension: int
    error: str


class Ready(Struct, frozen=True, tag="ready"):
    """All extensions are loaded, or have failed."""


class Answer(Struct, frozen=True, tag="answer"):
    id: str
    value: Any = None
    error: str | None = None
    thrown: bool = False  # What was thrown was no Error.


class Progress(Struct, frozen=True, tag="progress"):
    id: str
    value: Any


class Call(Struct, frozen=True, tag="call"):
    """An extension does something to its session, or asks about it. The id 0 wants no answer."""

    id: int
    extension: int
    method: str
    args: dict[str, Any] = {}


class Withdraw(Struct, frozen=True, tag="withdraw"):
    """Nobody waits for this call any more."""

    id: int


class Report(Struct, frozen=True, tag="report"):
    """A handler failed."""

    extension: int
    event: str
    error: str


class Ended(Struct, frozen=True, tag="ended"):
    """All extensions have heard that it is over."""


Incoming: TypeAlias = Hello | Offers | Failed | Ready | Answer | Progress | Call | Withdraw | Report | Ended


class Start(Struct, frozen=True, tag="start"):
    paths: list[str]
    settings: dict[str, Any]


class Tell(Struct, frozen=True, tag="tell"):
    event: str
    payload: Any


class Await(Struct, frozen=True, tag="await"):
    """Tell all extensions of an event, and answer when they have heard it."""

    id: str
    event: str
    payload: Any


class Begin(Struct, frozen=True, tag="begin"):
    """The session has started."""

    start: Any


class Enter(Struct, frozen=True, tag="enter"):
    """Another session was entered: `shutdown` and `start` are the payloads of what extensions hear of it."""

    shutdown: Any
    start: Any


class Ask(Struct, frozen=True, tag="ask"):
    id: str
    extension: int
    event: str
    payload: Any


class RunTool(Struct, frozen=True, tag="tool", rename="camel"):
    id: str
    extension: int
    name: str
    call_id: str
    args: Any


class RunCommand(Struct, frozen=True, tag="command"):
    id: str
    extension: int
    name: str
    args: str


class Stream(Struct, frozen=True, tag="stream"):
    """Have an extension's own provider answer a request."""

    id: str
    extension: int
    provider: str
    payload: Any


class Cancel(Struct, frozen=True, tag="cancel"):
    """Nobody waits for this answer any more."""

    id: str


class Abort(Struct, frozen=True, tag="abort"):
    """The run that goes on is aborted."""


class Return(Struct, frozen=True, tag="return"):
    id: int
    value: Any = None
    error: str | UnsetType = UNSET


class End(Struct, frozen=True, tag="end"):
    payload: Any = field(default_factory=dict)


Outgoing: TypeAlias = (
    Start | Begin | Tell | Await | Enter | Ask | RunTool | RunCommand | Stream | Cancel | Abort | Return | End
)

_decoder = decoder_of(Incoming)


def decode(line: bytes) -> Incoming | str:
    """Return the frame, or a sentence that says why there is none. Never raises."""
    try:
        frame: Incoming = _decoder.decode(line)
    except ValidationError as error:
        return f"the host said something that makes no sense: {error}"
    except (DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"the host said something that is no JSON: {error}"
    return frame


def encode(frame: Outgoing) -> bytes:
    """Return the frame as a line, with its end."""
    try:
        return json.encode(frame) + b"\n"
    except UnicodeEncodeError:  # Half of a surrogate pair: it is written as an escape.
        from json import dumps

        from msgspec import to_builtins

        return dumps(to_builtins(frame), separators=(",", ":")).encode() + b"\n"
