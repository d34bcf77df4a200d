"""Events are kept with their numbers, and read from any of them on: over restarts, losses and power cuts."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from errno import ENOSPC
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core import events
from linnet.core.events import Event, TextGrew
from linnet.eventlog import event_log, segment
from linnet.eventlog.cursor import Cursor, Gap
from linnet.eventlog.event_log import EventLog, Limits
from linnet.eventlog.followed import Numbered
from linnet.eventlog.follower import Follower
from linnet.eventlog.reserved import BLOCK, Reserved
from linnet.eventlog.retention import drop
from linnet.eventlog.segment import Segment
from linnet.eventlog.spelling import UNTOLD
from linnet.wire.numbered import numbered_lines
from linnet.wire.pi.dialect import Pi
from tests.wire.stories import story
from tests.wire.test_encoders import DIALECTS

SMALL = Limits(segment=2000)
randoms = st.randoms(use_true_random=False)


class Kept:
    """A log in a folder, which can be opened again as after the end of a process or of the machine."""

    def __init__(self, folder: Path, limits: Limits = SMALL) -> None:
        self.folder = folder
        self.limits = limits
        self.now = 1_000_000
        self.log = self.open()

    def open(self) -> EventLog:
        self.reserved = Reserved(str(self.folder / "reserved"))
        return EventLog(str(self.folder / "agent"), self.reserved, lambda: self.now, self.limits)

    def again(self) -> EventLog:
        """As after kill -9: nothing is closed."""
        self.log = self.open()
        return self.log

    def files(self) -> list[Path]:
        return sorted((self.folder / "agent").iterdir())


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def words(*said: str) -> list[Event]:
    return [TextGrew(0, word) for word in said]


def all_after(log: EventLog, after: int) -> list[tuple[int, Event]] | Gap:
    """What one reader is handed that comes with this number."""
    cursor = Cursor(log)
    begun = cursor.seek(after)
    if isinstance(begun, Gap):
        return begun
    found: list[tuple[int, Event]] = []
    while batches := cursor.take():
        if isinstance(batches, Gap):
            return batches
        found += [(number, event) for batch in batches for number, event in enumerate(batch.events, batch.first)]
    cursor.close()
    return found


def texts(found: list[tuple[int, Event]] | Gap) -> list[tuple[int, str]]:
    assert not isinstance(found, Gap)
    return [(number, event.text) for number, event in found if isinstance(event, TextGrew)]


@given(randoms, st.lists(st.integers(1, 30), min_size=1), st.sampled_from([300, 2000, 10**6]), st.booleans())
def test_any_reader_gets_from_any_number_what_one_got_that_never_left(
    tmp_path_factory: pytest.TempPathFactory, random: Random, sizes: list[int], segment_size: int, restarted: bool
) -> None:
    kept = Kept(tmp_path_factory.mktemp("log"), Limits(segment=segment_size))
    happened = story(random)
    dialect = random.choice(DIALECTS)
    stayed = dialect.encoder()
    record: list[tuple[int, bytes]] = []
    start = 0
    while start < len(happened):
        batch = happened[start : start + random.choice(sizes)]
        first = kept.log.head + 1
        start += len(batch)
        kept.log.append(batch)
        for number, event in enumerate(batch, first):  # One by one: what they become together is to be the same.
            record += [(number, line) for (line,) in numbered_lines(stayed, number, [event])]
    if restarted:
        kept.again()
    for after in {0, kept.log.head, *(random.randint(0, kept.log.head) for _ in range(5))}:
        for numbered in (True, False):
            follower = Follower(kept.log, dialect.encoder, "seq" if numbered else "plain")
            assert follower.seek(after) is None
            told = b""
            while made := follower.take():
                assert not isinstance(made, Gap)
                told += b"".join(bytes(buffer) for buffers in made for buffer in buffers)
            assert follower.position >= after
            follower.close()
            expected = [line for number, line in record if number > after]
            assert told == b"".join(expected if numbered else [SEQ.sub(b"}", line) for line in expected])


SEQ = re.compile(rb',"seq":\d+}$', re.MULTILINE)


def test_a_reader_may_come_and_go_while_events_are_written(kept: Kept) -> None:
    cursor, slow = Cursor(kept.log), Cursor(kept.log)
    assert cursor.seek(0) == slow.seek(0) == []
    seen: list[tuple[int, str]] = []
    for number in range(1, 3000):
        kept.log.append(words(str(number)))
        if number % 7 == 0:
            batches = cursor.take()
            assert not isinstance(batches, Gap)
            seen += [(n, e.text) for b in batches for n, e in enumerate(b.events, b.first) if isinstance(e, TextGrew)]
    expected = [(number, str(number)) for number in range(1, 3000)]
    assert seen == expected[: len(seen)]
    assert len(seen) > 2990
    late: list[tuple[int, str]] = []
    while batches := slow.take():
        assert not isinstance(batches, Gap)
        late += [(n, e.text) for b in batches for n, e in enumerate(b.events, b.first) if isinstance(e, TextGrew)]
    assert late == expected


@given(randoms, st.lists(st.integers(1, 9), max_size=30), st.booleans())
def test_what_is_taken_up_to_a_number_goes_on_after_it(
    tmp_path_factory: pytest.TempPathFactory, random: Random, sizes: list[int], restarted: bool
) -> None:
    kept = Kept(tmp_path_factory.mktemp("kept"))
    for size in sizes:
        batch: list[Event] = [random.choice((TextGrew(0, "a"), events.AutoRetrySet(True))) for _ in range(size)]
        kept.log.append(batch)
    if restarted:
        kept.again()
    expected = all_after(kept.log, 0)
    cursor = Cursor(kept.log)
    assert not isinstance(cursor.seek(0), Gap)
    seen: list[tuple[int, Event]] = []
    for upto in [*sorted(random.randint(0, kept.log.head) for _ in range(5)), kept.log.head]:
        while taken := cursor.take(upto):
            assert not isinstance(taken, Gap)
            seen += [(number, event) for batch in taken for number, event in enumerate(batch.events, batch.first)]
        assert seen == [pair for pair in expected if pair[0] <= upto] if isinstance(expected, list) else not seen
        assert cursor.position <= upto
    cursor.close()


def test_who_keeps_up_reads_no_file(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    cursor = Cursor(kept.log)
    cursor.join()
    monkeypatch.setattr(segment.Reading, "__init__", lambda *_: pytest.fail("a file was opened"))
    for _ in range(100):
        kept.log.append(words("a", "b"))
        assert cursor.take() == [Numbered(kept.log.head - 1, words("a", "b"))]


def test_events_that_nobody_is_told_of_have_numbers_and_are_not_written(kept: Kept) -> None:
    kept.log.append([TextGrew(0, "a"), events.AutoRetrySet(True), TextGrew(0, "b")])
    kept.log.append([events.AutoRetrySet(False)])
    kept.log.append(words("c"))
    assert texts(all_after(kept.log, 0)) == [(1, "a"), (3, "b"), (5, "c")]
    assert texts(all_after(kept.log, 2)) == [(3, "b"), (5, "c")]
    assert texts(all_after(kept.again(), 4)) == [(5, "c")]
    assert events.AutoRetrySet in UNTOLD


def test_numbers_go_on_after_the_end_of_a_process(kept: Kept) -> None:
    kept.log.append(words("a", "b"))
    with kept.files()[0].open("ab") as file:
        file.write(b'{"n":3,"e":[["text",[[0,"half')  # It was being written, so that nobody was told.
    assert kept.again().head == 2
    assert kept.log.append(words("c")) == 3
    assert texts(all_after(kept.log, 0)) == [(1, "a"), (2, "b"), (3, "c")]
    assert len(kept.files()) == 1


def test_an_open_prompt_is_still_open_after_the_end_of_a_process(kept: Kept) -> None:
    kept.log.append([events.JobStarted("prompt"), events.RunStarted(), events.StepStarted(1)])
    kept.again()
    assert Cursor(kept.log).join() == [events.JobStarted("prompt"), events.RunStarted(), events.StepStarted(1)]


def test_after_a_power_cut_no_number_is_given_twice_and_who_saw_more_hears_of_a_gap(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.log.append(words("a"))
    kept.log.append(words("never", "reached", "the disk"))
    file = kept.files()[0]
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:2]))
    monkeypatch.setattr(event_log, "boot", lambda: "another")
    log = kept.again()
    assert log.append(words("b")) > BLOCK
    assert all_after(log, 4) == Gap(4)
    assert all_after(log, 1) == Gap(1)
    assert all_after(log, 0) == Gap(1)  # What is there is told first.
    log.append(words("c"))
    assert texts(all_after(log, log.head - 1)) == [(log.head, "c")]


def test_a_machine_that_was_shut_down_in_peace_loses_nothing(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.log.append(words("a"))
    kept.log.close()
    monkeypatch.setattr(event_log, "boot", lambda: "another")
    assert kept.again().append(words("b")) == 2
    assert texts(all_after(kept.log, 0)) == [(1, "a"), (2, "b")]


def test_numbers_are_reserved_on_disk_before_they_are_given(kept: Kept) -> None:
    kept.log.append(words("a"))
    assert Reserved(str(kept.folder / "reserved")).above(0) >= kept.log.head
    assert Reserved(str(kept.folder / "other")).above(0) == 0


@pytest.mark.parametrize("damage", [b'{"version":99,"first":1,"boot":"x","whole":true}\n', b"\0" * 100, b""])
def test_a_file_that_cannot_be_read_is_a_gap_and_numbers_go_on_above_all_that_were_given(
    kept: Kept, damage: bytes
) -> None:
    kept.log.append(words("a"))
    kept.files()[0].write_bytes(damage)
    log = kept.again()
    follower = Cursor(log)
    follower.join()
    assert log.append(words("b")) > BLOCK
    assert follower.take() == [Numbered(log.head, words("b"))]
    assert all_after(log, 0) == Gap(0)


def test_what_could_not_be_written_is_a_gap_and_has_no_number(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    follower = Cursor(kept.log)
    follower.join()
    kept.log.append(words("a"))
    assert not isinstance(follower.take(), Gap)
    with monkeypatch.context() as full:
        full.setattr(segment, "write_all", refusing(OSError(ENOSPC, os.strerror(ENOSPC))))
        assert kept.log.append(words("lost")) == 1
        assert follower.take() == []
    assert kept.log.append(words("b")) == 2
    assert follower.take() == Gap(1)
    assert all_after(kept.log, 0) == Gap(1)
    assert all_after(kept.log, 1) == Gap(1)
    assert texts(all_after(kept.log, 2)) == []
    assert kept.log.append(words("c")) == 3
    assert texts(all_after(kept.log, 2)) == [(3, "c")]


def refusing(error: OSError) -> Callable[..., None]:
    def write(fd: int, content: bytes) -> None:
        os.write(fd, content[: len(content) // 2])
        raise error

    return write


def test_files_are_dropped_whole_when_there_are_too_many_or_they_are_too_old(tmp_path: Path) -> None:
    kept = Kept(tmp_path, Limits(bytes=10_000, milliseconds=1000, segment=1000))
    for number in range(2000):
        kept.log.append([events.SessionNamed(f"{number} " * 10)])
    assert 8000 < sum(file.stat().st_size for file in kept.files()) < 12_000
    assert all_after(kept.log, 0) == Gap(0)
    oldest = int(kept.files()[0].name.split(".")[0])
    found = all_after(kept.log, oldest)
    assert not isinstance(found, Gap)
    assert [number for number, _ in found] == list(range(oldest + 1, 2001))
    kept.now = os.stat(kept.files()[-1]).st_mtime_ns // 1_000_000 + 5000
    for _ in range(50):
        kept.log.append([events.SessionNamed("x" * 100)])
    assert int(kept.files()[0].name.split(".")[0]) > 2000


def test_a_file_that_is_dropped_under_a_slow_reader_is_a_gap(tmp_path: Path) -> None:
    kept = Kept(tmp_path, Limits(bytes=3000, segment=1000))
    cursor = Cursor(kept.log)
    cursor.join()
    for number in range(10_000):
        kept.log.append(words(str(number)))
    assert cursor.take() == Gap(0)
    assert cursor.join() == [TextGrew(0, "".join(map(str, range(10_000))))]
    assert cursor.take() == []


def test_all_agents_together_keep_so_much_and_each_its_newest_file(tmp_path: Path) -> None:
    agents = [Kept(tmp_path / str(number), Limits(segment=1000)) for number in range(3)]
    for number in range(300):
        agents[number % 3].log.append([events.SessionNamed(f"{number} " * 10)])
    folders = [str(agent.folder / "agent") for agent in agents]
    drop(folders, 9000, 0)
    assert 7000 < sum(file.stat().st_size for agent in agents for file in agent.files()) <= 9000
    drop(folders, 0, 0)
    assert [len(agent.files()) for agent in agents] == [1, 1, 1]
    assert [agent.again().head for agent in agents] == [100, 100, 100]


@pytest.mark.parametrize("limits", [Limits(segment=3000), Limits(segment=3000, bytes=60_000)])
def test_readers_in_other_threads_miss_nothing_or_hear_of_it(tmp_path: Path, limits: Limits) -> None:
    kept = Kept(tmp_path, limits)
    most = 5000

    def follow(pause: int) -> list[int] | Exception:
        seen: list[int] = []
        cursor = Cursor(kept.log)
        cursor.seek(0)
        try:
            while cursor.position < most:
                batches = cursor.take()
                if isinstance(batches, Gap):
                    assert limits.bytes == 60_000
                    cursor.join()
                    seen = list(range(1, cursor.position + 1))
                    continue
                for batch in batches:
                    seen += range(batch.first, batch.last + 1)
                if pause and len(seen) % pause == 0:
                    os.sched_yield()
        finally:
            cursor.close()
        return seen

    with ThreadPoolExecutor(4) as threads:
        following = [threads.submit(follow, pause) for pause in (0, 1, 3, 100)]
        for number in range(most):
            kept.log.append([events.SessionNamed(str(number))])
        for each in following:
            assert each.result(60) == list(range(1, most + 1))


WRITER = """
import sys
from linnet.core.events import SessionNamed
from linnet.eventlog.event_log import EventLog, Limits
from linnet.eventlog.reserved import Reserved
log = EventLog(sys.argv[1] + "/agent", Reserved(sys.argv[1] + "/reserved"), lambda: 0, Limits(segment=3000))
while True:
    print(log.append([SessionNamed(str(log.head + 1))]), flush=True)
