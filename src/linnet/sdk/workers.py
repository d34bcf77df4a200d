"""A few threads, for all runtimes of the process, that do what would hold up an event loop, but not for long: taking a
session's lock, starting a run's thread.
"""

import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TypeAlias

Task: TypeAlias = Callable[[], None]
SIZE = 2  # With more, hundreds of runs that begin at once would be more in the loop's way.


class Workers:
    """Tasks begin in the order they are put. They never raise. The threads end with the process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        self._process = 0

    def start(self) -> None:
        """Called before the first task. A process that was forked off has no threads, and gets its own."""
        if self._process == os.getpid():
            return
        with self._lock:
            if self._process != os.getpid():
                self._tasks = SimpleQueue()
                for _ in range(SIZE):
                    Thread(target=self._work, args=(self._tasks,), name="linnet-sdk", daemon=True).start()
                self._process = os.getpid()

    def put(self, task: Task) -> None:
        """Takes no lock, so that whatever runs when an object is collected may call it."""
        self._tasks.put(task)

    def _work(self, tasks: SimpleQueue[Task]) -> None:
        while True:
            tasks.get()()


workers = Workers()
