"""What a run asks otherwise than was recorded: told in words, unless it only differs from run to run."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from linnet.core.context.compact import SYSTEM
from linnet.core.context.history import bash_text
from linnet.core.deltas import (
    CallDelta,
    CallOpened,
    Delta,
    ReplyOpened,
    Stopped,
    TextDelta,
)
from linnet.core.messages import BashRun
from linnet.core.models import Model
from linnet.core.toolspec import ToolSpec
from linnet.providers.base import Request
from tests.providers.recordings import (
    DONE,
    LS,
    SAID,
    Clock,
    asking,
    heard,
    record,
    refusal,
    replay,
    result,
    user,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (asking(user("ho"), *SAID[1:], result("a")), 'message 1, the user\'s, was "hi" and is now "ho"'),
        (asking(*SAID, result("b")), 'message 3, the answer of the tool `bash`, was "a" and is now "b"'),
        (asking(*SAID, result("a", is_error=True)), 'was "a" and is now "(an error)\na"'),
        (asking(*SAID, result("a"), user("x")), 'call 1 … 1 message is new, the first of them the user\'s: "x"'),
        (asking(*SAID), '1 message is gone, the first of them the answer of the tool `bash`: "a"'),
        (asking(user("hi"), user("x"), result("a")), "message 2 was the model's, and is now the user's: \"x\""),
        (asking(*SAID, result("a"), reasoning="high"), "the level of thinking was off and is now high"),
        (asking(*SAID, result("a"), tools=(LS,)), "the tool `ls` is new"),
        (asking(*SAID, result("a"), system="Be bad."), "the system prompt differs from character 4 on: it was"),
        (Request(Model("m-2", "acme"), "Be good.", (*SAID, result("a"))), "the model was acme/m-1 and is now acme/m-2"),
    ],
)
def test_a_request_that_differs_is_refused_in_words(file: Path, request_: Request, words: str) -> None:
    record(file, (asking(*SAID, result("a")), [DONE]))
    player = replay(file)
    said = refusal(player, request_)
    assert said.startswith(f"replay: call 1 is not what was recorded in {file}: ")
    assert words.removeprefix("call 1 … ") in said
    assert player.problems == [said.removeprefix("replay: ")]
    assert player.unplayed == 1
    assert heard(player.stream(asking(*SAID, result("a")), Clock())) == ([DONE], None)  # It took no call.


def test_a_history_that_was_replaced_then_and_is_not_now_is_a_difference(file: Path) -> None:
    long, short, more = user("a long story"), user("a summary"), user("more")
    record(file, (asking(long), [DONE]), (asking(short, more), [DONE]))
    player = replay(file)
    assert heard(player.stream(asking(long), Clock())) == ([DONE], None)
    assert 'message 1, the user\'s, was "a summary" and is now "a long story"' in refusal(player, asking(long, more))


def test_an_answer_to_another_call_is_a_difference(file: Path) -> None:
    record(file, (asking(*SAID, result("a")), [DONE]))
    assert "message 3" in refusal(replay(file), asking(*SAID, replace(result("a"), call_id="c2")))


def test_all_that_is_different_is_told_and_long_texts_are_shown_where_they_differ(file: Path) -> None:
    old, new = (ToolSpec("grep", about, {}) for about in ("Search.", "Search well."))
    record(file, (asking(user("x" * 500 + "old" + "y" * 500), tools=(LS, old)), [DONE]))
    said = refusal(replay(file), asking(user("x" * 500 + "new" + "y" * 500), reasoning="low", tools=(new,)))
    assert "thinking was off and is now low; the tool `ls` is gone; the tool `grep` is described differently; " in said
    assert f'message 1, the user\'s, was "…{"x" * 15}old{"y" * 42}…" and is now "…{"x" * 15}new{"y" * 42}…"' in said


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("It is 2026-01-02.", "It is 2027-12-31."),
        ("at 2026-01-02T03:04:05.678Z", "at 2026-11-12T13:14:15Z"),
        ("3 passed in 0.01s", "3 passed in 12.50s"),
        ("<object at 0x7f00deadbeef>", "<object at 0x7f0012345678>"),
        ("session 123e4567-e89b-12d3-a456-426614174000", "session 00000000-e89b-12d3-a456-426614174000"),
        ("[exit 0] (full output: /tmp/linnet-bash-abc_1.log)", "[exit 0] (full output: /var/x/linnet-bash-zz.log)"),
    ],
)
def test_what_differs_from_run_to_run_is_no_difference_but_in_what_the_user_says(
    file: Path, was: str, now: str
) -> None:
    record(file, (asking(*SAID, result(was), system=was), [DONE]))
    assert heard(replay(file).stream(asking(*SAID, result(now), system=now), Clock())) == ([DONE], None)
    record(file.with_suffix(".2"), (asking(user(was)), [DONE]))
    assert "message 1, the user's" in refusal(replay(file.with_suffix(".2")), asking(user(now)))


def test_a_question_for_a_summary_and_a_command_of_the_client_are_not_what_the_user_says(file: Path) -> None:
    record(file, (asking(user("Sum up: Took 0.1s"), system=SYSTEM), [DONE]))
    for match in ("strict", "loose"):
        again = asking(user("Sum up: Took 0.2s"), system=SYSTEM)
        assert heard(replay(file, match=match).stream(again, Clock())) == ([DONE], None)
    assert "message 1" in refusal(replay(file), asking(user("Sum it up: Took 0.1s"), system=SYSTEM))
    assert "message 1" in refusal(replay(file, match="loose"), asking(user("hi")))
    ran = [user(bash_text(BashRun("make", output, 0, 1))) for output in ("in 0.1s", "in 0.2s")]
    record(file.with_suffix(".2"), (asking(ran[0]), [DONE]))
    assert heard(replay(file.with_suffix(".2")).stream(asking(ran[1]), Clock())) == ([DONE], None)


def test_what_the_user_says_is_shown_where_it_first_differs(file: Path) -> None:
    record(file, (asking(user("since 2026-01-02 " + "-" * 100)), [DONE]))
    said = refusal(replay(file), asking(user("since 2027-01-02 " + "-" * 100)))
    assert 'was "since 2026-01-02 ---' in said


def test_a_difference_after_one_that_does_not_count_is_shown_where_it_is(file: Path) -> None:
    record(file, (asking(*SAID, result("2026-01-02 " + "-" * 100 + "left")), [DONE]))
    said = refusal(replay(file), asking(*SAID, result("2027-12-31 " + "-" * 100 + "right")))
    assert 'left" and is now' in said
    assert 'right"' in said


def test_loosely_only_what_the_user_says_counts_and_with_none_nothing_does(file: Path) -> None:
    record(file, (asking(*SAID, result("a")), [DONE]), (asking(user("bye")), [DONE]))
    other = asking(*SAID, result("b"), system="Other.", reasoning="high", tools=(LS,))
    assert heard(replay(file, match="loose").stream(other, Clock())) == ([DONE], None)
    assert "message 1, the user's" in refusal(replay(file, match="loose"), asking(user("ho")))
    assert heard(replay(file, match="none").stream(asking(user("ho")), Clock())) == ([DONE], None)


def test_a_run_works_in_its_own_folder(file: Path) -> None:
    there, here = "/work/there", '/tmp/it\'s "här"'
    pieces: list[Delta] = [CallDelta("c1", each) for each in ('{"path":"/wo', "rk/th", "ere", "/a", '.txt"}')]
    told: list[Delta] = [TextDelta("I write to "), TextDelta("/work/there"), TextDelta(". Not /work/thereabouts/x.")]
    call: list[list[Delta]] = [[ReplyOpened(), *told, CallOpened("c1", "write")], pieces, [Stopped("tool_use")]]
    system = "The working folder is {}. Relative paths start there."
    record(file, (asking(system=system.format(there)), list(call)), cwd=there)
    batches, error = heard(replay(file, cwd=here).stream(asking(system=system.format(here)), Clock()))
    assert error is None
    args = "".join(delta.text for batch in batches for delta in batch if isinstance(delta, CallDelta))
    assert json.loads(args) == {"path": f"{here}/a.txt"}
    text = "".join(delta.text for batch in batches for delta in batch if isinstance(delta, TextDelta))
    assert text == f"I write to {here}. Not /work/thereabouts/x."
    assert [len(batch) for batch in batches] == [len(batch) for batch in call]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("cd /w/a", "cd /elsewhere"),
        ("(/w/a)", "(/elsewhere)"),
        ("cc -I/w/a/include", "cc -I/elsewhere/include"),
        ("file:///w/a/x", "file:///elsewhere/x"),
        ("/w/a", "/elsewhere"),
        ("/x/w/a", "/x/w/a"),
        ("/w/ab", "/w/ab"),
        ("/w/a.txt", "/w/a.txt"),
        ("/w/a-b", "/w/a-b"),
        ("in /w/a.", "in /elsewhere."),
        ("words/w/a", "words/elsewhere"),
        ("./w/a", "./w/a"),
        (r'printf "x\n/w/a"', r'printf "x\n/elsewhere"'),
        ("/w/a:/w/a/b", "/elsewhere:/elsewhere/b"),
    ],
)
def test_only_the_folder_itself_is_another_one(file: Path, was: str, now: str) -> None:
    record(file, (asking(user(was)), [[TextDelta(was)]]), cwd="/w/a")
    assert heard(replay(file, cwd="/elsewhere").stream(asking(user(now)), Clock())) == ([[TextDelta(now)]], None)


@pytest.mark.parametrize(
    ("was", "now"), [("/src/x", "/elsewhere/x"), ("lib/src/x", "lib/src/x"), ("/usr/src", "/usr/src")]
)
def test_a_folder_with_a_short_name_is_not_found_in_other_paths(file: Path, was: str, now: str) -> None:
    record(file, (asking(user(was)), [[TextDelta(was)]]), cwd="/src")
    assert heard(replay(file, cwd="/elsewhere").stream(asking(user(now)), Clock())) == ([[TextDelta(now)]], None)


def test_the_root_is_never_mapped(file: Path) -> None:
    record(file, (asking(user("ls / /etc")), [DONE]), cwd="/")
    assert heard(replay(file, cwd="/tmp").stream(asking(user("ls / /etc")), Clock())) == ([DONE], None)
