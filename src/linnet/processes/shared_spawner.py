"""One supervisor for all agents of a process: a process each, for hundreds of them, would be most of what they cost."""

import os
from threading import Lock

from linnet.processes.spawner import Spawner


class SharedSpawner:
    """Invariant: there is one while somebody has borrowed it; when the last has given it back, its process has ended.

    A process that was forked off gets one of its own: what it starts must not depend on its parent.
    """

    def __init__(self) -> None:
        self.adopts = False  # Whether this process is the agent's own: see Spawner.
        self._lock = Lock()
        self._spawner: Spawner | None = None
        self._borrowed = 0
        self._process = 0
        self._parents: list[Spawner | None] = []  # Another process's, which is not ours to close.

    def borrow(self) -> Spawner:
        """Starts nothing yet."""
        with self._lock:
            if self._process != os.getpid():
                self._parents.append(self._spawner)
                self._spawner, self._borrowed, self._process = None, 0, os.getpid()
            if self._spawner is None:
                self._spawner = Spawner(adopts=self.adopts)
            self._borrowed += 1
            return self._spawner

    def give_back(self, spawner: Spawner) -> None:
        """Whoever borrowed it has ended all that it started."""
        with self._lock:
            if spawner is not self._spawner or self._process != os.getpid():
                return  # It was borrowed before this process was forked off.
            self._borrowed -= 1
            if self._borrowed:
                return
            self._spawner = None
        spawner.close()


shared = SharedSpawner()
