"""What extensions say to a session that is ending."""

from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest

from linnet.core import commands
from linnet.runtime import session as module
from linnet.runtime.config.config import PI, Config
from linnet.runtime.extensions import extension_host
from linnet.runtime.resources import Resources
from linnet.runtime.run.worker import Worker
from linnet.runtime.session import Session
from linnet.runtime.settings.settings import resolve
from linnet.testing.listener import Asking


def test_a_note_to_a_session_that_is_closed_before_its_last_run_has_ended_waits_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was tried again, in a new thread each time, as fast as threads can be started."""
    begun, go_on, waits = Signal(), Signal(), list[Thread]()

    def hang(worker: Worker) -> None:
        begun.set()
        go_on.wait()

    def start(thread: Thread) -> None:
        waits.append(thread)
        thread.run()

    monkeypatch.setattr(Worker, "carry_out", hang)
    monkeypatch.setattr(extension_host, "start", start)
    monkeypatch.setattr(module, "ENDING", 0.0)
    settings = resolve(Config(provider="scripted", cwd=str(tmp_path)), {"LINNET_HOME": str(tmp_path / "home")}, PI)
    session = Session(Resources(settings))
    host = session._extensions._build_locked()._host
    session.submit(commands.Compact(), Asking())
    begun.wait()
    session.close(timeout=0.0)
    host.say("by the way", "note")
    go_on.set()
    assert len(waits) == 1
