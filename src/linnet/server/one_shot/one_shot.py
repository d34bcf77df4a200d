"""Runs prompts from the command line, one after another, and prints their events as lines, or what came of the last."""

import gc
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import UNSET

from linnet.core.cancel import Cancel
from linnet.core.commands import Answer, Done, Prompt
from linnet.core.events import Event, HookFailed, JobStarted, ReplyEnded, SessionFailed, StepStarted, ToolFinished
from linnet.core.messages import StopReason
from linnet.core.text.terminal_text import spelled_out
from linnet.core.ui_events import Displayed, EditorTextSet, Notified
from linnet.errors import BadOutput, LimitReached, LinnetError, ModelRefused
from linnet.runtime.listener import Listener
from linnet.runtime.requester import Requester
from linnet.runtime.session import Session
from linnet.server.one_shot.piped import piped
from linnet.server.outlet import SIZE_OF_EVENT, Outlet
from linnet.server.stdio import claim
from linnet.server.terminal import LEADS, say
from linnet.server.wakeup import Wakeup
from linnet.wire.dialect import Dialect, Opened
from linnet.wire.jsonl import encode_lines

if TYPE_CHECKING:
    from linnet.server.one_shot.progress import Terminal

EXIT: dict[StopReason, int] = {"end": 0, "tool_use": 0, "error": 1, "length": 3, "aborted": 130}
Prints: TypeAlias = Literal["text", "value", "result"]
LIMIT, REFUSED, SILENT = 4, 5, 6  # Exit codes that no stop reason has.
EVERY = 0.5  # Seconds after which the progress on a terminal is drawn again.
WAITING = "reading stdin to its end, to add it to the prompt; if nothing is meant to come from there, add </dev/null"


class _Asking(Requester):
    """Remembers how the last prompt ended."""

    def __init__(self) -> None:
        self.ended: Done | None = None

    def finished(self, answer: Answer) -> None:
        if isinstance(answer, Done):
            self.ended = answer

    def refused(self, error: LinnetError) -> None:
        self.ended = Done("error", str(error), error)


class _Listener(Listener):
    """Writes events as they come, if there is a dialect, and remembers what came of the last prompt."""

    def __init__(
        self, outlet: Outlet, wakeup: Wakeup, dialect: Dialect | None, terminal: "Terminal | None", note: str
    ) -> None:
        self._outlet = outlet
        self._note = note
        self._wakeup = wakeup
        self._encoder = None if dialect is None else dialect.encoder()
        self._terminal = terminal
        self.text = ""  # Of the last reply.
        self.unsaved = ""  # Why the session is not saved.
        self.shown: list[str] = []  # What extensions have shown.
        self.broken = ""  # Why a command of an extension failed.
        self.denied = self.ran = 0  # Tool calls of the last prompt.
        self.asked = 0  # Model calls of the last prompt.
        self.steps = 0  # Model calls of all prompts.

    def hear(self, events: Sequence[Event]) -> None:
        if self._encoder is not None:
            self._outlet.write(self._encoder.encode(events), SIZE_OF_EVENT * len(events))
        elif self._terminal is not None and self._terminal.progress.hear(events):
            self._wakeup.wake()
        for event in events:
            if isinstance(event, ReplyEnded):
                self.text = event.message.text
            elif isinstance(event, ToolFinished):
                denied = (event.result.details or {}).get("denied") is True
                self.denied, self.ran = self.denied + denied, self.ran + (not denied)
            elif isinstance(event, StepStarted):
                self.asked, self.steps = self.asked + 1, self.steps + 1
            elif isinstance(event, JobStarted):
                self.text, self.shown, self.broken, self.denied, self.ran, self.asked = "", [], "", 0, 0, 0
            elif isinstance(event, Displayed | EditorTextSet):
                self.shown.append(event.text)
            elif isinstance(event, Notified) and self._encoder is None:
                say(f"{event.extension}: {event.message}", self._note)
            elif isinstance(event, HookFailed):
                self._hook_failed(event)
            elif isinstance(event, SessionFailed) and self._encoder is None:
                self.unsaved = event.error

    def _hook_failed(self, failed: HookFailed) -> None:
        if failed.event == "command":
            self.broken = failed.error
        elif failed.event != "load" and self._encoder is None:  # What cannot be loaded is on stderr already.
            say(f"{failed.path}: {failed.event}: {failed.error}", self._note)

    def warned(self, sentence: str) -> None:
        say(sentence, self._note)

    def idle(self) -> None:
        self._wakeup.wake()

    def pace(self, cancel: Cancel) -> None:
        self._outlet.pace(cancel)

    def is_behind(self) -> bool:
        return self._outlet.is_behind


