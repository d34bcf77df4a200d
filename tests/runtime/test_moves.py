"""Moves that are asked for from several sides at once."""

import os
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest

from linnet.core import commands
from linnet.runtime.config import PI, Config
from linnet.runtime.moves import Moves
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.sessions import Sessions
from linnet.runtime.settings import resolve
from linnet.testing.listener import Asking


def test_what_a_move_is_about_cannot_go_away_while_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused only if it came second, and then after the answer to the first."""
    config = resolve(Config(provider="scripted", cwd=str(tmp_path), session_dir=str(tmp_path)), {}, PI)
    session = Session(config, Resources(config))
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
    check = Moves.check

    def check_slowly(moves: Moves, work: commands.Move) -> None:
        if isinstance(work, commands.Branch):
            other.start()
            moving.wait(0.1)
        check(moves, work)

    monkeypatch.setattr(Moves, "check", check_slowly)
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
    session = Session(config, Resources(config))
    story: list[str] = []

    def switch() -> None:
        work = commands.SwitchSession(str(tmp_path / "s.jsonl"))
        session.submit(work, Asking(finished=lambda answer: story.append("switched"), refused=story.append))

    other = Thread(target=switch)
    looking, written = Signal(), Signal()
    write, path_of = os.write, Sessions.path_of

    def write_slowly(fd: int, data: bytes) -> int:
        size = write(fd, data)
        written.set()
        other.join(0.1)  # It is in the file, and nobody has been told yet.
        return size

    def look_slowly(sessions: Sessions, word: str) -> str:
        looking.set()
        written.wait()
        return path_of(sessions, word)

    monkeypatch.setattr(Sessions, "path_of", look_slowly)
    other.start()
    looking.wait()
    monkeypatch.setattr(os, "write", write_slowly)
    session.submit(commands.SetSessionName("mine"), Asking(finished=lambda answer: story.append("named")))
    monkeypatch.undo()
    other.join()
    session.close()
    assert story == ["named", "switched"]
