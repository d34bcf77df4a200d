"""The lock that pi takes on a file: a folder beside it."""

import os
from pathlib import Path
from threading import Event, Thread

import pytest

from linnet.errors import ConfigError
from linnet.files import pi_lock
from linnet.files.pi_lock import held, is_locked
from tests.suite.times import patience


def test_a_folder_beside_the_file_is_the_lock_and_is_gone_afterwards(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    with held(str(file)):
        assert (tmp_path / "settings.json.lock").is_dir()
        assert is_locked(str(file))
    with pytest.raises(ZeroDivisionError), held(str(file)):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_one_waits_for_another(tmp_path: Path) -> None:
    file = str(tmp_path / "settings.json")
    inside, leave, order = Event(), Event(), []

    def first() -> None:
        with held(file):
            inside.set()
            leave.wait(patience(10))
            order.append("first")

    def second() -> None:
        with held(file):
            order.append("second")

    one, two = Thread(target=first), Thread(target=second)
    one.start()
    assert inside.wait(patience(10))
    two.start()
    leave.set()
    one.join(patience(10))
    two.join(patience(10))
    assert order == ["first", "second"]


def test_a_lock_that_was_left_behind_is_taken_and_one_that_is_held_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, lock = str(tmp_path / "settings.json"), tmp_path / "settings.json.lock"
    lock.mkdir()
    monkeypatch.setattr(pi_lock, "PATIENCE", 0.05)
    with pytest.raises(ConfigError, match=r"settings\.json is being changed by pi; try again"), held(file):
        pass
    assert lock.is_dir()
    os.utime(lock, (0, 0))
    monkeypatch.setattr(pi_lock, "PATIENCE", 10.0)
    with held(file):
        pass
    assert not lock.exists()
