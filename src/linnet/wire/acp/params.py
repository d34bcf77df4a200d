"""What a client may ask, as types: the parameters of each method. Unknown fields are ignored."""

from typing import Annotated, Any, TypeAlias, TypeVar

from msgspec import Meta, Raw, Struct, ValidationError

from linnet.decoding import converted, decoder_of
from linnet.errors import BadInput
from linnet.wire.acp.jsonrpc import INVALID_PARAMS, RpcError
from linnet.wire.jsonl import decode_line

T = TypeVar("T")
Version: TypeAlias = Annotated[int, Meta(ge=0, le=65535)]


class Params(Struct, frozen=True, rename="camel"):
    pass


class ClientFiles(Params, frozen=True):
    read_text_file: bool = False
    write_text_file: bool = False


class ClientAuth(Params, frozen=True):
    terminal: bool = False


class ClientElicitation(Params, frozen=True):
    form: Any = None


class ClientSession(Params, frozen=True):
    notices: Any = None
    compaction: Any = None


class ClientCapabilities(Params, frozen=True):
    """What the client does for agents."""

    fs: ClientFiles | None = None
    terminal: bool = False
    auth: ClientAuth | None = None
    elicitation: ClientElicitation | None = None
    session: ClientSession | None = None
    meta: Any = None

    @property
    def reads(self) -> bool:
        return self.fs is not None and self.fs.read_text_file

    @property
    def writes(self) -> bool:
        return self.fs is not None and self.fs.write_text_file

    @property
    def forms(self) -> bool:
        """Whether it can ask its user something in a form."""
        return self.elicitation is not None and isinstance(self.elicitation.form, dict)

    @property
    def notices(self) -> bool:
        return self.session is not None and isinstance(self.session.notices, dict)

    @property
    def compactions(self) -> bool:
        return self.session is not None and isinstance(self.session.compaction, dict)

    @property
    def shows_output(self) -> bool:
        """Whether it shows what commands of ours print in terminals, as Zed does and says."""
        return isinstance(self.meta, dict) and self.meta.get("terminal_output") is True

    @property
    def login(self) -> bool:
        """Whether it can start a command in a terminal for its user to log in."""
        return self.auth is not None and self.auth.terminal


class Initialize(Params, frozen=True):
    protocol_version: Version | str  # A string is of a time before the versions had numbers.
    client_capabilities: Raw = Raw(b"null")

    @property
    def capabilities(self) -> ClientCapabilities:
        """What is offered. What cannot be understood of it is not."""
        try:
            said = decode_line(decoder_of(Any), bytes(self.client_capabilities))
        except BadInput:
            return ClientCapabilities()
        known: dict[str, Any] = {}
        for name, kind in ClientCapabilities.__annotations__.items():
            if isinstance(said, dict) and name in said and name != "meta":
                try:
                    known[name] = converted(said[name], _KINDS[name])
                except ValidationError:
                    assert kind
        return ClientCapabilities(**known, meta=said.get("_meta") if isinstance(said, dict) else None)


_KINDS: dict[str, Any] = {
    "fs": ClientFiles | None,
    "terminal": bool,
    "auth": ClientAuth | None,
    "elicitation": ClientElicitation | None,
    "session": ClientSession | None,
}


class Authenticate(Params, frozen=True):
    method_id: str


class Variable(Params, frozen=True):
    """A variable or a header."""

    name: str
    value: str


class McpServer(Params, frozen=True):
    """One that the client hands over: a program, or an address."""

    name: str
    type: str = "stdio"
    command: str = ""
    args: list[str] = []
    env: list[Variable] = []
    url: str = ""
    headers: list[Variable] = []


class _Placed(Params, frozen=True):
    cwd: str


class NewSession(_Placed, frozen=True, kw_only=True):
    mcp_servers: list[McpServer]
    additional_directories: list[str] | None = None


class LoadSession(_Placed, frozen=True, kw_only=True):
    session_id: str
    mcp_servers: list[McpServer]
    additional_directories: list[str] | None = None


class ResumeSession(_Placed, frozen=True, kw_only=True):
    """Of `session/resume` and `session/fork`."""

    session_id: str
    mcp_servers: list[McpServer] | None = None
    additional_directories: list[str] | None = None


class ListSessions(Params, frozen=True):
    cwd: str | None = None
    cursor: str | None = None


class OfSession(Params, frozen=True):
    """Of `session/close`, `session/delete` and `session/cancel`."""

    session_id: str


class Prompt(Params, frozen=True):
    session_id: str
    prompt: list[Any]


class SetMode(Params, frozen=True):
    session_id: str
    mode_id: str


class SetOption(Params, frozen=True):
    session_id: str
    config_id: str
    value: Any


class CancelRequest(Params, frozen=True):
    request_id: Raw


def params(kind: type[T], raw: Raw) -> T:
    """Return the parameters of a request. Raises RpcError."""
    given = bytes(raw)
    try:
        return decode_line(decoder_of(kind), b"{}" if given == b"null" else given)
    except BadInput as error:
        raise RpcError(INVALID_PARAMS, f"invalid params: {error}") from None