"""


def test_what_was_told_is_there_after_a_kill(tmp_path: Path) -> None:
    seen = 0
    for told in (50, 1, 300):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            numbers = [int(writer.stdout.readline()) for _ in range(told)]
            writer.kill()
            numbers += map(int, writer.stdout.read().splitlines())
        assert numbers[0] > seen
        seen = numbers[-1]
        log = Kept(tmp_path).log
        assert log.head >= seen
        found = all_after(log, 0)
        assert not isinstance(found, Gap)
        assert found == [(number, events.SessionNamed(str(number))) for number in range(1, log.head + 1)]
        log.close()


@pytest.mark.parametrize("moment", ["begin", "_write"])
def test_nothing_is_missing_after_a_kill_between_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    class Killed(BaseException): ...

    def killed(*_: object) -> None:
        raise Killed

    log = EventLog(str(tmp_path / "agent"), Reserved(str(tmp_path / "reserved")), lambda: 0, Limits(segment=300))
    log.append([events.SessionNamed("1" * 300)])
    with monkeypatch.context() as patched:
        patched.setattr(Segment, moment, killed)
        with pytest.raises(Killed):
            log.append([events.SessionNamed("2")])  # It wants another file.
    again = EventLog(str(tmp_path / "agent"), Reserved(str(tmp_path / "reserved")), lambda: 0, Limits(segment=300))
    assert again.append([events.SessionNamed("2")]) == 2
    assert all_after(again, 0) == [(1, events.SessionNamed("1" * 300)), (2, events.SessionNamed("2"))]
    again.close()


def test_a_long_reply_does_not_begin_a_file_with_every_piece(kept: Kept) -> None:
    for _ in range(200):
        kept.log.append(words("x" * 100))
    assert len(kept.files()) < 20


def test_who_joins_is_told_what_comes_with_all_that_is_open(kept: Kept) -> None:
    before: list[Event] = [events.JobStarted("prompt"), events.RunStarted(), events.StepStarted(1)]
    before += [events.ReplyStarted("api", "p", "m", 1), events.PartStarted(0, "text"), events.TextGrew(0, "Hello")]
    kept.log.append(before)
    follower = Follower(kept.log, Pi().encoder, "seq")
    assert follower.take() is not None  # One that has not said from where is told everything.
    follower.join()
    kept.log.append(words(" there"))
    told = follower.take()
    assert told is not None
    assert not isinstance(told, Gap)
    [line] = [json.loads(b"".join(buffers)) for buffers in told]
    assert line["message"]["content"] == [{"type": "text", "text": "Hello there"}]
    assert line["seq"] == len(before) + 1
    assert follower.seek(99) == Gap(99)


def test_a_number_that_nobody_was_told_is_a_gap(kept: Kept) -> None:
    kept.log.append(words("a"))
    assert all_after(kept.log, 2) == Gap(2)


def test_readers_are_called_when_there_is_more(kept: Kept) -> None:
    calls: list[int] = []

    def tell() -> None:
        calls.append(kept.log.head)

    kept.log.listen(tell)
    kept.log.append(words("a", "b"))
    kept.log.unlisten(tell)
    kept.log.append(words("c"))
    assert calls == [2]


def test_events_of_a_child_are_told_apart(kept: Kept) -> None:
    kept.log.append(words("a"))
    kept.log.append(words("of the child"), parent="call_1")
    cursor = Cursor(kept.again())
    cursor.seek(0)
    found: list[Numbered] = []
    while batches := cursor.take():
        assert not isinstance(batches, Gap)
        found += batches
    assert [(batch.first, batch.parent) for batch in found] == [(1, ""), (2, "call_1")]


def test_who_reads_a_file_when_it_and_the_next_are_dropped_hears_of_a_gap(tmp_path: Path) -> None:
    kept = Kept(tmp_path, Limits(segment=1000))
    fill(kept, 3)
    cursor = Cursor(kept.log)
    cursor.seek(0)
    seen = 0
    while isinstance(batches := cursor.take(), list):
        for file in kept.files()[:-1]:
            file.unlink()
        assert batches
        assert batches[0].first == seen + 1
        seen = batches[-1].last
    assert batches == Gap(seen)


def test_files_are_dropped_in_their_order_whatever_the_clock_says(tmp_path: Path) -> None:
    kept = Kept(tmp_path, Limits(segment=1000))
    fill(kept, 5)
    files = kept.files()
    for seconds, file in zip((500, 100, 100, 900, 50), files, strict=True):  # The clock went back, or stood still.
        os.utime(file, (seconds, seconds))
    drop([str(tmp_path / "agent")], sum(file.stat().st_size for file in files) - 1, 0)
    assert kept.files() == files[1:]
    drop([str(tmp_path / "agent")], 1, 0)
    assert kept.files() == files[-1:]


def fill(kept: Kept, files: int) -> None:
    """Add events until there are so many files, which differ in size."""
    while len(kept.files()) < files:
        kept.log.append(words("x" * (500 + 100 * len(kept.files()))))


@pytest.mark.parametrize("lost", [b"", b"\0" * 100, None])
def test_no_number_is_given_twice_by_a_process_that_loses_the_newest_file(kept: Kept, lost: bytes | None) -> None:
    fill(kept, 3)
    kept.log.close()
    before = kept.log.head
    if lost is None:
        kept.files()[-1].unlink()
    else:
        kept.files()[-1].write_bytes(lost)
    log = EventLog(str(kept.folder / "agent"), kept.reserved, lambda: kept.now, kept.limits, least=before)
    assert log.head >= before
    assert log.append(words("b")) > before
    assert all_after(log, before) == Gap(before)


def test_no_number_is_given_twice_where_all_files_and_those_that_were_reserved_are_lost(kept: Kept) -> None:
    kept.log.append(words("a", "b"))
    for file in kept.files():
        file.unlink()
    (kept.folder / "agent").rmdir()
    (kept.folder / "reserved").unlink()
    reserved = Reserved(str(kept.folder / "reserved"))
    log = EventLog(str(kept.folder / "agent"), reserved, lambda: kept.now, kept.limits, least=2)
    assert log.append(words("c")) > 2
    assert all_after(log, 2) == Gap(2)


@pytest.mark.parametrize("harm", ["cut", "emptied", "removed", "lengthened"])
def test_a_file_that_somebody_changes_while_it_is_written_to_is_a_gap(kept: Kept, harm: str) -> None:
    kept.log.append(words("a"))
    kept.log.append(words("b"))
    file = kept.files()[0]
    lines = file.read_bytes().splitlines(keepends=True)
    match harm:
        case "cut":
            file.write_bytes(b"".join(lines[:-1]))
            assert all_after(kept.log, 0) == Gap(1)  # Also before anything else is written.
        case "emptied":
            file.write_bytes(b"")
        case "removed":
            file.unlink()
        case _:
            file.write_bytes(b"".join(lines) + b"half a line")
    assert kept.log.append(words("c")) == 3
    for log in (kept.log, kept.again()):
        assert log.head == 3
        assert texts(all_after(log, 3)) == []
        assert isinstance(all_after(log, 0), Gap)


def test_what_is_being_written_is_not_read(kept: Kept) -> None:
    """Of a batch that the disk has no room for, whole lines may be in the file for a moment."""
    kept.log.append(words("a"))
    size = kept.files()[0].stat().st_size
    with kept.files()[0].open("ab") as file:
        file.write(b'{"n":2,"e":[["text",[[0,"early"]]]]}\n')
    reading = segment.Reading(str(kept.folder / "agent"), 1)
    assert [batch.events for batch in reading.batches(size)] == [words("a")]
    reading.close()


def test_a_log_that_is_closed_writes_nothing(kept: Kept) -> None:
    kept.log.append(words("a"))
    kept.log.close()
    before = [(file, file.read_bytes()) for file in kept.files()]
    kept.log.append(words("late"))
    assert [(file, file.read_bytes()) for file in kept.files()] == before


def test_a_log_that_is_settled_is_closed_and_read_again_without_a_write(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.log.append(words("a"))
    kept.log.settle()
    before = [(file, file.read_bytes()) for file in kept.files()]
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda fd: pytest.fail("it waits for the disk"))
        kept.log.settle()
        kept.log.close()
        kept.again().close()
    assert [(file, file.read_bytes()) for file in kept.files()] == before


def test_what_comes_after_a_log_was_settled_may_be_lost_with_the_machine(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    for word in "ab":
        kept.log.append(words(word))
        kept.log.settle()
    monkeypatch.setattr(event_log, "boot", lambda: "another")
    assert kept.again().append(words("c")) == 3
    monkeypatch.setattr(event_log, "boot", lambda: "a third")
    assert kept.again().append(words("d")) > BLOCK
