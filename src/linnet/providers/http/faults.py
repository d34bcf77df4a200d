"""What a vendor says about a failure, in whichever of their forms, as one kind of object."""

from collections.abc import Iterator
from typing import Any

from msgspec import MsgspecError, Struct
from msgspec.json import decode, encode

_LONGEST = 2048


class Fault(Struct):
    """What vendors put under `error`, or where that would be. Each uses some of these fields, in types of their own."""

    type: Any = None
    code: Any = None
    message: Any = None
    status: Any = None
    """Google's word for the HTTP status."""
    reason: Any = None
    details: Any = None
    """Anthropic's object with an `error_code`; Google's list of objects with a `reason` and a `retryDelay`."""
    metadata: Any = None
    """OpenRouter's object whose `raw` is what the provider behind it has said."""

    def __post_init__(self) -> None:
        self.type = self.type if isinstance(self.type, str) else None
        self.code = self.code if isinstance(self.code, str | int) and not isinstance(self.code, bool) else None
        self.message = _text(self.message)

    @property
    def number(self) -> int | None:
        """Return the HTTP status that its code says, if it says one."""
        code = self.code
        if isinstance(code, str) and len(code) == 3 and code.isascii() and code.isdigit():
            code = int(code)
        return code if isinstance(code, int) and 400 <= code < 600 else None

    @property
    def words(self) -> set[str]:
        """Return its types and codes in one spelling: in lower case, without underscores and `Exception`."""
        said = [self.type, self.code, self.status, self.reason]
        for each in self._details():
            said += [each.get("error_code"), each.get("reason")]
        return {_plain(word) for word in said if isinstance(word, str) and word}

    @property
    def told(self) -> str:
        """Return all that it says in sentences."""
        raw = self.metadata.get("raw") if isinstance(self.metadata, dict) else None
        return f"{self.message or ''}\n{_text(raw) or ''}".strip()

    @property
    def delay(self) -> float | None:
        """Return how many seconds Google asks to wait, if it does."""
        for each in self._details():
            value = each.get("retryDelay")
            if isinstance(value, str) and (seconds := seconds_of(value.strip().removesuffix("s"))) is not None:
                return seconds
        return None

    def _details(self) -> Iterator[dict[str, Any]]:
        found = self.details if isinstance(self.details, list) else [self.details]
        return (each for each in found if isinstance(each, dict))


def read(body: bytes, kind: str = "") -> Fault:
    """Return what the body of an answer says; an empty fault if nothing can be made of it. Never raises.

    `kind` is the type that AWS sends in a header.
    """
    try:
        found = decode(body)
    except (MsgspecError, ValueError, RecursionError):
        return Fault(type=kind or None)
    if isinstance(found, list) and found:  # Google's, where a stream was asked for without `alt=sse`.
        found = found[0]
    outside = found if isinstance(found, dict) else {}
    error = outside.get("error")
    if isinstance(error, str):
        return Fault(type=kind or outside.get("type"), code=outside.get("code"), message=error)
    inside = error if isinstance(error, dict) else outside
    return Fault(
        type=kind or inside.get("type") or inside.get("__type"),
        code=inside.get("code"),
        message=inside.get("message") or inside.get("Message") or inside.get("detail"),
        status=inside.get("status"),
        reason=inside.get("reason"),
        details=inside.get("details"),
        metadata=inside.get("metadata"),
    )


def seconds_of(value: str) -> float | None:
    """Return a number of seconds that is one; else None."""
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if 0 <= seconds < 1e9 else None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    try:
        return encode(value).decode()[:_LONGEST]
    except (MsgspecError, TypeError, ValueError, RecursionError):
        return None


def _plain(word: str) -> str:
    word = word.partition(":")[0].rpartition("#")[2]  # AWS: com.amazon.service#ThrottlingException:http://…
    return word.lower().translate(_DROPPED).removesuffix("exception")


_DROPPED = str.maketrans("", "", "_- ")
