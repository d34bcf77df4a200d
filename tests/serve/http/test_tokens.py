"""Tokens are in files that only their owner can read, or they are refused."""

import os
from pathlib import Path

import pytest

from linnet.errors import ConfigError
from linnet.serve.http.tokens import Tokens, cookie, tokens_in


def test_tokens_are_made_once_and_only_their_owner_can_read_them(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "serve"

    made = tokens_in(str(folder))

    assert tokens_in(str(folder)) == made
    assert made.drive != made.watch
    assert min(len(made.drive), len(made.watch)) >= 43  # 32 bytes
    assert {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()} == {
        "drive.token": 0o600,
        "watch.token": 0o600,
    }
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o604, 0o640, 0o620, 0o601])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    tokens_in(str(tmp_path))
    (tmp_path / "watch.token").chmod(mode)

    with pytest.raises(ConfigError, match=r"watch\.token may be known to others"):
        tokens_in(str(tmp_path))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("x" * 43)
    elsewhere.chmod(0o600)
    (tmp_path / "state").mkdir(mode=0o700)
    (tmp_path / "state" / "drive.token").symlink_to(elsewhere)

    with pytest.raises(ConfigError, match="cannot be used"):
        tokens_in(str(tmp_path / "state"))


@pytest.mark.parametrize("text", ["", "short", "a token with blanks, which no header can carry as it is", "é" * 40])
def test_what_is_no_token_is_refused(tmp_path: Path, text: str) -> None:
    tokens_in(str(tmp_path))
    (tmp_path / "drive.token").write_text(text)

    with pytest.raises(ConfigError, match=r"drive\.token has no token"):
        tokens_in(str(tmp_path))


def test_two_tokens_that_are_the_same_are_refused(tmp_path: Path) -> None:
    (tmp_path / "watch.token").write_text(tokens_in(str(tmp_path)).drive)

    with pytest.raises(ConfigError, match="whoever may watch could drive"):
        tokens_in(str(tmp_path))


def test_a_folder_that_others_may_write_in_is_refused(tmp_path: Path) -> None:
    os.chmod(tmp_path, 0o770)

    with pytest.raises(ConfigError, match="others may write in it"):
        tokens_in(str(tmp_path))
    assert [*tmp_path.iterdir()] == []


def test_a_token_has_a_role_and_its_cookie_the_same_and_neither_is_the_other() -> None:
    tokens = Tokens("d" * 43, "w" * 43)

    assert [tokens.role(word) for word in (tokens.drive, tokens.watch, "", "d", "\udcff", cookie(tokens.drive))] == [
        *("drive", "watch", None, None, None, None)
    ]
    cookies = cookie(tokens.drive), cookie(tokens.watch), tokens.drive, ""
    assert [tokens.role_of_cookie(word) for word in cookies] == ["drive", "watch", None, None]
