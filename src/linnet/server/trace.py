"""Writes lines for `--debug` about what happens in a session. Nothing of what was said is in them."""

from collections.abc import Callable, Sequence
from time import monotonic

from linnet.core.events import (
    PASSING,
    CompactionEnded,
    CompactionStarted,
    Event,
    ReplyEnded,
    RetryEnded,
    RetryScheduled,
    Settled,
    StepStarted,
    ToolFinished,
    ToolStarted,
)
from linnet.runtime.listener import Listener
from linnet.server.terminal import say


class Trace:
    """Writes lines to stderr, with the seconds since this was made, and without secrets."""

    def __init__(self, hide: Callable[[bytes], bytes]) -> None:
        """`hide` removes secrets from a line."""
        self._hide = hide
        self._began = monotonic()

    def __call__(self, line: str) -> None:
        clean = self._hide(line.encode("utf-8", "replace")).decode("utf-8", "replace")
        say(f"debug: {monotonic() - self._began:.3f} s: {' '.join(clean.split())}")


class Tracing(Listener):
    """Traces the events of a session."""

    def __init__(self, trace: Callable[[str], None]) -> None:
        self._trace = trace
        self._started: dict[str, float] = {}

    def hear(self, events: Sequence[Event]) -> None:
        for event in events:
            if type(event) not in PASSING and (line := self._line(event)):
                self._trace(line)

    def _line(self, event: Event) -> str:
        """Return the line about an event; empty if there is none."""
        match event:
            case StepStarted(step):
                return f"step {step}"
            case ReplyEnded(reply):
                used = reply.usage
                tokens = f"{used.input} tokens in, {used.output} out, {used.cache_read} read from the cache"
                return f"reply: {reply.stop}, {len(reply.calls)} calls, {tokens}"
            case ToolStarted(call):
                self._started[call.id] = monotonic()
                return f"tool: {call.name} began"
            case ToolFinished(result):
                took = monotonic() - self._started.pop(result.call_id, monotonic())
                return f"tool: {result.name} {'failed' if result.is_error else 'ended'} after {took:.3f} s"
            case RetryScheduled(attempt, most, delay):
                return f"retry: {attempt} of {most} in {delay / 1000:g} s"
            case RetryEnded(success):
                return f"retry: {'succeeded' if success else 'failed'}"
            case CompactionStarted(reason):
                return f"compaction: {reason}"
            case CompactionEnded(error=error):
                return f"compaction: ended{error and ': ' + error}"
            case Settled(kind, stop, error):
                return f"{kind}: {stop}{error and ': ' + error}"
            case _:
                return ""
