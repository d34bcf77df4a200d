"""Splits a stream of bytes into lines of JSON, and decodes and encodes them. A line ends at LF, and at nothing else."""

from collections.abc import Sequence
from typing import Any, TypeVar

from msgspec import DecodeError, Raw, Struct, ValidationError
from msgspec.json import Decoder, Encoder

from linnet.errors import BadInput

T = TypeVar("T")

LONGEST_LINE = 256 * 1024 * 1024

_encoder = Encoder()


class TooDeep(BadInput):
    """What a line says is nested too deeply to be decoded; it need not be wrong."""

    def __init__(self) -> None:
        super().__init__("nested too deeply")


class Overlong(Struct, frozen=True):
    """A line over the limit; its bytes are gone."""

    size: int

    @property
    def reason(self) -> str:
        return f"the line is {self.size} bytes long; the longest taken is {LONGEST_LINE // (1024 * 1024)} MiB"


class Lines:
    """Splits a stream of chunks into lines.

    The parts of an unfinished line are kept in a list: gluing each new chunk to the last would make a long line cost
    the square of its length. Beyond the limit they are counted, not kept.
    """

    def __init__(self, limit: int = LONGEST_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes | Overlong]:
        """Return the lines that `chunk` completes, without their LF."""
        if not self._size and chunk[-1:] == b"\n" and len(chunk) <= self._limit:  # Whole lines, as most clients write.
            whole: list[bytes | Overlong] = [*chunk[:-1].split(b"\n")]
            return whole
        *complete, rest = chunk.split(b"\n")
        lines: list[bytes | Overlong] = []
        for line in complete:
            self._keep(line)
            lines.append(self._take())
        self._keep(rest)
        return lines

    def finish(self) -> list[bytes | Overlong]:
        """Return the last line if it has no LF. To be called at the end of the stream."""
        return [self._take()] if self._size else []

    @property
    def unfinished(self) -> int:
        """Return the length of the line that has begun and not ended."""
        return self._size

    def _keep(self, part: bytes) -> None:
        if not part:
            return
        self._size += len(part)
        if self._size > self._limit:
            self._parts.clear()
        else:
            self._parts.append(part)

    def _take(self) -> bytes | Overlong:
        size, parts = self._size, self._parts
        self._size, self._parts = 0, []
        if size > self._limit:
            return Overlong(size)
        return parts[0] if len(parts) == 1 else b"".join(parts)


def encode_lines(frames: Sequence[Any]) -> bytes:
    """Return a line for each frame."""
    try:
        encoded = _encoder.encode_lines(frames)
    except UnicodeEncodeError:
        if len(frames) > 1:
            return b"".join(encode_lines([frame]) for frame in frames)
        encoded = _with_surrogates(frames[0])
    return without_line_ends(encoded) if b"\xe2\x80" in encoded else encoded


def encode_value(value: Any) -> bytes:
    """Return a value as JSON, whatever text is in it."""
    return encode_lines([value])[:-1]


def without_line_ends(encoded: bytes) -> bytes:
    """Return JSON with U+2028 and U+2029 escaped: some line readers end a line there."""
    return encoded.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")


def decode_line(decoder: Decoder[T], line: bytes) -> T:
    """Return what one line says. Raises BadInput with a reason that helps whoever wrote the line, or TooDeep."""
    if not line.isascii():
        try:
            line.decode()
        except UnicodeDecodeError as error:
            raise BadInput(f"invalid UTF-8 at byte {error.start}") from None
    try:
        return decoder.decode(line)
    except RecursionError:
        raise TooDeep from None
    except ValidationError as error:
        raise BadInput(str(error).replace("`", "").lower()) from None
    except DecodeError as error:
        mended = _without_half_pairs(line)
        if mended is None:
            raise BadInput(str(error).removeprefix("JSON is malformed: ")) from None
        return decode_line(decoder, mended)


def _without_half_pairs(line: bytes) -> bytes | None:
    """Return the line with U+FFFD for each half of a surrogate pair, which JavaScript can send and no UTF-8 text can
    hold; None if it has none, or is no JSON.
    """
    if b"\\u" not in line:
        return None
    import json  # Only a line that is broken already pays for this.

    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
    except (ValueError, RecursionError):
        return None
    mended = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    return None if mended == line else mended


def _with_surrogates(frame: Any) -> bytes:
    """Return the line of a frame that holds half a surrogate pair, as file names can: JSON can spell it, as \\ud83d."""
    import json  # Only text that is broken already takes this path.

    from msgspec import to_builtins

    def plain(value: Any) -> Any:
        return json.loads(bytes(value)) if isinstance(value, Raw) else value

    return json.dumps(to_builtins(frame, enc_hook=plain)).encode() + b"\n"
