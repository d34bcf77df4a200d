"""Shows the progress of a prompt on a terminal: the step, the tool, the seconds."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic

from linnet.core.events import (
    CompactionEnded,
    CompactionStarted,
    Event,
    RetryScheduled,
    RunStarted,
    StepStarted,
    ToolFinished,
    ToolStarted,
)
from linnet.core.messages import ToolCall
from linnet.core.permissions.rule import subject
from linnet.core.text.terminal_text import spelled_out

CLEAR = "\r\x1b[K"


class ProgressLine:
    """A line that is written over again and again, and one that stays for each tool that has run.

    Events are heard in the thread of the run, and only noted; the main thread draws.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self._step = 0
        self._doing = ""  # What goes on besides steps and tools: a wait for a retry, a compaction.
        self._running: dict[str, tuple[ToolCall, float]] = {}
        self._finished: list[str] = []  # Lines of tools that have run since the last time this was drawn.

    def hear(self, events: Sequence[Event]) -> bool:
        """Note these events. Return whether there is something new to draw."""
        news = False
        for event in events:
            news = True
            match event:
                case RunStarted() | CompactionEnded():
                    self._doing = ""
                case StepStarted():
                    self._step += 1
                case ToolStarted(call):
                    self._running[call.id] = (call, self._clock())
                case ToolFinished(result):
                    if begun := self._running.pop(result.call_id, None):
                        call, at = begun
                        verdict = ", failed" if result.is_error else ""
                        self._finished.append(f"{_named(call)} ({self._clock() - at:.1f} s{verdict})")
                case RetryScheduled(attempt, most, delay):
                    self._doing = f"failed, trying again in {delay / 1000:g} s ({attempt} of {most})"
                case CompactionStarted():
                    self._doing = "summarising the conversation"
                case _:
                    news = False
        return news

    def drawn(self, width: int) -> str:
        """Return what to write now: a line for each tool that has run since the last time, and one for what goes on."""
        finished, self._finished = self._finished, []
        running = [_named(call) for call, _ in self._running.values()]
        parts = [
            f"step {self._step}",
            *(running or [self._doing or "thinking"]),
            f"{self._clock() - self._began:.0f} s",
        ]
        lines = "".join(f"{CLEAR}{line[: width - 1]}\r\n" for line in finished)
        return f"{lines}{CLEAR}{' · '.join(parts)[: width - 1]}"

    def wiped(self) -> str:
        """Return what to write at the end: a line for each tool that has run since the last time, and nothing else."""
        return self.drawn(80).rpartition(CLEAR)[0] + CLEAR


class Terminal:
    """Draws the progress on stderr, which is a terminal."""

    def __init__(self, fd: int = 2) -> None:
        self._fd = fd
        self.progress = ProgressLine()

    @staticmethod
    def is_there(fd: int = 2) -> bool:
        """Return whether this is a terminal that can be drawn on."""
        return os.isatty(fd) and os.environ.get("TERM") != "dumb"

    def draw(self) -> None:
        """Draw the line for what goes on over the one before."""
        try:
            width = os.get_terminal_size(self._fd).columns or 80
        except OSError:
            width = 80
        self._write(self.progress.drawn(width))

    def wipe(self) -> None:
        """Remove the line for what goes on."""
        self._write(self.progress.wiped())

    def _write(self, text: str) -> None:
        with suppress(OSError):  # Nobody looks any more.
            os.write(self._fd, text.encode("utf-8", "replace"))


def _named(call: ToolCall) -> str:
    return spelled_out(" ".join(f"{call.name} {subject(call)}".split()))
