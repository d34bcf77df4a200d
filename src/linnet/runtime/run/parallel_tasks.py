"""Carries out the tasks of a run: several at once, in threads, where the run asks for several."""

from collections.abc import Callable, Sequence
from threading import Thread
from typing import TYPE_CHECKING

from linnet.core.loop.run_facts import Fact, Task
from linnet.errors import LinnetError
from linnet.runtime.error_report import start

if TYPE_CHECKING:
    from queue import SimpleQueue


class ParallelTasks:
    """A task that is alone is carried out in the caller's thread; several get threads of their own."""

    def __init__(self, carry_out: Callable[[Task], Fact]) -> None:
        self._carry_out = carry_out
        self._outcomes: SimpleQueue[Fact | Exception] | None = None
        self._outstanding = 0

    def next(self, tasks: Sequence[Task]) -> Fact:
        """Begin these tasks, and return the outcome of the first that ends, of these or of those begun before. Raises
        what that one raised.
        """
        if len(tasks) == 1 and not self._outstanding:
            return self._carry_out(tasks[0])
        if self._outcomes is None:
            from queue import SimpleQueue as Queue  # Not needed by runs that do one thing after the other.

            self._outcomes = Queue()
        for task in tasks:
            self._outstanding += 1
            self._begin(task, self._outcomes)
        self._outstanding -= 1
        outcome = self._outcomes.get()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _begin(self, task: Task, outcomes: "SimpleQueue[Fact | Exception]") -> None:
        """Carry out a task in a thread, and put its outcome into the queue."""

        def work() -> None:
            try:
                outcomes.put(self._carry_out(task))
            except Exception as fault:  # Or else the run would wait for this one for ever.
                outcomes.put(fault)

        try:
            start(Thread(target=work, name="linnet-tool", daemon=True))
        except LinnetError:
            work()  # The system gives no thread: then one after the other.
