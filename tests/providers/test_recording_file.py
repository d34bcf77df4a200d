"""The file of a recording: without secrets, never written over, and refused where it makes no sense."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.core.deltas import (
    CallDelta,
    CallOpened,
    Delta,
    TextDelta,
)
from linnet.core.messages import AssistantMessage, ToolCall
from linnet.errors import (
    ConfigError,
    ProviderRejected,
)
from linnet.providers.recorded.recorder import Recorder
from linnet.providers.recorded.recording import parse
from linnet.providers.recorded.replay import Replay, load
from tests.providers.recordings import (
    DONE,
    KEY,
    Clock,
    Model1,
    asking,
    header,
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


@pytest.mark.parametrize("secret", [KEY, "correct horse battery"])
@pytest.mark.parametrize("size", range(1, len(KEY)))
def test_no_secret_is_written_wherever_its_pieces_end(file: Path, size: int, secret: str) -> None:
    pieces = [secret[at : at + size] for at in range(0, len(secret), size)]
    told: list[list[Delta]] = [[TextDelta(piece)] for piece in pieces]
    called: list[list[Delta]] = [[CallDelta("c", piece)] for piece in pieces]
    play: list[list[Delta]] = [
        [TextDelta("it is ")],
        *told,
        [TextDelta(" indeed"), CallOpened("c", "x")],
        *called,
        DONE,
    ]
    call = AssistantMessage((ToolCall("c1", "bash", {"command": f"echo {secret}"}),), 5, "acme", "m-1")
    request = asking(user(f"use {secret}"), call, result(f"{secret}\n"), system=f"The key: {secret}")
    failure = ProviderRejected("acme", f"bad {secret}")
    record(file, (request, [*play, failure]), secrets=["correct horse battery"])
    written = [delta for batch in load(str(file)).calls[0].batches for delta in batch.deltas]
    assert secret not in file.read_text()
    assert "".join(each.text for each in written if isinstance(each, TextDelta)) == "it is [REDACTED] indeedhello"
    assert "".join(each.text for each in written if isinstance(each, CallDelta)) == "[REDACTED]"
    batches, error = heard(replay(file).stream(request, Clock()))  # What was taken out stands for any secret.
    assert str(error) == "acme: bad [REDACTED]"
    assert len(batches) == len(play)


def test_a_difference_shows_no_key(file: Path) -> None:
    record(file, (asking(user("hi")), [DONE]))
    assert KEY not in refusal(replay(file), asking(user(f"hi {KEY}")))


def test_batches_in_which_a_secret_may_have_begun_wait_for_its_end(file: Path) -> None:
    recorder = Recorder(str(file), header())
    batches: list[list[Delta]] = [[TextDelta("tas")], [TextDelta("k")], [TextDelta("s-")], [TextDelta("all")]]
    stream = recorder.around(Model1([*batches, DONE])).stream(asking(), Clock())
    written = []
    for _ in stream:
        written.append(file.read_text().count('"streamed"'))
    assert written[:4] == [0, 0, 0, 4]
    assert heard(replay(file).stream(asking(), Clock()))[0] == [*batches, DONE]


def test_only_its_owner_may_read_it_and_none_is_written_over(file: Path) -> None:
    record(file, (asking(), [DONE]))
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    with pytest.raises(ConfigError, match="exists already, and no recording is written over"):
        Recorder(str(file), header())
    with pytest.raises(ConfigError, match="is no folder that can be written to"):
        Recorder(str(file / "x" / "y"), header())


def test_a_run_that_asks_nothing_leaves_no_file(file: Path) -> None:
    Recorder(str(file), header()).close()
    assert not file.exists()


def test_a_file_that_can_no_longer_be_made_fails_the_call_in_words(file: Path) -> None:
    provider = Recorder(str(file), header()).around(Model1([DONE]))
    file.write_text("somebody else's")
    batches, error = heard(provider.stream(asking(), Clock()))
    assert (batches, str(error)) == ([], f"acme: the recording {file} cannot be written: File exists")
    assert file.read_text() == "somebody else's"


def test_a_file_that_was_cut_anywhere_plays_up_to_there_and_then_fails_in_words(file: Path) -> None:
    record(file, (asking(), [DONE[:2], DONE[2:]]), (asking(), [DONE]))
    data = file.read_bytes()
    for size in range(len(data)):
        cut = data[:size]
        if b"\n" not in cut:
            with pytest.raises(ConfigError, match=r"^cut:1: is not a recording of linnet"):
                parse(cut, "cut")
            continue
        player = Replay(parse(cut, "cut"), "/work/there", "/home/me/.linnet")
        first, error_1 = heard(player.stream(asking(), Clock()))
        whole = cut.count(b"\n")  # Lines: header, asked, two batches, the end; asked, a batch, the end.
        assert first == [DONE[:2], DONE[2:]][: max(0, whole - 2)]
        if whole < 2:
            assert "the recording cut is over: it has 0 calls, and one more is asked for" in str(error_1)
        elif whole < 5:
            assert str(error_1) == "replay: the recording cut ends in the middle of call 1"
        else:
            assert error_1 is None
            second, error_2 = heard(player.stream(asking(), Clock()))
            assert second == [DONE][: max(0, whole - 6)]
            assert "is over: it has 1 call," in str(error_2) if whole < 6 else "middle of call 2" in str(error_2)


def lines(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: [b"garbage\n", *lines], "run.jsonl:1: is not JSON"),
        (lambda lines: lines[1:], "run.jsonl:1: is not a recording of linnet"),
        (lambda lines: [], "run.jsonl:1: is not a recording of linnet"),
        (lambda lines: [lines[0].replace(b'"format":1', b'"format":2'), *lines[1:]], "run.jsonl:1: the format is 2"),
        (lambda lines: [lines[0].replace(b'"m-1"', b"7"), *lines[1:]], "run.jsonl:1: model: Expected `str`"),
        (lambda lines: [*lines[:2], b"\xff\n", *lines[2:]], "run.jsonl:3: is not UTF-8 text"),
        (lambda lines: [*lines[:2], b"\n", *lines[2:]], "run.jsonl:3: is not JSON"),
        (lambda lines: [*lines[:2], b'{"line":"other"}\n'], "run.jsonl:3: "),
        (lambda lines: [*lines[:2], b"[" * 100_000 + b"\n"], "run.jsonl:3: "),
        (lambda lines: [*lines[:2], lines[0]], "run.jsonl:3: belongs to no call that goes on there"),
        (lambda lines: [*lines, lines[2]], "run.jsonl:5: belongs to no call that goes on there"),
        (lambda lines: [*lines, lines[1]], "run.jsonl:5: call 1 does not follow what is before it"),
        (lambda lines: [lines[0], lines[2]], "run.jsonl:2: belongs to no call that goes on there"),
        (lambda lines: [lines[0], lines[1].replace(b'"kept":0', b'"kept":1')], "run.jsonl:2: call 1 does not follow"),
        (
            lambda lines: [lines[0], lines[1].replace(b'"system"', b'"sistem"')],
            "run.jsonl:2: the first call",
        ),
        (
            lambda lines: [*lines[:2], lines[2].replace(b"TextDelta", b"TestDelta")],
            '["TestDelta","hello"] is no',
        ),
        (
            lambda lines: [*lines[:2], lines[2].replace(b'"hello"', b"7")],
            ':3: ["TextDelta",7] is no delta: Exp',
        ),
        (
            lambda lines: [*lines[:2], lines[2].replace(b'"hello"', b'"a","b"')],
            ':3: ["TextDelta","a","b"] is no',
        ),
        (lambda lines: [*lines[:2], lines[2].replace(b'["ReplyOpened"]', b"[]")], "run.jsonl:3: [] is no delta"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_its_line(
    file: Path, change: Callable[[list[bytes]], list[bytes]], words: str
) -> None:
    record(file, (asking(), [DONE]))
    file.write_bytes(b"".join(change(lines(file))))
    with pytest.raises(ConfigError) as refused:
        load(str(file))
    assert words in str(refused.value)
    assert str(file) in str(refused.value)


def test_a_file_that_is_not_there_is_refused(file: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load(str(file))


def test_halves_of_surrogate_pairs_are_mended(file: Path) -> None:
    record(file, (asking(user("\ud83d"), system="\ud83d\ude00"), [[TextDelta("a\ud800")]]))
    assert load(str(file)).calls[0].batches[0].deltas == [TextDelta("a\ufffd")]
