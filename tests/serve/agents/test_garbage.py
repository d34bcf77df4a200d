"""When the collector of a server looks at what."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from linnet.serve.agents import garbage
from linnet.serve.agents.garbage import GarbageCollection


class Ring:
    """Garbage that only the collector finds, once nobody holds it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def collection(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[GarbageCollection, list[bool]]]:
    """One that looks when it is told to, and whether agents work."""
    thresholds = gc.get_threshold()
    monkeypatch.setattr(garbage, "EVERY", 3600.0)
    monkeypatch.setattr(garbage, "WORTH", 0.0)
    at_work = [False]
    made = GarbageCollection(lambda: not at_work[0])
    gc.collect()
    made.begin()
    yield made, at_work
    made.stop()
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def age() -> None:
    """What so many passes over what is new leave behind is due to be looked at."""
    for _ in range(garbage.PASSES):
        gc.collect(1)


def test_what_is_new_is_collected_also_while_agents_work(collection: tuple[GarbageCollection, list[bool]]) -> None:
    made, at_work = collection
    at_work[0] = True
    ring = Ring()
    gone = weakref.ref(ring)
    age()
    del ring
    age()
    assert gone() is not None  # It has survived, and no pass by itself looks at it any more.
    made.look()
    assert gone() is None


def test_what_is_old_is_looked_at_when_no_agent_works(collection: tuple[GarbageCollection, list[bool]]) -> None:
    made, at_work = collection
    at_work[0] = True
    ring = Ring()
    gone = weakref.ref(ring)
    age()
    made.look()
    del ring
    age()
    made.look()
    assert gone() is not None
    at_work[0] = False
    age()
    made.look()
    assert gone() is None


def test_what_is_old_is_looked_at_in_any_case_when_there_is_much_of_it(
    collection: tuple[GarbageCollection, list[bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, at_work = collection
    at_work[0] = True
    ring = Ring()
    gone = weakref.ref(ring)
    age()
    made.look()
    del ring
    monkeypatch.setattr(garbage, "OVERDUE", 0.0)
    age()
    made.look()
    assert gone() is None


def test_nothing_is_looked_at_without_a_reason(collection: tuple[GarbageCollection, list[bool]]) -> None:
    made, _ = collection
    ring = Ring()
    gone = weakref.ref(ring)
    age()
    gc.collect()  # As if it had just been.
    del ring
    made.look()
    assert gone() is not None
