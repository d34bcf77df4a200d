"""Moves that are asked for from several sides at once."""

import os
from collections.abc import Sequence
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest

from linnet.core import commands
from linnet.core.events import Event, SessionFailed
from linnet.errors import Closed, SessionError
from linnet.runtime.config.config import PI, Config
from linnet.runtime.listener import Listener
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.sessions.moves import Moves
from linnet.runtime.sessions.places import Sessions
from linnet.runtime.settings.settings import resolve
from linnet.store.log import FileLog
from linnet.testing.listener import Asking


def test_what_a_move_is_about_cannot_go_away_while_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused only if it came second, and then after the answer to the first."""
    config = resolve(Config(provider="scripted", cwd=str(tmp_path), session_dir=str(tmp_path)), {}, PI)
    session = Session(Resources(config))
    session.submit(commands.Prompt("hello"), Asking())
    session.finish()
    asking = Asking()
    session.submit(commands.GetBranchMessages(), asking)
    assert isinstance(asking.answers[0], commands.BranchMessages)
    entry, _ = asking.answers[0].messages[0]
    story: list[str] = []
    moving, looked = Signal(), Signal()

    def moved(answer: commands.Answer) -> None:
        moving.set()
        looked.wait(0.1)  # All the time the other needs to come in between, if it can.
        story.append("moved")

    other = Thread(target=session.submit, args=[commands.NewSession(), Asking(finished=moved)])
    check = Moves.check_locked

    def check_slowly(moves: Moves, work: commands.Move) -> None:
        if isinstance(work, commands.Branch):
            other.start()
            moving.wait(0.1)
        check(moves, work)

    monkeypatch.setattr(Moves, "check_locked", check_slowly)
    asking = Asking(finished=lambda answer: story.append("branched"), refused=story.append)
    session.submit(commands.Branch(entry), asking)
    looked.set()
    other.join()
    session.close()
    assert story == ["branched", "moved"]


def test_a_session_that_is_being_written_to_is_not_taken_for_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = resolve(Config(provider="scripted", cwd=str(tmp_path), session=str(tmp_path / "s.jsonl")), {}, PI)
    session = Session(Resources(config))
    story: list[str] = []

    def switch() -> None:
        work = commands.SwitchSession(str(tmp_path / "s.jsonl"))
        session.submit(work, Asking(finished=lambda answer: story.append("switched"), refused=story.append))

    other = Thread(target=switch)
    looking, written = Signal(), Signal()
    write, key_of = os.write, Sessions.key_of

    def write_slowly(fd: int, data: bytes) -> int:
        size = write(fd, data)
        written.set()
        other.join(0.1)  # It is in the file, and nobody has been told yet.
        return size

    def look_slowly(sessions: Sessions, word: str) -> str:
        looking.set()
        written.wait()
        return key_of(sessions, word)

    monkeypatch.setattr(Sessions, "key_of", look_slowly)
    other.start()
    looking.wait()
    monkeypatch.setattr(os, "write", write_slowly)
    session.submit(commands.SetSessionName("mine"), Asking(finished=lambda answer: story.append("named")))
    monkeypatch.undo()
    other.join()
    session.close()
    assert story == ["named", "switched"]


def test_a_switch_that_fails_at_the_last_look_lets_go_of_the_session_that_was_read_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = resolve(Config(provider="scripted", cwd=str(tmp_path), session_dir=str(tmp_path)), {}, PI)
    session = Session(Resources(config))
    session.submit(commands.SetSessionName("first"), Asking())
    first = session.file
    assert first is not None
    session.submit(commands.NewSession(), Asking())
    check, looks = Moves.check_locked, list[commands.Move]()

    def fail_at_last(moves: Moves, work: commands.Move) -> None:
        looks.append(work)
        if len(looks) == 2:
            raise SessionError("the disk is full")
        check(moves, work)

    monkeypatch.setattr(Moves, "check_locked", fail_at_last)
    refused, again = Asking(), Asking()
    session.submit(commands.SwitchSession(first), refused)
    session.submit(commands.SwitchSession(first), again)
    session.close()
    assert refused.refusals == ["the disk is full"]
    assert again.refusals == []
    assert session.file == first


def test_what_cannot_be_saved_is_told_under_the_lock_whoever_finds_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread of a run does, after its end."""
    told: list[bool] = []

    class Heard(Listener):
        def hear(self, events: Sequence[Event]) -> None:
            if any(isinstance(event, SessionFailed) for event in events):
                told.append(session._broadcast.lock._is_owned())  # type: ignore[attr-defined]

    def fail(log: FileLog) -> None:
        raise SessionError("the disk is gone")

    config = resolve(Config(provider="scripted", cwd=str(tmp_path), session_dir=str(tmp_path)), {}, PI)
    session = Session(Resources(config), [Heard()])
    monkeypatch.setattr(FileLog, "sync", fail)
    session.warm()
    session.close()
    assert told == [True]


def test_nothing_is_started_once_a_session_is_closed(tmp_path: Path) -> None:
    """By a run that takes longer to end than anybody waits for it, say."""
    resources = Resources(resolve(Config(provider="scripted", cwd=str(tmp_path)), {}, PI))
    resources.close()
    with pytest.raises(Closed):
        resources.processes.start(["true"], cwd=tmp_path)
