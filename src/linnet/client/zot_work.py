"""Follows what an agent does that speaks zot's protocol: one prompt or compaction at a time, the others wait. Pure."""

from typing import Any

from linnet.client.request import Request
from linnet.client.work import Begun, Ended
from linnet.wire.incoming import Reply
from linnet.wire.zot import frames

_WORDS = (frames.UserMessage, frames.TurnStart, frames.AssistantStart, frames.TextDelta, frames.ToolCall)


class ZotWork:
    """The Work of zot. Invariant: what is `active` was answered or has begun, and has not ended; each that is `waiting`
    was sent, and is neither.

    A compaction that fails or is aborted is taken to be over at once: zot itself prints no terminator then, and
    linnet's finds nothing left to end. Words without an answer before them mean that the oldest that waits has begun.
    """

    answers = True
    question = None

    def __init__(self) -> None:
        self.waiting: dict[str, str] = {}  # The names of commands, by id, in the order they were sent.
        self.active: tuple[str, str] | None = None  # The id and the name.

    @property
    def is_idle(self) -> bool:
        return not self.waiting and self.active is None

    def sent(self, id: str, request: Request[Any]) -> list[Begun | Ended]:
        if request.name in ("prompt", "compact"):
            self.waiting[id] = request.name
        return []

    def answered(self, id: str, request: Request[Any], reply: Reply) -> list[Begun | Ended]:
        if id in self.waiting:
            name = self.waiting.pop(id)
            if not reply.success:
                return []
            over = self._end()  # One runs at a time: if this one starts, nothing else does.
            self.active = (id, name)
            return [*over, Begun(id)]
        if request.name == "abort" and reply.success and self._compacts():
            return self._end()
        return []

    def heard(self, event: object) -> list[Begun | Ended]:
        if isinstance(event, frames.Done | frames.CompactDone):
            return self._end()
        if isinstance(event, frames.Error) and self._compacts():
            return self._end()
        if isinstance(event, _WORDS) and self.active is None and self.waiting:
            id = next(iter(self.waiting))
            self.active = (id, self.waiting.pop(id))
            return [Begun(id)]
        return []

    def learned(self, reply: Reply) -> list[Begun | Ended]:
        return []

    def _compacts(self) -> bool:
        return self.active is not None and self.active[1] == "compact"

    def _end(self) -> list[Begun | Ended]:
        over: list[Begun | Ended] = [Ended(self.active[0])] if self.active else []
        self.active = None
        return over
