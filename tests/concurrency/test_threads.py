"""Threads that wait for the next thing to do: nothing waits for one, few are kept, and they hold on to nothing."""

import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from threading import Event, Thread, current_thread, get_ident
from typing import Any

import pytest

from linnet.concurrency.threads import Threads
from linnet.testing.processes import wait_until

PATIENCE = 30


def called(threads: Threads, function: Callable[[], Any], name: str = "") -> Any:
    outcomes: SimpleQueue[Any] = SimpleQueue()
    threads.hand_over(function, outcomes.put, name)
    value, fault = outcomes.get(timeout=PATIENCE)
    assert fault is None
    return value


def there(name: str) -> int:
    return sum(thread.name == name for thread in threading.enumerate())


def test_the_next_call_finds_the_thread_of_the_last_one() -> None:
    threads = Threads("test-next")
    assert len({called(threads, get_ident) for _ in range(50)}) == 1
    threads.close()


def test_a_thread_has_the_name_of_what_it_does_and_another_while_it_waits() -> None:
    threads = Threads("test-waits")
    assert called(threads, lambda: current_thread().name, "test-works") == "test-works"
    assert (there("test-works"), there("test-waits")) == (0, 1)
    assert called(threads, lambda: current_thread().name) == "test-waits"
    threads.close()


def test_nothing_waits_for_a_thread_and_only_so_many_are_kept() -> None:
    threads, release = Threads("test-many", 2), Event()
    begun: SimpleQueue[None] = SimpleQueue()

    def block() -> None:
        begun.put(None)
        release.wait(PATIENCE)

    for _ in range(20):
        threads.hand_over(block)
    for _ in range(20):
        begun.get(timeout=PATIENCE)
    assert there("test-many") == 20
    release.set()
    wait_until(lambda: there("test-many") == 2)
    threads.close()
    wait_until(lambda: there("test-many") == 0)


def test_those_that_are_parked_are_there_before_anybody_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = Threads("test-parked", 2)
    threads.park(2)
    threads.park(2)
    assert there("test-parked") == 2

    def start(thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", start)
    release = Event()
    for _ in range(2):
        threads.hand_over(lambda: release.wait(PATIENCE))
    with pytest.raises(RuntimeError):
        threads.hand_over(release.set)
    release.set()
    threads.close()


def test_a_thread_that_waits_holds_nothing_of_what_it_did() -> None:
    class Job:
        def work(self) -> "Job":
            return self

    threads, job = Threads("test-held"), Job()
    held = weakref.ref(job)
    told = Event()
    threads.hand_over(job.work, lambda outcome: told.set())
    del job
    assert told.wait(PATIENCE)
    wait_until(lambda: held() is None)
    threads.close()


def test_one_that_is_at_work_when_they_are_closed_ends_when_it_is_done() -> None:
    threads, release = Threads("test-closed"), Event()
    threads.hand_over(lambda: release.wait(PATIENCE))
    threads.close()
    assert there("test-closed") == 1
    release.set()
    wait_until(lambda: there("test-closed") == 0)


def test_a_process_that_was_forked_off_does_not_believe_in_its_parents_threads() -> None:
    threads = Threads("test-forked")
    assert called(threads, lambda: 1) == 1
    child = os.fork()
    if child == 0:
        done = Event()
        threads.hand_over(done.set)
        os._exit(0 if done.wait(PATIENCE) else 1)
    assert os.waitpid(child, 0)[1] == 0
    threads.close()


def test_whoever_breaks_on_being_told_takes_no_thread_from_the_next() -> None:
    threads = Threads("test-told")
    told = Event()

    def tell(outcome: Any) -> None:
        told.set()
        raise SystemExit

    threads.hand_over(lambda: None, tell)
    assert told.wait(PATIENCE)
    assert called(threads, lambda: 1) == 1
    threads.close()


class Forked(Threads):
    """Of a process that is forked off while a thread of this one is idle; `left` is how many of those could be asked
    for when the new process was known.
    """

    left: int | None = None

    @property
    def _process(self) -> int:
        return 0 if self.left is None else os.getpid()

    @_process.setter
    def _process(self, process: int) -> None:
        if hasattr(self, "_idle"):
            self.left = len(self._idle)


def test_no_thread_of_a_new_process_asks_one_that_the_process_does_not_have() -> None:
    threads = Forked("test-forked")
    threads._idle.append(SimpleQueue())  # Nobody takes anything out of it.
    assert called(threads, lambda: 1) == 1
    assert threads.left == 0
    threads.close()
