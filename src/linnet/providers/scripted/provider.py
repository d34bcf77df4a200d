"""The provider that plays a script: offline, deterministic, and with every way in which a real reply can end."""

from collections.abc import Iterator, Sequence
from itertools import count
from threading import Lock

from msgspec.json import encode

from linnet.core.cancel import Cancel
from linnet.core.context import compact
from linnet.core.context.token_estimate import guess
from linnet.core.deltas import (
    CallDelta,
    CallOpened,
    Delta,
    PartClosed,
    ReplyOpened,
    Stopped,
    TextDelta,
    ThinkingDelta,
    UsageReported,
)
from linnet.core.messages import Usage
from linnet.errors import ProviderRejected, ProviderUnavailable
from linnet.providers.base import Request
from linnet.providers.scripted.script import Script, Step, pieces


class Scripted:
    """Implements Provider. Each request plays the script's next turn."""

    name = "scripted"

    def __init__(self, script: Script) -> None:
        self._script = script
        self._lock = Lock()
        self._played = 0
        self._calls = count(1)

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        cancel.check()
        words = 0
        usage: Usage | None = None
        calls = False
        turn = self._turn(request)
        if not (turn and turn[0].fail is not None):  # A request that is refused opens no reply.
            yield [ReplyOpened()]
        for step in turn:
            cancel.check()
            if step.pause is not None:
                cancel.sleep(step.pause)
            elif step.fail is not None:
                fault = ProviderUnavailable if step.retryable else ProviderRejected
                raise fault(self.name, step.fail)
            elif step.usage is not None:
                usage = step.usage
                yield [UsageReported(usage)]
            elif step.stop is not None:
                yield [UsageReported(usage or _estimate(request, words)), Stopped(step.stop)]
                return
            else:
                deltas = self._deltas(step)
                calls = calls or step.call is not None
                words += len(deltas)
                if step.pace:
                    for delta in deltas:
                        cancel.sleep(step.pace)
                        yield [delta]
                else:
                    yield deltas
        yield [UsageReported(usage or _estimate(request, words)), Stopped("tool_use" if calls else "end")]

    def warm(self) -> None:
        pass

    def close(self) -> None:
        pass

    def _turn(self, request: Request) -> Sequence[Step]:
        """Return the turn to play for a request. Raises ProviderRejected if the script is over."""
        if request.system == compact.SYSTEM:
            return [Step(text=self._script.summary)]
        with self._lock:
            turns, number = self._script.turns, self._played
            if number >= len(turns) and not (self._script.loop and turns):
                raise ProviderRejected(
                    self.name, f"the script is over: it has {len(turns)} turn{'s'[: len(turns) != 1]}"
                )
            self._played += 1
        return turns[number % len(turns)]

    def _deltas(self, step: Step) -> list[Delta]:
        if step.text is not None:
            return [*map(TextDelta, pieces(step.text)), PartClosed()]
        if step.think is not None:
            return [*map(ThinkingDelta, pieces(step.think)), PartClosed()]
        id = step.id or f"call_{next(self._calls)}"
        args = encode(step.args or {}).decode()
        return [CallOpened(id, step.call or ""), *(CallDelta(id, piece) for piece in pieces(args)), PartClosed()]


def _estimate(request: Request, words: int) -> Usage:
    """Return a guess of what a reply used, by the length of the conversation and the number of its pieces."""
    return Usage(input=sum(map(guess, request.messages)), output=words)
