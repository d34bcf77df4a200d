"""One prompt from the command line: its events as lines, or just the final text."""

import gc
import sys
from collections.abc import Callable, Sequence

from linnet.core.cancel import Cancel
from linnet.core.commands import Prompt
from linnet.core.events import Event, ReplyEnded, Settled
from linnet.core.messages import StopReason
from linnet.runtime.job import Job
from linnet.runtime.session import Audience, Session
from linnet.server.bell import Bell
from linnet.server.outlet import Outlet
from linnet.server.stdio import claim
from linnet.wire.jsonl import encode_lines
from linnet.wire.zot.encode import encode

EXIT: dict[StopReason, int] = {"end": 0, "tool_use": 0, "error": 1, "length": 3, "aborted": 130}


class _Listener:
    def __init__(self, outlet: Outlet, bell: Bell, *, as_json: bool, thinking: bool) -> None:
        self._outlet = outlet
        self._bell = bell
        self._as_json = as_json
        self._thinking = thinking
        self.text = ""
        self.ended: Settled | None = None

    def hear(self, events: Sequence[Event]) -> None:
        if self._as_json:
            frames = encode(events, show_thinking=self._thinking)
            if frames:
                self._outlet.write([[encode_lines(frames)]])
        for event in events:
            if isinstance(event, ReplyEnded):
                self.text = event.message.text
            elif isinstance(event, Settled):
                self.ended = event

    def idle(self) -> None:
        self._bell.ring()

    def pace(self, cancel: Cancel) -> None:
        self._outlet.pace(cancel)

    def is_behind(self) -> bool:
        return self._outlet.is_behind


def once(prompt: str, open_session: Callable[[Audience], Session], *, as_json: bool, thinking: bool) -> int:
    """The exit code says how it went: 0 done, 1 failed, 3 cut at the model's output limit, 128 and more by a signal."""
    gc.enable()
    bell = Bell()
    bell.on_signals()
    outlet = Outlet(claim().sink, bell.ring)
    outlet.watch()
    listener = _Listener(outlet, bell, as_json=as_json, thinking=thinking)
    session = open_session(listener)
    session.submit(Job(Prompt(prompt)))
    while session.busy and not (bell.signal or outlet.broken):
        bell.wait()
    session.close()  # Aborts the run if it still goes on.
    ended = listener.ended
    if not as_json and listener.text and not bell.signal:
        outlet.write([[listener.text.encode("utf-8", "replace") + b"\n"]])
    while outlet.unread and not (bell.signal or outlet.broken):
        bell.wait()
    if ended is not None and ended.error:
        sys.stderr.write(f"linnet: {ended.error}\n")
    if bell.signal:
        return 128 + bell.signal
    return EXIT[ended.stop] if ended is not None and not outlet.broken else 1
