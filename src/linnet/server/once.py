"""Prompts from the command line, one after another: their events as lines, or just the final text."""

import gc
import sys
from collections.abc import Callable, Sequence

from linnet.core.cancel import Cancel
from linnet.core.commands import Answer, Done, Prompt
from linnet.core.events import Event, ReplyEnded, SessionFailed
from linnet.core.messages import StopReason
from linnet.errors import LinnetError
from linnet.runtime.listener import Listener
from linnet.runtime.requester import Requester
from linnet.runtime.session import Session
from linnet.server.outlet import Outlet
from linnet.server.stdio import claim
from linnet.server.wakeup import Wakeup
from linnet.wire.dialect import Dialect

EXIT: dict[StopReason, int] = {"end": 0, "tool_use": 0, "error": 1, "length": 3, "aborted": 130}


class _Asking(Requester):
    """`ended` is how the last prompt ended."""

    def __init__(self) -> None:
        self.ended: Done | None = None

    def finished(self, answer: Answer) -> None:
        if isinstance(answer, Done):
            self.ended = answer

    def refused(self, error: LinnetError) -> None:
        self.ended = Done("error", str(error))


class _Listener(Listener):
    def __init__(self, outlet: Outlet, wakeup: Wakeup, dialect: Dialect | None) -> None:
        self._outlet = outlet
        self._wakeup = wakeup
        self._dialect = dialect
        self.text = ""
        self.unsaved = ""

    def hear(self, events: Sequence[Event]) -> None:
        if self._dialect is not None:
            self._outlet.tell(self._dialect.encode(events), len(events))
        for event in events:
            if isinstance(event, ReplyEnded):
                self.text = event.message.text
            elif isinstance(event, SessionFailed) and self._dialect is None:
                self.unsaved = event.error

    def idle(self) -> None:
        self._wakeup.wake()

    def pace(self, cancel: Cancel) -> None:
        self._outlet.pace(cancel)

    def is_behind(self) -> bool:
        return self._outlet.is_behind


def once(prompts: Sequence[Prompt], open_session: Callable[[Listener], Session], dialect: Dialect | None) -> int:
    """Without a dialect to tell the events in, the final text is printed.

    The exit code says how the last one went: 0 done, 1 failed, 3 cut at the model's output limit, 128 and more if a
    signal ended it.
    """
    gc.enable()
    wakeup = Wakeup()
    wakeup.on_signals()
    outlet = Outlet(claim().sink, wakeup.wake)
    outlet.watch()
    listener = _Listener(outlet, wakeup, dialect)
    session = open_session(listener)
    asking = _Asking()
    for prompt in prompts:
        session.submit(prompt, asking)
    while session.busy and not (wakeup.signal or outlet.broken):
        wakeup.wait()
    session.close()  # Aborts the run if it still goes on.
    ended = asking.ended
    if dialect is None and listener.text and not wakeup.signal:
        outlet.write([[listener.text.encode("utf-8", "replace") + b"\n"]])
    while outlet.unread and not (wakeup.signal or outlet.broken):
        wakeup.wait()
    if listener.unsaved:
        sys.stderr.write(f"linnet: {listener.unsaved}\n")
    if ended is not None and ended.error:
        sys.stderr.write(f"linnet: {ended.error}\n")
    if wakeup.signal:
        return 128 + wakeup.signal
    return EXIT[ended.stop] if ended is not None and not outlet.broken else 1
