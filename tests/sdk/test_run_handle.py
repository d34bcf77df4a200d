"""What feeds the handles of runs, and the threads that do what an event loop begins: no moment is one too many."""

from collections.abc import Iterator
from threading import Event as Signal

from linnet.concurrency.cancel import CancelToken
from linnet.core.events import Event, JobStarted
from linnet.sdk.awaiting import WORKERS, Workers
from linnet.sdk.run_handle import RunHandle, RunListener


class Ending(RunListener):
    """A listener whose run ends as soon as somebody has seen that there is one: another thread tells its end."""

    @property
    def active(self) -> RunHandle | None:
        return next(self._seen)

    @active.setter
    def active(self, handle: RunHandle | None) -> None:
        self._seen: Iterator[RunHandle | None] = iter([handle, None, None])


def test_a_run_that_ends_while_somebody_paces_or_warns_is_in_nobodys_way() -> None:
    listener = Ending()
    handle = RunHandle(listener, streams=True)
    listener.active = handle
    listener.pace(CancelToken())
    listener.active = handle
    assert not listener.is_behind()
    listener.active = handle
    listener.warned("a sentence")
    assert handle.warnings == ["a sentence"]
    listener.active = handle
    events: list[Event] = [JobStarted("prompt")]
    listener.hear(events)


def test_a_task_that_breaks_ends_no_thread_that_others_wait_for() -> None:
    workers, done = Workers(), Signal()

    def break_() -> None:
        raise OSError("no")

    for _ in range(WORKERS):
        workers.do(break_)
    workers.do(done.set)
    done.wait()
