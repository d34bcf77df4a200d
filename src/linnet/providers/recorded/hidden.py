"""Takes secrets out of what is recorded: out of messages, and out of replies, wherever their deltas end. Pure."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.json import encode

from linnet.core.deltas import CallDelta, Delta, TextDelta, ThinkingDelta
from linnet.core.text.known_secrets import values
from linnet.core.text.redact import MARK, Redactor
from linnet.providers.recorded.pieces import Blocks, Change, changed, retold, walked

T = TypeVar("T", bound=Struct)


class Hiding:
    """Knows the secrets of a process: those that it was told, and what looks like one."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = set(secrets)
        self._values = values(self._secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Hide these, too, from here on."""
        if more := set(secrets) - self._secrets:
            self._secrets |= more
            self._values = values(self._secrets)

    def redactor(self) -> Redactor:
        """Return what finds them in a stream."""
        return Redactor(self._values)

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        return self.redactor().whole(text.encode("utf-8", "surrogatepass")).decode("utf-8", "replace")

    def built(self, said: dict[str, Any]) -> dict[str, Any]:
        """Return an object of JSON without secrets in any of its texts."""
        changed: dict[str, Any] = walked(said, self.text)
        return changed

    def struct(self, said: T) -> T:
        """Return the same without secrets in any of its texts."""
        try:
            if not self.redactor().spans(encode(said)):
                return said
        except UnicodeEncodeError:
            pass
        return retold(said, self.text)

    def changes(self, text: str, in_json: bool) -> list[Change]:
        """Return where the secrets in a text are."""
        data = text.encode("utf-8", "surrogatepass")
        return [
            Change(_characters(data, start), _characters(data, end), MARK.decode())
            for start, end in self.redactor().spans(data)
        ]


class HiddenReply:
    """The batches of one reply. Those in which a secret may have begun are held back, until its end is known.

    Invariant: batches without secrets are given out as they came.
    """

    def __init__(self, hiding: Hiding) -> None:
        self._hiding = hiding
        self._held: list[tuple[int, Sequence[Delta]]] = []
        self._blocks = Blocks()
        self._redactors: dict[Hashable, Redactor] = {}

    def add(self, ms: int, batch: Sequence[Delta]) -> list[tuple[int, Sequence[Delta]]]:
        """Take the next batch, and the time at which it came. Return those that can be written by now."""
        self._held.append((ms, batch))
        for delta in batch:
            key = self._blocks.key(delta)
            if key is not None and isinstance(delta, TextDelta | ThinkingDelta | CallDelta):
                if key not in self._redactors:
                    self._redactors[key] = self._hiding.redactor()
                self._redactors[key].feed(delta.text.encode("utf-8", "surrogatepass"))
        return [] if any(redactor.open for redactor in self._redactors.values()) else self.rest()

    def rest(self) -> list[tuple[int, Sequence[Delta]]]:
        """Return the batches that are held back: nothing will follow."""
        held, self._held = self._held, []
        self._redactors.clear()
        clean = changed([batch for _, batch in held], self._hiding.changes)
        return [(ms, batch) for (ms, _), batch in zip(held, clean, strict=True)]


def _characters(data: bytes, offset: int) -> int:
    """Return how many characters begin before this byte."""
    return len(data[:offset].decode("utf-8", "ignore")) + (
        offset < len(data) and data[offset] & 0xC0 == 0x80
    )  # A secret that was cut inside of a character takes all of it along.
