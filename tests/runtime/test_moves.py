"""Moves that are asked for from several sides at once."""

import os
from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest

from linnet.core import commands
from linnet.errors import BadInput, SessionError
from linnet.runtime import moves
from linnet.runtime.config import Config, resolve
from linnet.runtime.job import Job
from linnet.runtime.moves import check
from linnet.runtime.policy import PI
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.sessions import Sessions
from linnet.runtime.state import State
from linnet.testing.listener import Quiet


def test_what_a_move_is_about_cannot_go_away_while_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused only if it came second, and then after the answer to the first."""
    config = resolve(Config(provider="scripted", cwd=str(tmp_path), session_dir=str(tmp_path)), {}, PI)
    session = Session(config, Quiet(), lambda: Resources(config, adopt_orphans=False))
    session.submit(Job(commands.Prompt("hello")))
    session.finish()
    answers: list[commands.Answer] = []
    session.ask(commands.GetBranchMessages(), answers.append)
    assert isinstance(answers[0], commands.BranchMessages)
    entry, _ = answers[0].messages[0]
    story: list[str] = []
    moving, looked = Signal(), Signal()

    def moved(answer: commands.Answer) -> None:
        moving.set()
        looked.wait(0.1)  # All the time the other needs to come in between, if it can.
        story.append("moved")

    other = Thread(target=session.submit, args=[Job(commands.NewSession(), finished=moved)])

    def check_slowly(work: commands.Move, state: State) -> None:
        if isinstance(work, commands.Branch):
            other.start()
            moving.wait(0.1)
        check(work, state)

    monkeypatch.setattr(moves, "check", check_slowly)
    branch = Job(commands.Branch(entry), finished=lambda answer: story.append("branched"), refused=story.append)
    try:
        session.submit(branch)
    except BadInput as error:
        story.append(str(error))
    looked.set()
    other.join()
    session.close()
    assert story == ["branched", "moved"]


def test_a_session_that_is_being_written_to_is_not_taken_for_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = resolve(Config(provider="scripted", cwd=str(tmp_path), session=str(tmp_path / "s.jsonl")), {}, PI)
    session = Session(config, Quiet(), lambda: Resources(config, adopt_orphans=False))
    story: list[str] = []

    def switch() -> None:
        work = commands.SwitchSession(str(tmp_path / "s.jsonl"))
        try:
            session.submit(Job(work, finished=lambda answer: story.append("switched"), refused=story.append))
        except SessionError as error:
            story.append(str(error))

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
    session.ask(commands.SetSessionName("mine"), lambda answer: story.append("named"))
    monkeypatch.undo()
    other.join()
    session.close()
    assert story == ["named", "switched"]
