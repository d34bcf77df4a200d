"""A command of a client that names itself is carried out once, over restarts, and its answer is kept."""

import os
from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.errors import ConfigError
from linnet.serve.agents import named_commands
from linnet.serve.agents.named_commands import NamedCommands

DAY = 24 * 3600 * 1000
NAME = ("client", '"1"')


class Book:
    """The file of one agent, which can be opened again as after kill -9."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "commands.jsonl"
        self.now = 10 * DAY
        self.open = self.again()

    def again(self) -> NamedCommands:
        self.open = NamedCommands(str(self.path), lambda: self.now, DAY)
        return self.open


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path)


def unheard(answer: bytes) -> None:
    pytest.fail(f"nobody waits for {answer!r}")


def test_a_repetition_gets_the_first_answer_also_after_a_restart(book: Book) -> None:
    assert book.open.begin(NAME, b"{}\n", unheard, changes=True) == "new"
    book.open.finish(NAME, b"done\n", changes=True)
    assert book.open.begin(NAME, b"{}\n", unheard, changes=True) == b"done\n"
    assert book.again().begin(NAME, b"{}", unheard, changes=True) == b"done\n"
    assert book.open.begin(("other", '"1"'), b"{}", unheard, changes=True) == "new"


def test_a_repetition_that_comes_early_waits_for_the_answer(book: Book) -> None:
    heard: list[bytes] = []
    assert book.open.begin(NAME, b"{}", unheard, changes=True) == "new"
    assert book.open.begin(NAME, b"{}", heard.append, changes=True) == "waits"
    assert heard == []
    book.open.finish(NAME, b"done\n", changes=True)
    assert heard == [b"done\n"]


def test_what_the_disk_has_no_room_for_spoils_nothing_that_comes_later(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(named_commands, "write_all", full)
        with pytest.raises(OSError, match="No space"):
            book.open.begin(("client", '"0"'), b"{}", unheard, changes=True)
    assert book.open.begin(NAME, b"{}", unheard, changes=True) == "new"
    assert book.again().begin(NAME, b"{}", unheard, changes=True) == "unknown"


def test_what_had_begun_and_was_not_answered_is_unknown_after_a_restart(book: Book) -> None:
    assert book.open.begin(NAME, b"{}", unheard, changes=True) == "new"
    assert book.again().begin(NAME, b"{}", unheard, changes=True) == "unknown"
    assert book.again().begin(NAME, b"{}", unheard, changes=True) == "unknown"


def test_a_question_that_was_not_answered_is_asked_again(book: Book) -> None:
    assert book.open.begin(NAME, b"{}", unheard, changes=False) == "new"
    assert book.again().begin(NAME, b"{}", unheard, changes=False) == "new"
    book.open.finish(NAME, b"x" * (named_commands.LONGEST_ANSWER + 1), changes=False)
    assert book.open.begin(NAME, b"{}", unheard, changes=False) == "new"


def test_another_command_of_the_same_name_is_not_carried_out(book: Book) -> None:
    assert book.open.begin(NAME, b'{"type":"abort"}', unheard, changes=True) == "new"
    assert book.open.begin(NAME, b'{"type":"prompt"}', unheard, changes=True) == "reused"
    book.open.finish(NAME, b"done\n", changes=True)
    assert book.again().begin(NAME, b'{"type":"prompt"}', unheard, changes=True) == "reused"


def test_what_is_too_old_is_forgotten(book: Book) -> None:
    assert book.open.begin(NAME, b"{}", unheard, changes=True) == "new"
    book.open.finish(NAME, b"done\n", changes=True)
    book.now += DAY + 1
    assert book.again().begin(NAME, b"{}", unheard, changes=True) == "new"


def test_half_a_line_that_a_killed_process_left_hides_nothing(book: Book) -> None:
    assert book.open.begin(NAME, b"{}", unheard, changes=True) == "new"
    book.open.finish(NAME, b"done\n", changes=True)
    with book.path.open("ab") as file:
        file.write(b'{"c":"client","i":"\\"2')
    assert book.again().begin(NAME, b"{}", unheard, changes=True) == b"done\n"
    assert book.open.begin(("client", "3"), b"{}", unheard, changes=True) == "new"
    assert book.again().begin(("client", "3"), b"{}", unheard, changes=True) == "unknown"


def test_a_command_is_not_begun_where_those_of_before_cannot_be_read(book: Book) -> None:
    book.path.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        book.open.begin(NAME, b"{}", unheard, changes=True)
    book.path.rmdir()
    assert book.open.begin(NAME, b"{}", unheard, changes=True) == "new"


def test_a_file_that_grew_long_is_written_anew_and_what_is_open_stays(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named_commands, "MOST_BYTES", 4000)
    assert book.open.begin(("open", "1"), b"{}", unheard, changes=True) == "new"
    for number in range(100):
        name = ("client", str(number))
        assert book.open.begin(name, b"{}", unheard, changes=True) == "new"
        book.open.finish(name, b"done %d\n" % number, changes=True)
    assert book.path.stat().st_size < 8000
    assert book.again().begin(("client", "99"), b"{}", unheard, changes=True) == b"done 99\n"
    assert book.open.begin(("open", "1"), b"{}", unheard, changes=True) == "unknown"


def test_nothing_is_written_of_an_agent_that_is_gone(book: Book) -> None:
    assert book.open.begin(NAME, b"{}", unheard, changes=True) == "new"
    book.open.close()
    book.path.unlink()
    book.open.finish(NAME, b"done\n", changes=True)
    with pytest.raises(OSError, match="gone"):
        book.open.begin(("client", "another"), b"{}", unheard, changes=True)
    assert not book.path.exists()


def test_at_rest_nothing_is_in_memory_but_what_the_file_does_not_have(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[bytes] = []
    assert book.open.begin(NAME, b"{}", unheard, changes=True) == "new"
    book.open.rest()  # It is being carried out.
    assert book.open.begin(NAME, b"{}", heard.append, changes=True) == "waits"
    book.open.finish(NAME, b"done\n", changes=True)
    assert heard == [b"done\n"]
    book.open.rest()
    assert book.open.begin(NAME, b"{}", unheard, changes=True) == b"done\n"
    book.open.rest()
    book.path.unlink()
    assert book.open.begin(NAME, b"{}", unheard, changes=True) == "new"
    with monkeypatch.context() as patched:
        patched.setattr(named_commands, "write_all", full)
        book.open.finish(NAME, b"told\n", changes=True)
    book.open.rest()
    assert book.open.begin(NAME, b"{}", unheard, changes=True) == b"told\n"


def full(fd: int, content: bytes) -> None:
    """Write half of it: the disk has no room for more."""
    os.write(fd, content[: len(content) // 2])
    raise OSError(ENOSPC, os.strerror(ENOSPC))


@given(st.randoms(use_true_random=False))
def test_nothing_is_begun_twice_whatever_happens(tmp_path_factory: pytest.TempPathFactory, random: Random) -> None:
    book = Book(tmp_path_factory.mktemp("book"))
    begun: dict[tuple[str, str], int] = {}
    answers: dict[tuple[str, str], bytes] = {}
    running: set[tuple[str, str]] = set()

    def step(act: Callable[[tuple[str, str]], None]) -> None:
        act((random.choice("ab"), random.choice("123")))

    def begin(name: tuple[str, str]) -> None:
        verdict = book.open.begin(name, b"{}", lambda answer: None, changes=True)
        if verdict == "new":
            begun[name] = begun.get(name, 0) + 1
            running.add(name)
        elif isinstance(verdict, bytes):
            assert verdict == answers[name]
        else:
            assert (verdict == "waits") == (name in running)

    def finish(name: tuple[str, str]) -> None:
        if name in running:
            running.discard(name)
            answers[name] = b"%d\n" % len(answers)
            book.open.finish(name, answers[name], changes=True)

    def restart(name: tuple[str, str]) -> None:
        running.clear()
        book.again()

    def rest(name: tuple[str, str]) -> None:
        book.open.rest()

    for _ in range(40):
        step(random.choice((begin, begin, finish, rest, restart)))
    assert all(times == 1 for times in begun.values())
