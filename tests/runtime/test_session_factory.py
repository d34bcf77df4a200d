"""Sessions that are opened while the process lives: each in its own folder, with the settings that hold there."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event as Flag
from typing import Any

import pytest

from linnet.core import commands
from linnet.errors import ConfigError, LinnetError, SessionError
from linnet.runtime.config.config import PI, Config
from linnet.runtime.requester import Requester
from linnet.runtime.session import Session
from linnet.runtime.session_factory import SessionFactory
from linnet.runtime.settings.settings import Settings
from linnet.store.factory import MemoryLogs


class Asking(Requester):
    def __init__(self) -> None:
        self.answer: commands.Answer | LinnetError | None = None
        self._done = Flag()

    def finished(self, answer: commands.Answer) -> None:
        self.answer = answer
        self._done.set()

    def refused(self, error: LinnetError) -> None:
        self.answer = error
        self._done.set()

    def wait(self) -> commands.Answer | LinnetError | None:
        self._done.wait()
        return self.answer


def ask(session: Session, command: commands.Command) -> Any:
    asking = Asking()
    session.submit(command, asking)
    return asking.wait()


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    made = [tmp_path / name for name in ("one", "two")]
    for folder in made:
        folder.mkdir()
    return made


@pytest.fixture
def factory(tmp_path: Path, folders: list[Path]) -> SessionFactory:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [[{"text": "hi"}]], "loop": True}))
    environ = {"LINNET_HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    return SessionFactory(Config(cwd=folders[0], script=script), environ, PI)


@pytest.fixture
def opened(factory: SessionFactory) -> Iterator[Callable[[Settings], Session]]:
    sessions: list[Session] = []

    def open_one(settings: Settings) -> Session:
        sessions.append(factory.open(settings))
        return sessions[-1]

    yield open_one
    for session in sessions:
        session.close()


def said(session: Session) -> list[str]:
    answer = ask(session, commands.GetBranchMessages())
    return [text for _, text in answer.messages]


def test_sessions_are_opened_in_any_folder_while_others_go_on(
    factory: SessionFactory, folders: list[Path], opened: Callable[[Settings], Session]
) -> None:
    first = opened(factory.first())
    other = opened(factory.new(Config(cwd=folders[1])))
    for session in (first, other):
        assert ask(session, commands.Prompt("hello")).stop == "end"
    headers = [session.header for session in (first, other)]
    assert [header.cwd for header in headers if header is not None] == list(map(str, folders))
    assert first.file != other.file


def test_each_has_the_settings_of_its_own_folder(factory: SessionFactory, folders: list[Path]) -> None:
    for folder, level in zip(folders, ("low", "high"), strict=True):
        (folder / ".linnet").mkdir()
        (folder / ".linnet" / "settings.json").write_text(json.dumps({"reasoning": level}))
    found = [factory.new(Config(cwd=folder, trust=True)).reasoning for folder in folders]
    assert found == ["low", "high"]


def test_an_earlier_session_goes_on_in_the_folder_that_it_was_begun_in(
    factory: SessionFactory, folders: list[Path], opened: Callable[[Settings], Session]
) -> None:
    earlier = opened(factory.new(Config(cwd=folders[1])))
    ask(earlier, commands.Prompt("remember me"))
    earlier.close()
    again = opened(factory.resume(earlier.id[:12]))
    assert (again.id, again.file) == (earlier.id, earlier.file)
    assert again.header is not None
    assert again.header.cwd == str(folders[1])
    assert factory.resume(earlier.id, Config(cwd=folders[0])).cwd == str(folders[0])
    assert said(again) == ["remember me"]


def test_a_copy_leaves_the_session_as_it_is(
    factory: SessionFactory, folders: list[Path], opened: Callable[[Settings], Session]
) -> None:
    earlier = opened(factory.new(Config(cwd=folders[1])))
    ask(earlier, commands.Prompt("remember me"))
    copy = opened(factory.fork(earlier.id))
    ask(copy, commands.Prompt("and me"))
    assert copy.id != earlier.id
    assert copy.header is not None
    assert copy.header.cwd == str(folders[1])
    assert (said(earlier), said(copy)) == (["remember me"], ["remember me", "and me"])


def test_which_session_the_process_began_with_is_no_word_about_the_next(
    factory: SessionFactory, folders: list[Path], tmp_path: Path
) -> None:
    environ = {"LINNET_HOME": str(tmp_path / "home")}
    script = tmp_path / "script.json"
    began = SessionFactory(Config(cwd=folders[0], script=script, session=tmp_path / "named.jsonl"), environ, PI)
    assert began.first().sessions.session == str(tmp_path / "named.jsonl")
    assert began.new().sessions.session is None


@pytest.mark.parametrize("word", ["deadbeef", "/nowhere/at/all.jsonl"])
def test_what_is_no_session_is_not_made_into_one(factory: SessionFactory, word: str) -> None:
    for way in (factory.resume, factory.fork):
        with pytest.raises(SessionError):
            way(word)
    assert not os.path.exists(word)


def test_a_session_whose_folder_is_gone_needs_another(
    factory: SessionFactory, folders: list[Path], opened: Callable[[Settings], Session]
) -> None:
    earlier = opened(factory.new(Config(cwd=folders[1])))
    ask(earlier, commands.Prompt("remember me"))
    earlier.close()
    folders[1].rename(folders[1].with_name("three"))
    with pytest.raises(ConfigError, match="two is not a folder"):
        factory.resume(earlier.id)
    assert opened(factory.resume(earlier.id, Config(cwd=folders[0]))).id == earlier.id


def test_sessions_may_be_kept_wherever_a_factory_of_logs_keeps_them(tmp_path: Path, folders: list[Path]) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [[{"text": "hi"}]], "loop": True}))
    logs = MemoryLogs()
    asked = Config(cwd=folders[0], script=script)
    factory = SessionFactory(asked, {"LINNET_HOME": str(tmp_path / "home")}, PI, logs=logs)
    earlier = factory.open(factory.new(Config(cwd=folders[1])))
    ask(earlier, commands.Prompt("remember me"))
    earlier.close()
    again, copy = factory.open(factory.resume(earlier.id[:12])), factory.open(factory.fork(earlier.id))
    assert (again.id, said(again), said(copy)) == (earlier.id, ["remember me"], ["remember me"])
    assert [each.header.cwd for each in (again, copy) if each.header is not None] == [str(folders[1])] * 2
    assert sorted(logs.keys()) == sorted([earlier.id, copy.id])
    assert not list(tmp_path.rglob("*.jsonl"))
    for session in (again, copy):
        session.close()
    with pytest.raises(SessionError):
        factory.resume("deadbeef")
