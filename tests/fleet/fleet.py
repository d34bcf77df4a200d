"""A fleet on this machine: a door, workers and a database, all of them real processes that can be killed."""

import os
import signal
from types import TracebackType
from typing import Any

from tests.postgres.cluster import Cluster
from tests.serve.unix.serving import LINNET, Served
from tests.suite.forked import Popen

LEASE = 2.0


class Fleet(Served):
    """The door is what the server of one machine is; workers have numbers."""

    def __init__(self, model_url: str, postgres: Cluster, *flags: str, lease: float = LEASE, **options: Any) -> None:
        self.store = postgres.database()
        super().__init__(model_url, *flags, **options)
        self._env["LINNET_STORE"] = self.store
        self.postgres = postgres
        self.lease = lease
        self.workers: dict[int, Popen] = {}
        self._count = 0

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in list(self.workers):
            self.kill_worker(number)
        super().__exit__(kind, error, trace)

    def add_worker(self, *flags: str) -> int:
        """Start a worker, and return its number."""
        self._count += 1
        command = [str(LINNET), "work", "--lease", str(self.lease), "--name", f"worker-{self._count}", *flags]
        self.workers[self._count] = self._started(command)
        return self._count

    def kill_worker(self, number: int) -> None:
        """End a worker as a power cut would."""
        worker = self.workers.pop(number)
        worker.kill()
        worker.wait()

    def stop_worker(self, number: int) -> None:
        """Have a worker stand still."""
        os.kill(self.workers[number].pid, signal.SIGSTOP)

    def go_on_worker(self, number: int) -> None:
        if number in self.workers:
            os.kill(self.workers[number].pid, signal.SIGCONT)

    def end_worker(self, number: int) -> int:
        """Have a worker hand over and end; return its exit code."""
        worker = self.workers.pop(number)
        os.kill(worker.pid, signal.SIGTERM)
        return int(worker.wait(60))
