"""At the limits of the system: what cannot be begun is refused or ended, and nothing waits for it."""

from threading import Thread

import pytest

from linnet.concurrency import threads
from linnet.concurrency.threads import Threads
from linnet.core import commands
from linnet.core.events import Event, Settled
from linnet.runtime.config.config import PI, Config
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.settings.settings import resolve
from linnet.testing.listener import Asking, Quiet

NO_THREAD = "the system is at its limits: it gives this process no further thread"


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Thread, "start", start)
    monkeypatch.setattr(threads, "parked", Threads())  # None waits from before.


@pytest.mark.usefixtures("full")
def test_a_run_that_gets_no_thread_fails_and_the_session_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    config = resolve(Config(provider="scripted", save=False), {}, PI)
    listener = Quiet()
    session = Session(Resources(config), [listener])
    for work in (commands.Prompt("hello"), commands.Compact()):
        asking = Asking()
        session.submit(work, asking)
        assert asking.refusals == [NO_THREAD]
    ends: list[Event] = [Settled("prompt", "error", NO_THREAD), Settled("compact", "error", NO_THREAD)]
    assert listener.heard == ends
    assert not session.busy
    monkeypatch.undo()
    session.submit(commands.Compact(), Asking())
    session.finish()
    assert listener.heard[-1] != ends[-1]
    session.close()


@pytest.mark.usefixtures("full")
def test_a_command_that_gets_no_thread_is_refused_and_not_waited_for() -> None:
    config = resolve(Config(provider="scripted", save=False), {}, PI)
    session = Session(Resources(config))
    asking = Asking()
    session.submit(commands.Bash("true"), asking)
    assert asking.refusals == [NO_THREAD]
    assert not session.busy
    session.close()
