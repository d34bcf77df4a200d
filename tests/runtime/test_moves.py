"""Moves that are asked for from several sides at once."""

from pathlib import Path
from threading import Event as Signal
from threading import Thread

import pytest

from linnet.core import commands
from linnet.errors import BadInput
from linnet.runtime import moves
from linnet.runtime.config import Config, resolve
from linnet.runtime.job import Job
from linnet.runtime.machinery import Machinery
from linnet.runtime.moves import check
from linnet.runtime.policy import PI
from linnet.runtime.session import Session
from linnet.runtime.state import State
from linnet.testing.audience import Quiet


def test_what_a_move_is_about_cannot_go_away_while_it_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused only if it came second, and then after the answer to the first."""
    config = resolve(Config(provider="scripted", cwd=str(tmp_path), session_dir=str(tmp_path)), {}, PI)
    session = Session(config, Quiet(), lambda: Machinery(config, adopt_orphans=False))
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
