"""JSON-RPC 2.0, one object a line: requests, notifications and responses, read and written."""

from typing import Any, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType

from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire.jsonl import Overlong, TooDeep, decode_line, encode_lines

PARSE, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
AUTH_REQUIRED, NOT_FOUND, CANCELLED = -32000, -32002, -32800
NULL = Raw(b"null")


class RpcError(Exception):
    """A request that fails: its message is a sentence for people."""

    def __init__(self, code: int, message: str, data: Any = UNSET) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class Request(Struct, frozen=True):
    id: Raw
    """The client's own bytes, echoed as they came."""
    method: str
    params: Raw


class Notification(Struct, frozen=True):
    method: str
    params: Raw


class Response(Struct, frozen=True):
    """What the client answers to a request of ours."""

    id: int | None
    """None if it is no id of ours."""
    result: Any = None
    error: str = ""
    """Why there is no result; empty if there is one."""


class Malformed(Struct, frozen=True):
    """A line that is none of these. `quiet` ones are not answered: they answer something themselves."""

    code: int
    reason: str
    id: Raw = NULL
    quiet: bool = False


Message: TypeAlias = Request | Notification | Response | Malformed


class _Failure(Struct):
    message: str = "it failed"
    code: int = 0


class _Line(Struct):
    jsonrpc: Any = ""
    id: Raw | UnsetType = UNSET
    method: Any = UNSET
    params: Raw = Raw(b"{}")
    result: Raw | UnsetType = UNSET
    error: Any = UNSET


class _Id(Struct):
    id: int | str | None


def decode(line: bytes | Overlong) -> Message:
    """Return what a line says. Never raises."""
    if isinstance(line, Overlong):
        return Malformed(INVALID_REQUEST, line.reason)
    try:
        found = decode_line(decoder_of(_Line), line)
    except TooDeep as error:
        return Malformed(INVALID_REQUEST, str(error))
    except BadInput as error:
        batch = line.lstrip()[:1] == b"["
        return Malformed(INVALID_REQUEST, "batches are not taken") if batch else _unreadable(line, str(error))
    id = found.id
    if id is not UNSET and not _is_id(id):
        return Malformed(INVALID_REQUEST, "an id must be a whole number, a string or null")
    known: Raw = NULL if id is UNSET else id
    if found.method is UNSET:
        if found.result is UNSET and found.error is UNSET:
            return Malformed(INVALID_REQUEST, "there is no method in it", known)
        return _response(found, known)
    if found.jsonrpc != "2.0":
        return Malformed(INVALID_REQUEST, '`jsonrpc` must be "2.0"', known, quiet=id is UNSET)
    if not isinstance(found.method, str):
        return Malformed(INVALID_REQUEST, "`method` must be a string", known, quiet=id is UNSET)
    if id is UNSET:
        return Notification(found.method, found.params)
    return Request(known, found.method, found.params)


def _unreadable(line: bytes, reason: str) -> Malformed:
    try:
        decode_line(decoder_of(Any), line)
    except BadInput:
        return Malformed(PARSE, reason)
    return Malformed(INVALID_REQUEST, "it must be an object")


def _is_id(id: Raw) -> bool:
    try:
        decode_line(decoder_of(_Id), b'{"id":%b}' % bytes(id))
    except BadInput:
        return False
    return True


def _response(found: _Line, id: Raw) -> Message:
    """Return an answer. One that says that it is none of this protocol is taken for a failure."""
    number = int(bytes(id)) if bytes(id).isdigit() else None
    if number is None:
        return Malformed(INVALID_REQUEST, "it answers nothing that was asked", quiet=True)
    if found.jsonrpc != "2.0" or found.error not in (UNSET, None):
        error = found.error
        said = error.get("message") if isinstance(error, dict) else None
        return Response(number, None, said if isinstance(said, str) and said else "it failed")
    if found.result is UNSET:
        return Response(number, None, "it has no result")
    try:
        return Response(number, decode_line(decoder_of(Any), bytes(found.result)))
    except BadInput as error:
        return Response(number, None, str(error))


class _Result(Struct, frozen=True):
    id: Raw
    result: Any
    jsonrpc: str = "2.0"


class _Error(Struct, frozen=True, omit_defaults=True):
    code: int
    message: str
    data: Any = UNSET


class _Refusal(Struct, frozen=True):
    id: Raw
    error: _Error
    jsonrpc: str = "2.0"


class _Call(Struct, frozen=True):
    id: int
    method: str
    params: Any
    jsonrpc: str = "2.0"


class _Note(Struct, frozen=True):
    method: str
    params: Any
    jsonrpc: str = "2.0"


def result(id: Raw, value: Any) -> bytes:
    """Return the line that answers a request."""
    return encode_lines([_Result(id, value)])


def refusal(id: Raw, code: int, message: str, data: Any = UNSET) -> bytes:
    """Return the line that says why a request was not carried out."""
    return encode_lines([_Refusal(id, _Error(code, message, data))])


def call(id: int, method: str, params: Any) -> bytes:
    """Return the line of a request of ours."""
    return encode_lines([_Call(id, method, params)])


def note(method: str, params: Any) -> bytes:
    """Return the line of a notification of ours."""
    return encode_lines([_Note(method, params)])
