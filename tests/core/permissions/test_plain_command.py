"""What a rule that allows lets through: lines that are known to be one plain command."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.core.permissions.plain_command import not_plain, plain_command, plain_words

PLAIN = "abcXYZ019_-./:=@%+,"
bare = st.text(PLAIN, min_size=1, max_size=8)
quoted = st.text(st.characters(min_codepoint=32, max_codepoint=0x24F, exclude_characters="$`\\\x7f'\""), max_size=8)
parts = bare | quoted.map("'{}'".format) | quoted.map('"{}"'.format)
words = st.lists(parts, min_size=1, max_size=3).map("".join)
plain_lines = st.lists(words, min_size=1, max_size=5).map(" ".join)
anything = st.lists(words | st.sampled_from([*"$`\\;&|<>(){}[]!#^\n\r\t'\"*?~ ", "$(", "<<", "a=1 "]), max_size=8).map(
    "".join
)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("git status", ["git", "status"]),
        ("git \t status  --short ", ["git", "status", "--short"]),
        ("git log --format='%h %s' -n 3", ["git", "log", "--format=%h %s", "-n", "3"]),
        ('"git" status', ["git", "status"]),
        ("ls *.py ~/x ?", ["ls", "*.py", "~/x", "?"]),
        ("touch ''", ["touch", ""]),
    ],
)
def test_words_and_closed_quotes_are_plain(line: str, found: list[str]) -> None:
    assert plain_command(line) == found


@pytest.mark.parametrize(
    "line",
    [
        "",
        " ",
        "git status; rm x",
        "git status && rm x",
        "git status\nrm x",
        "git status\r\nrm x",
        "git status $(rm x)",
        "git status `rm x`",
        "git status > x",
        "git status & rm x",
        "git status | sh",
        "git status <(rm x)",
        "git status $HOME",
        'git status "$HOME"',
        "git status ${x}",
        r"git status $[$'a[\x24\x28touch ZAPPED\x29]']",
        "printf -v 'a[$(touch ZAPPED)]' x",
        "test -v 'a[$(touch ZAPPED)]'",
        "[[ 'a[$(touch ZAPPED)]' -eq 0 ]]",
        "read 'a[$(touch ZAPPED)]'",
        "git status {a,b}",
        "git status \\x",
        "git status 'open",
        'git status "open',
        "A=1 git status",
        "A+=1 git status",
        "(git status)",
        "{ git status; }",
        "! git status",
        "git status # rm",
        "git status \x00",
        "git status \x07",
        "git status\xa0x",
        "gít status",
        "g?t status",
        "/bin/* x",
        "'' x",
    ],
)
def test_what_may_be_more_is_not_plain(line: str) -> None:
    assert plain_command(line) is None


@given(anything | plain_lines)
def test_nothing_gets_through_but_what_is_on_the_list(line: str) -> None:
    """Read once more, one character after another."""
    found = plain_command(line)
    quote, is_plain = "", True
    for sign in line:
        if quote:
            is_plain &= sign not in "$`\\\n" and (sign == "\t" or ord(sign) >= 32) and ord(sign) != 127
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        else:
            is_plain &= sign in PLAIN + "*?~ \t" or (sign.isascii() and sign.isalnum())
    assert (plain_words(line) is not None) is (is_plain and not quote)
    assert found is None or "=" not in found[0]


@given(anything | plain_lines)
def test_what_keeps_a_line_from_being_plain_is_named(line: str) -> None:
    assert bool(not_plain(line)) is (plain_words(line) is None)
    assert not_plain(line) in line


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every program that is looked for writes down how it was called."""
    folder = tmp_path_factory.mktemp("recorded")
    (folder / "bin").mkdir()
    (folder / "empty").mkdir()
    return folder


@settings(max_examples=25)
@given(st.lists(plain_lines, min_size=20, max_size=20))
def test_a_plain_line_runs_one_program_with_exactly_these_words(recorder: Path, lines: list[str]) -> None:
    """In a real shell: whatever it calls is written down by a function that stands in for every program."""
    script = 'command_not_found_handle() { printf "%s\\0" "$@"; printf "\\n\\0"; }\n'
    expected: list[list[str]] = []
    for number, line in enumerate(lines):
        named = f"p{number}x {line}"  # No program or word of the shell's own has this name.
        found = plain_command(named)
        assert found is not None
        expected.append(found)
        script += named + "\n"
    done = subprocess.run(
        ["/bin/bash", "--norc", "--noprofile", "-c", script],
        capture_output=True,
        env={"PATH": str(recorder / "bin"), "LC_ALL": "C.UTF-8"},
        cwd=recorder / "empty",
        check=False,
        timeout=60,
    )
    calls = [os.fsdecode(call).split("\0")[:-1] for call in done.stdout.split(b"\n\0")[:-1]]
    assert calls == expected
    assert done.stderr == b""
    assert not list((recorder / "empty").iterdir())
