"""Begins what takes a moment, such as a run, so that a crowd of them keeps nobody else waiting."""

from _queue import SimpleQueue  # As in `concurrency/threads.py`.
from collections.abc import Callable
from functools import partial
from threading import Event as Signal
from threading import Thread

from linnet.errors import LinnetError
from linnet.runtime.error_report import hand_over, start

PATIENCE = 0.1  # Seconds that one beginning holds up the next at most: it may wait for a disk, or for a program.


class Beginnings:
    """Invariant: the next is begun when the one before has begun and the loop had its turn, or after PATIENCE. So the
    more a crowd of them slows the loop down, the fewer are begun.

    Each is called in a thread, of which a waiting one is taken; never in that of the loop, which would wait for a new
    one to get a processor and the interpreter. Any thread may call.
    """

    def __init__(self, after_turn: Callable[[Callable[[], None]], None], patience: float = PATIENCE) -> None:
        """`after_turn` has the loop call a function at the end of its turn."""
        self._after_turn = after_turn
        self._patience = patience
        self._waiting: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def run(self) -> None:
        """Start the thread that sees to all of them. Raises LinnetError if the system gives none."""
        start(Thread(target=self._begin_all, name="linnet-beginnings", daemon=True))

    def add(self, begin: Callable[[], None]) -> None:
        """Have this function called when its turn comes; it must not raise. Never blocks."""
        self._waiting.put(begin)

    def close(self) -> None:
        """Begin nothing any more but what waits already. Idempotent."""
        self._waiting.put(None)

    def _begin_all(self) -> None:
        while (begin := self._waiting.get()) is not None:
            begun = Signal()
            beginning = partial(_begin, begin, begun)
            try:
                hand_over("linnet-begin", beginning)
            except LinnetError:  # No thread: here, then.
                beginning()
            begun.wait(self._patience)
            if not self._waiting.empty():
                turned = Signal()
                self._after_turn(turned.set)
                turned.wait(self._patience)


def _begin(begin: Callable[[], None], begun: Signal) -> None:
    try:
        begin()
    finally:
        begun.set()
