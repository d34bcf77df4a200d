"""Shares one supervisor among all agents of a process: one for each of hundreds would be most of what they cost."""

import os
from threading import Lock

from linnet.processes.spawner import Spawner


class SharedSpawner:
    """Lends a Spawner to whoever asks, in any thread.

    Invariant: there is one while somebody has borrowed it; when the last has given it back, its process has ended. A
    process that was forked off gets one of its own: what it starts must not depend on its parent.
    """

    def __init__(self) -> None:
        self.adopts = False  # Whether this process is the agent's own: see Spawner.
        self._lock = Lock()
        self._spawner: Spawner | None = None
        self._borrowed = 0
        self._process = 0  # The one that `_spawner` belongs to.
        self._parents: list[Spawner | None] = []  # Another process's, which is not ours to close.

    def borrow(self) -> Spawner:
        """Return the Spawner of this process, to be given back. The supervisor is not started by this."""
        with self._lock:
            if self._process != os.getpid():
                self._parents.append(self._spawner)
                self._spawner, self._borrowed, self._process = None, 0, os.getpid()
            if self._spawner is None:
                self._spawner = Spawner(adopts=self.adopts)
            self._borrowed += 1
            return self._spawner

    def give_back(self, spawner: Spawner) -> None:
        """Take it back from a borrower that has ended all it started with it; close it if that was the last one."""
        with self._lock:
            if spawner is not self._spawner or self._process != os.getpid():
                return  # It was borrowed before this process was forked off.
            self._borrowed -= 1
            if self._borrowed:
                return
            self._spawner = None
        spawner.close()  # Without the lock: this waits for processes to end, and nobody should wait here for a new one.


shared = SharedSpawner()
"""The one of this process."""
