"""What a provider streams, recorded and played: every batch, every error, its time, and several at once."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from threading import Thread
from typing import get_args

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from linnet.concurrency.cancel import CancelToken
from linnet.core.context.history import Sendable
from linnet.core.deltas import (
    Delta,
    ReplyOpened,
    Stopped,
    TextDelta,
    UsageReported,
)
from linnet.core.messages import AssistantMessage, Cost, Image, Text, ToolCall, ToolResult, Usage, UserMessage
from linnet.core.text.known_secrets import SHAPES
from linnet.errors import (
    Cancelled,
    ContextOverflow,
    ModelRefused,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
)
from linnet.providers.base import Request
from linnet.providers.recorded.recorder import Recorder
from linnet.providers.recorded.replay import PATIENCE, load
from tests.providers.recordings import DONE, Clock, Model1, Play, asking, header, heard, record, refusal, replay, user


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


TEXT = st.text(max_size=12)
COUNT = st.integers(0, 10**9)
USAGE = st.builds(Usage, COUNT, COUNT, COUNT, COUNT, st.builds(Cost, st.floats(0, 1)))
KINDS: list[st.SearchStrategy[Delta]] = [st.from_type(kind) for kind in get_args(Delta) if kind is not UsageReported]
ANY_DELTA = st.one_of(st.builds(UsageReported, USAGE), *KINDS)
BATCHES = st.lists(st.lists(ANY_DELTA, max_size=4), max_size=5)
STATUS = st.none() | st.integers(400, 599)
ERRORS: st.SearchStrategy[Exception | None] = st.one_of(
    st.none(),
    st.builds(Cancelled),
    *(st.builds(kind, TEXT, TEXT, STATUS) for kind in (ProviderRejected, ContextOverflow, ModelRefused, ProviderError)),
    st.builds(ProviderUnavailable, TEXT, TEXT, st.none() | st.floats(0, 100), STATUS),
)


@given(st.lists(st.tuples(BATCHES, ERRORS), min_size=1, max_size=3))
def test_any_batches_and_any_error_survive(
    tmp_path_factory: pytest.TempPathFactory, replies: list[tuple[list[list[Delta]], Exception | None]]
) -> None:
    looks_secret = [shape.anchor for shape in SHAPES if shape.anchor in repr(replies).encode("utf-8", "replace")]
    assume(not looks_secret)  # What looks like a key is not kept.
    file = tmp_path_factory.mktemp("any") / "run.jsonl"
    plays: list[Play] = [[*batches, *([error] if error else [])] for batches, error in replies]
    record(file, *((asking(), play) for play in plays))
    player = replay(file)
    for batches, error in replies:
        cancel = CancelToken()
        played: list[list[Delta]] = []
        stream = player.stream(asking(), cancel)
        for expected in batches:
            played.append(list(next(stream)))
            assert played[-1] == expected
        if isinstance(error, Cancelled):
            cancel.set()
        found = heard(stream)[1]
        assert type(found) is type(error)
        assert str(found) == str(error)
        if isinstance(error, ProviderError) and isinstance(found, ProviderError):
            assert found.status == error.status
            assert getattr(found, "retry_after", None) == getattr(error, "retry_after", None)
    assert player.unplayed == 0
    assert player.problems == []


def test_the_file_grows_with_what_a_run_adds(file: Path) -> None:
    said: list[Sendable] = [user("hi " + "x" * 1000)]
    calls: list[tuple[Request, Play]] = []
    for number in range(30):
        calls.append((asking(*said, system="S" * 1000), [DONE]))
        said = [*said, AssistantMessage((Text("hello"),), number, "acme", "m-1"), user(f"and {number}?")]
    record(file, *calls)
    lines = [len(line) for line in file.read_text().splitlines() if '"asked"' in line]
    assert max(lines[1:]) < 300
    player = replay(file)
    assert [heard(player.stream(request, Clock())) for request, _ in calls] == [([DONE], None)] * 30


def test_what_only_clients_see_and_times_are_no_difference(file: Path) -> None:
    call = AssistantMessage((ToolCall("c1", "bash", {"command": "ls"}),), 5, "acme", "m-1", Usage(3, 4))
    result = ToolResult("c1", "bash", (Text("Took 0.1s"), Image("image/png", b"\x89PNG")), 6, details={"seconds": 0.1})
    record(file, (asking(user("hi"), call, result), [DONE]))
    again = ToolResult("c1", "bash", (Text("Took 12.7s"), Image("image/png", b"\x89PNG")), 9, details={"seconds": 9})
    call = AssistantMessage(call.content, 77, "acme", "m-1", Usage(9, 9))
    assert heard(replay(file).stream(asking(UserMessage((Text("hi"),), 99), call, again), Clock())) == ([DONE], None)


def test_replies_take_the_time_that_they_took_only_if_they_are_paced(file: Path) -> None:
    clock = Clock()
    clock.now = 7.0
    recorder = Recorder(str(file), header(), clock=lambda: clock.now)
    batches: list[list[Delta]] = [[ReplyOpened()], [TextDelta("a")], [Stopped("end")]]
    stream = recorder.around(Model1([*batches])).stream(asking(), clock)
    for clock.now in (7.25, 8.0, 8.0):
        next(stream)
    clock.now = 8.5
    assert next(stream, None) is None
    plain, paced = Clock(), Clock()
    assert heard(replay(file).stream(asking(), plain)) == (batches, None)
    assert plain.slept == []
    assert heard(replay(file, paced=True).stream(asking(), paced)) == (batches, None)
    assert paced.slept == [0.75, 0.5]


def test_requests_that_overlapped_are_answered_in_whichever_order_they_come(file: Path) -> None:
    recorder = Recorder(str(file), header())
    provider = recorder.around(Model1([[TextDelta("1")], DONE], [[TextDelta("2")], DONE], [DONE]))
    one, two = (provider.stream(asking(user(name)), Clock()) for name in ("one", "two"))
    next(one), next(two)
    assert heard(one)[1] is heard(two)[1] is None
    assert heard(provider.stream(asking(user("three")), Clock()))[1] is None
    player = replay(file)
    later, sooner = player.stream(asking(user("two")), Clock()), player.stream(asking(user("one")), Clock())
    assert [next(later), next(sooner)] == [[TextDelta("2")], [TextDelta("1")]]
    assert heard(sooner)[0] == heard(later)[0] == [DONE]
    assert heard(player.stream(asking(user("three")), Clock())) == ([DONE], None)
    assert 'was "one" and is now "three"' in refusal(replay(file), asking(user("three")))  # That did not overlap.


def test_many_threads_may_record_and_play_at_once(file: Path) -> None:
    recorder = Recorder(str(file), header())
    batches: list[list[Delta]] = [[TextDelta(str(number))] for number in range(50)]
    providers = [recorder.around(Model1([*batches])) for _ in range(8)]
    run_all([partial(list, each.stream(asking(), Clock())) for each in providers])
    recorder.close()
    assert len(load(str(file)).calls) == 8
    player = replay(file)
    found: list[object] = []
    run_all([lambda: found.append(heard(player.stream(asking(), Clock())))] * 8)
    assert found == [(batches, None)] * 8
    assert player.unplayed == 0


def run_all(work: Sequence[Callable[[], object]]) -> None:
    threads = [Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)


def test_a_reply_that_is_played_can_be_aborted(file: Path) -> None:
    record(file, (asking(), [[TextDelta("1")], [TextDelta("2")], DONE]))
    cancel = CancelToken()
    stream = replay(file).stream(asking(), cancel)
    assert next(stream) == [TextDelta("1")]
    cancel.set()
    batches, error = heard(stream)
    assert batches == []
    assert isinstance(error, Cancelled)


def test_a_reply_that_was_aborted_waits_to_be_aborted_again_and_not_forever(file: Path) -> None:
    record(file, (asking(), [[TextDelta("1")], Cancelled()]), (asking(), [[TextDelta("1")], DONE]))
    clock = Clock()
    batches, error = heard(replay(file).stream(asking(), clock))
    assert (batches, clock.slept) == ([[TextDelta("1")]], [PATIENCE])
    assert str(error) == f"replay: call 1 of {file} was aborted here as it was recorded, and nobody aborts it now"


def test_a_request_that_was_aborted_may_not_be_made_at_all(file: Path) -> None:
    record(file, (asking(user("one")), [Cancelled()]), (asking(user("two")), [DONE]), (asking(user("three")), [DONE]))
    player = replay(file)
    assert 'was "one" and is now "three"' in refusal(player, asking(user("three")))
    assert heard(player.stream(asking(user("two")), Clock())) == ([DONE], None)
    assert player.unplayed == 1
    assert heard(player.stream(asking(user("three")), Clock())) == ([DONE], None)


def test_a_reply_that_nobody_read_to_its_end_counts_as_aborted(file: Path) -> None:
    recorder = Recorder(str(file), header())
    stream = recorder.around(Model1([[TextDelta("1")], DONE])).stream(asking(), Clock())
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    ended = load(str(file)).calls[0].ended
    assert ended is not None
    assert ended.how == "aborted"
