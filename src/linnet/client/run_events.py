"""Hands the events of an agent to whoever iterates over them: all that come, or those of one run."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from linnet.client.agent import Agent
from linnet.client.conversation import Heard
from linnet.client.request import Request
from linnet.client.run_result import RunResult
from linnet.client.stream import Stream
from linnet.errors import RunFailed
from linnet.faces import Steps, once
from linnet.wire.incoming import BadLine, UnknownEvent

E = TypeVar("E")


class Taken(Generic[E]):
    """Events as they come, from the moment this was made. It need not be closed: the agent goes on without it."""

    def __init__(self, agent: Agent[E], stream: Stream[E]) -> None:
        self.line = b""
        """The line that the last event came as, with the fields that are not known here."""
        self._agent = agent  # So that the agent lives as long as somebody listens to it.
        self._link = agent._link
        self._stream = stream
        self._taken: deque[Heard[E]] = deque()

    @once
    def next(self, timeout: float | None = None) -> Steps[E | UnknownEvent | BadLine | None]:
        """Return the next event; None after the last one. Raises TimedOut, and the run goes on."""
        return self._next(timeout)

    def close(self) -> None:
        """Take no more events."""
        self._taken.clear()
        self._link.let_go(self._stream)

    def _next(self, timeout: float | None = None) -> Steps[E | UnknownEvent | BadLine | None]:
        if not self._taken and not self._stream.ready:
            yield from self._until_ready(timeout)
        return self._take()

    def _until_ready(self, timeout: float | None) -> Steps[None]:
        return self._agent._waits.until(self._link, self._stream, "events", timeout)

    def _take(self) -> E | UnknownEvent | BadLine | None:
        """Return an event that has come; None if there is none. Raises AgentGone after the last one."""
        if not self._taken:
            self._taken = self._link.take(self._stream)
            if not self._taken:
                return None
        heard = self._taken.popleft()
        self.line = heard.line
        return heard.event

    def __del__(self) -> None:
        if hasattr(self, "_link"):
            self._link.wake()  # It may have been what reading waited for.


class RunEvents(Taken[E]):
    """The events of what one command asked for, up to its end. Raises Refused if it was refused."""

    def __init__(self, client: Agent[E], request: Request[Any]) -> None:
        stream: Stream[E] = Stream(id="unsent")
        super().__init__(client, stream)
        self._request = request
        self._pending = client._link.ask(request, stream)
        self._began = time.monotonic()

    @once
    def accepted(self, timeout: float | None = None) -> Steps[Any]:
        """Wait until the agent has answered; return what: in pi's protocol `Accepted`, with its `disposition`.

        Raises Refused.
        """
        yield from self._agent._answer(self._pending, self._request.name, timeout)
        assert self._pending.reply
        return self._request.result(self._pending.reply)

    @once
    def text(self) -> Steps[str]:
        """Wait for the end; return what the agent said. Raises RunFailed if it failed or was aborted."""
        return (yield from self._result()).text

    @once
    def value(self) -> Steps[Any]:
        """Wait for the end; return the answer as the value that `output_schema` asked for. Raises RunFailed if there is
        none.
        """
        result = yield from self._result()
        if result.no_value:
            raise RunFailed(result.no_value, result.text)
        return result.value

    @once
    def wait(self) -> Steps[None]:
        """Wait for the end, however it comes. Events that were not taken are dropped."""
        return self._each(lambda _: None)

    def _result(self) -> Steps[RunResult]:
        result = self._agent.speech.result()
        yield from self._each(result.add)
        if result.failure:
            raise RunFailed(result.failure, result.text)
        return result

    def _each(self, add: Callable[[E | UnknownEvent | BadLine], object]) -> Steps[None]:
        """Call a function with each event that is left."""
        while (event := self._take() if self._taken else (yield from self._next())) is not None:
            add(event)

    def _until_ready(self, timeout: float | None) -> Steps[None]:
        limits = [] if timeout is None else [timeout]
        if self._request.timeout is not None:
            limits.append(max(0.0, self._began + self._request.timeout - time.monotonic()))
        return self._agent._waits.until(self._link, self._stream, self._request.name, min(limits, default=None))

    def _take(self) -> E | UnknownEvent | BadLine | None:
        event = super()._take()
        if event is None:
            self._check()
        return event

    def _check(self) -> None:
        """Raise Refused if that was the answer."""
        if self._pending.reply is not None:
            self._request.result(self._pending.reply)
