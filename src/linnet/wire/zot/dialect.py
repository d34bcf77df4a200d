"""The zot protocol as a Dialect."""

from collections.abc import Sequence
from typing import Any, Literal

from linnet.core.commands import Answer
from linnet.core.events import Event
from linnet.wire.dialect import Asked, Rejected
from linnet.wire.jsonl import Overlong
from linnet.wire.zot import encode
from linnet.wire.zot.decode import decode


class Zot:
    answers_work: Literal["accepted", "started"] = "started"

    def __init__(self, *, show_thinking: bool = False) -> None:
        self._show_thinking = show_thinking

    def decode(self, line: bytes | Overlong) -> Asked | Rejected:
        return decode(line)

    def answer(self, asked: Asked, answer: Answer) -> Any:
        return encode.answer(asked, answer)

    def refuse(self, asked: Asked | Rejected, reason: str) -> Any:
        return encode.refuse(asked, reason)

    def encode(self, events: Sequence[Event]) -> Sequence[Any]:
        return encode.encode(events, show_thinking=self._show_thinking)
