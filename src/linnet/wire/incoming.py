"""The client's side: decodes the lines that an agent prints into events and replies, the same for all dialects."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from msgspec import DecodeError, Raw, Struct, ValidationError
from msgspec.json import Decoder, encode

from linnet.decoding import decoder_of
from linnet.errors import BadInput
from linnet.wire import shallow
from linnet.wire.fields import ABSENT
from linnet.wire.jsonl import LONGEST_LINE, Lines, Overlong, TooDeep, decode_line

E = TypeVar("E")
Fields = dict[str, Any]


class Reply(Struct, frozen=True, tag_field="type", tag="response"):
    """The answer to a command."""

    command: str = ""
    success: bool = False
    id: Any = None
    data: Raw = ABSENT  # Empty if there is none.
    error: str = ""


class UnknownEvent(Struct, frozen=True):
    """An object whose `type` is not known, or that does not fit its `type`."""

    type: str
    raw: Fields  # All of the object.
    reason: str = ""  # Why it does not fit; empty if its type is not known.


class BadLine(Struct, frozen=True):
    """A line that is no JSON object with a `type`: a stray print, or a frame that was torn."""

    line: bytes
    reason: str

    @property
    def text(self) -> str:
        return self.line.decode("utf-8", "replace")


class Incoming(Struct, Generic[E], frozen=True, gc=False):
    """What a line says, and the line itself, so that fields that nobody knows survive."""

    said: E | UnknownEvent | BadLine | Reply
    line: bytes


class TooLong(Exception):
    """A line is over the limit. What comes after it cannot be trusted."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"it printed a line of more than {limit} bytes")


def _unmended(_: Fields) -> Fields | None:
    return None


class Reader(Generic[E]):
    """Splits a stream into lines and decodes them. Every line but a blank one becomes something, whatever it is."""

    def __init__(
        self, events: Any, mended: Callable[[Fields], Fields | None] = _unmended, limit: int = LONGEST_LINE
    ) -> None:
        """`events` is a union of structs, with their `type` as the tag. `mended` may turn an object that does not fit
        its type into one that does, or return None.
        """
        self._decoder: Decoder[E | Reply] = decoder_of(events | Reply)
        self._fields = decoder_of(Fields)
        self._mended = mended
        self._limit = limit
        self._lines = Lines(limit)

    def feed(self, chunk: bytes) -> list[Incoming[E]]:
        """Return what the lines say that this chunk completes. Raises TooLong once a line is over the limit."""
        lines = self._lines.feed(chunk)
        if self._lines.unfinished > self._limit:
            raise TooLong(self._limit)
        return self._all(lines)

    def finish(self) -> list[Incoming[E]]:
        """Return what the last line says if it has no end. To be called at the end of the stream. Raises TooLong."""
        return self._all(self._lines.finish())

    def read(self, line: bytes) -> E | UnknownEvent | BadLine | Reply:
        """Return what one line says. Never raises."""
        try:
            return self._decoder.decode(line)
        except (DecodeError, ValueError, RecursionError):
            return self._odd(line)

    def _all(self, lines: list[bytes | Overlong]) -> list[Incoming[E]]:
        incoming = []
        for line in lines:
            if isinstance(line, Overlong):
                raise TooLong(self._limit)
            if line and not line.isspace():
                incoming.append(Incoming(self.read(line), line))
        return incoming

    def _odd(self, line: bytes) -> E | UnknownEvent | BadLine | Reply:
        """Return what can be made of a line that does not decode as it is."""
        try:
            return decode_line(self._decoder, line)  # Half a surrogate pair can be mended.
        except BadInput as error:
            reason = str(error)
        data = None
        try:
            fields = decode_line(self._fields, line)
        except TooDeep:
            members = shallow.members(line)
            fields, data = shallow.known(members), members.get("data")
        except BadInput:
            return BadLine(line, reason)
        kind = fields.get("type")
        if not isinstance(kind, str):
            return BadLine(line, "it has no `type`")
        if kind == "response":
            return _lenient(fields, reason, data)
        mended = self._mended(fields)
        if mended is not None:
            try:
                return self._decoder.decode(encode(mended))
            except ValidationError as error:
                reason = str(error)
        return UnknownEvent(kind, fields, "" if reason.endswith("$.type") else reason)


def _lenient(fields: Fields, reason: str, deep: bytes | None) -> Reply:
    """Return a reply from fields that do not fit it: spelled oddly, it is still the answer that somebody waits for.
    `deep` is its data, if nobody has looked at that yet.
    """
    success = fields.get("success") is True
    error = fields.get("error")
    data = Raw(deep) if deep is not None else Raw(encode(fields["data"])) if "data" in fields else ABSENT
    why = "" if success else error if isinstance(error, str) else reason
    return Reply(str(fields.get("command") or ""), success, fields.get("id"), data, why)
