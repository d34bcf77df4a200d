"""A thread that does for the main thread what must not be left half done: there, Ctrl-C may come at any point.

See `docs/decisions/0049-the-main-thread-only-waits.md`.
"""

import os
from _thread import get_ident, start_new_thread
from collections.abc import Callable
from queue import SimpleQueue
from threading import main_thread
from typing import TypeAlias

from linnet.changes import Changes
from linnet.logs import broke

Act: TypeAlias = Callable[[], None]


class Beside:
    """One thread, which does in order what the main thread hands to it. It ends with the process."""

    def __init__(self) -> None:
        self._acts: SimpleQueue[Act] = SimpleQueue()
        self._process = 0

    def start(self) -> None:
        """Start the thread, if there is none. A process that was forked has none, and gets its own.

        Raises RuntimeError if the system has no further thread for us, or the interpreter is about to end.
        """
        if self._process != os.getpid():
            self._acts = SimpleQueue()
            start_new_thread(_work, (self._acts,))  # `Thread.start` waits in a way that an interrupt breaks.
            self._process = os.getpid()

    def begin(self, act: Act) -> None:
        """Call a function that must not raise: in the thread, if this is the main one; otherwise at once, here."""
        if get_ident() != main_thread().ident:
            act()
            return
        try:
            self.start()
        except RuntimeError:
            act()
        else:
            self._acts.put(act)

    def do(self, act: Act) -> None:
        """Call a function as `begin` does, wait for its end, and raise what it raised. Ctrl-C ends the wait only."""
        changes = Changes()
        is_done = False
        fault: Exception | None = None

        def then_tell() -> None:
            nonlocal is_done, fault
            try:
                act()
            except Exception as error:
                fault = error
            with changes.lock:
                is_done = True
                changes.tell()

        self.begin(then_tell)
        changes.wait_for(lambda: is_done, None)
        if fault is not None:
            raise fault


def _work(acts: SimpleQueue[Act]) -> None:
    while True:
        try:
            acts.get()()
        except Exception:  # Nobody waits for it; but those that follow are waited for.
            broke(__name__, "what was begun beside the main thread broke")


beside = Beside()