def once(
    prompts: Callable[[str], Sequence[Prompt]],
    open_session: Callable[[Listener], Session],
    dialect: Dialect | None,
    *,
    prints: Prints = "text",
    names_session: bool = False,
    draws: bool = True,
    leads: tuple[str, str] = LEADS,
) -> int:
    """Run the prompts that `prompts` returns for what was piped in, and return the exit code.

    With a dialect, events are printed as its lines. Without one, `prints` is printed at the end: the final text, the
    value of an answer that has a form, or a JSON object with all that came of it. `names_session`: say on stderr where
    the session is kept, if it is. `draws`: show progress there, if that is a terminal. `leads`
    are what an error and a note there begin with.

    The exit code says how the last prompt went: 0 done, 1 failed, 3 cut at the model's output limit, 4 a limit was
    reached, 5 refused, 6 nothing was said, 128 plus the number of a signal that ended it.
    """
    gc.enable()
    stdio = claim()  # First: another descriptor could get the number of one that was closed.
    wakeup = Wakeup()
    wakeup.on_signals()
    added = piped(stdio.source, wakeup, lambda: say(WAITING))
    if added is None:
        return 128 + wakeup.signal
    asked = prompts(added)
    outlet = Outlet(stdio.sink, wakeup.wake)
    outlet.watch()
    terminal = _terminal() if draws and dialect is None else None
    listener = _Listener(outlet, wakeup, dialect, terminal, leads[1])
    session = open_session(listener)
    before = session.spent
    if dialect is not None and session.header is not None:
        header = session.header
        line = dialect.session(Opened(header.id, header.timestamp, header.cwd, session.file))
        outlet.write([[line]], len(line))
    session.tell_doubts()
    asking = _Asking()
    for prompt in asked:
        session.submit(prompt, asking)
    while session.busy and not (wakeup.signal or outlet.broken):
        if terminal is not None:
            terminal.draw()
        wakeup.wait(None if terminal is None else EVERY)
    session.close()  # Aborts the run if it still goes on.
    if terminal is not None:
        terminal.wipe()
    ended = asking.ended
    if listener.broken and ended is not None and not ended.error:
        ended = Done("error", listener.broken)
    kept = session.file if session.file is not None and os.path.exists(session.file) else None
    if dialect is None and prints == "result" and ended is not None:
        from linnet.server.one_shot.result_line import result_line

        text = listener.text or "\n".join(listener.shown)
        outlet.write([[result_line(text, ended, before, session.spent, listener.steps, kept)]])
        outlet.flush(timeout=0.3)
    elif dialect is None and not wakeup.signal:
        printed = _printed(listener, ended, prints)
        outlet.write([[spelled_out(printed.decode()).encode() if os.isatty(stdio.sink) else printed]])
    while outlet.unread and not (wakeup.signal or outlet.broken):
        wakeup.wait()
    if listener.unsaved:
        say(listener.unsaved, leads[1])
    if ended is not None and ended.error:
        say(ended.error, leads[0])
    if dialect is None and names_session and kept is not None and prints != "result":
        say(f"this session is kept in {kept}")
    if wakeup.signal:
        return 128 + wakeup.signal
    if not asked and not outlet.broken:
        return 0  # Nothing was to be done.
    return _code(ended, listener) if ended is not None and not outlet.broken else 1


def _terminal() -> "Terminal | None":
    """Return the terminal to draw on; None if stderr is none."""
    from linnet.server.one_shot.progress import Terminal

    return Terminal() if Terminal.is_there() else None


def _printed(listener: _Listener, ended: Done | None, prints: Prints) -> bytes:
    """Return what is printed at the end: the value, if that is wanted; otherwise the final text, or if there is none,
    what extensions have shown. If there is a text, that goes to stderr.
    """
    if prints == "value":
        value = UNSET if ended is None else ended.value
        return b"" if value is UNSET else encode_lines([value])
    if listener.text:
        for text in listener.shown:
            say(text)
    text = listener.text or "\n".join(listener.shown)
    return text.encode("utf-8", "replace") + b"\n" if text else b""


def _code(ended: Done, listener: _Listener) -> int:
    """Return the exit code of a prompt that ended so."""
    if isinstance(ended.failure, LimitReached):
        return LIMIT
    if isinstance(ended.failure, ModelRefused):
        return REFUSED
    if ended.stop == "end" and listener.denied and not listener.ran:
        return REFUSED
    if isinstance(ended.failure, BadOutput):
        return EXIT["error"]
    if ended.stop == "end" and not listener.text.strip() and listener.asked:
        return SILENT
    return EXIT[ended.stop]
