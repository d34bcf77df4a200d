"""A session whose log may wait: what is told, when, in which order; and what becomes of it when the log refuses."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event as Signal
from threading import Thread
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnet.concurrency.cancel import CancelToken
from linnet.core import commands
from linnet.core.events import (
    Event,
    HookFailed,
    JobStarted,
    Navigated,
    ReplyStarted,
    RunEnded,
    SessionEntered,
    SessionFailed,
    Settled,
    ThinkingSet,
    UserSaid,
)
from linnet.errors import LinnetError, LogRefused
from linnet.runtime.config.config import PI, Config
from linnet.runtime.listener import Listener
from linnet.runtime.requester import Requester
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.sessions import telling
from linnet.runtime.settings.settings import resolve
from linnet.store.factory import LogFactory, MemoryLogs
from linnet.testing.slow_log import Happening, SlowLog, SlowLogs

TURNS: list[Any] = [
    [{"text": "one "}, {"call": "ls", "args": {}}],
    *([{"text": f"answer {number}"}] for number in range(12)),
]
NOW = 1_767_268_800_000


@pytest.fixture(autouse=True, scope="module")
def no_patience() -> Iterator[None]:
    """What failed is tried again at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(telling, "DELAYS", (0.0, 0.001))
        yield


class Story(Listener):
    """All that is told and answered, in one order. `told_too_early` is what was told before it was written."""

    def __init__(self, logs: LogFactory) -> None:
        self.logs = logs
        self.told: list[Any] = []
        self.told_too_early: list[Any] = []
        self.warnings: list[str] = []
        self.faults: list[LinnetError] = []
        self.broken = Signal()
        self.idles = 0
        self.then: Callable[[Event], None] = lambda event: None

    def hear(self, events: Sequence[Event]) -> None:
        for event in events:
            self.told.append(_comparable(event))
            early = isinstance(event, SessionFailed | ReplyStarted)  # The id is that of a message to come.
            self.check("" if early else getattr(event, "id", ""))
            self.then(event)

    def warned(self, sentence: str) -> None:
        self.warnings.append(sentence)

    def broke(self, error: LinnetError) -> None:
        self.faults.append(error)
        self.broken.set()

    def idle(self) -> None:
        self.idles += 1

    def check(self, mark: str) -> None:
        if mark and isinstance(self.logs, SlowLogs):
            keys = self.logs.keys()
            if not any(json.dumps(mark).encode() in line for key in keys for line in self.logs.lines(key)):
                self.told_too_early.append(mark)

    @property
    def events(self) -> list[Any]:
        """What was told, but for what only a log that fails makes known."""
        return [told for told in self.told if not isinstance(told, SessionFailed)]


class Asked(Requester):
    def __init__(self, story: Story, command: commands.Command) -> None:
        self.story = story
        self.command = command
        self.answers: list[commands.Answer] = []
        self.refusals: list[LinnetError] = []
        self.over = Signal()

    def accepted(self, *, queued: bool, asked: bool = False) -> None:
        self.story.told.append((type(self.command).__name__, "accepted"))

    def started(self) -> None:
        self.story.told.append((type(self.command).__name__, "started"))

    def finished(self, answer: commands.Answer) -> None:
        self.answers.append(answer)
        self.story.told.append((type(self.command).__name__, _answer(answer)))
        if isinstance(self.command, commands.SetSessionName):
            self.story.check(self.command.name)
        self.over.set()

    def refused(self, error: LinnetError) -> None:
        self.refusals.append(error)
        self.story.told.append((type(self.command).__name__, "refused", str(error)))
        self.over.set()


def _comparable(event: Event) -> Any:
    if isinstance(event, SessionEntered):
        return ("entered", event.session_id, event.reason, event.past.ids)
    if isinstance(event, Navigated):
        return ("navigated", event.past.ids)
    return event


def _answer(answer: commands.Answer) -> Any:
    if isinstance(answer, commands.Transcript | commands.SessionStats | commands.AgentState):
        return (type(answer).__name__, len(answer.messages))
    return answer


class Opened:
    """A session with a scripted model; ids count, and the clock stands still."""

    def __init__(self, folder: str, logs: LogFactory, turns: list[Any] = TURNS) -> None:
        script = Path(folder, "script.json")
        script.write_text(json.dumps({"turns": turns}))
        asked = Config(script=script, cwd=folder, save=True)
        config = resolve(asked, {"LINNET_HOME": f"{folder}/home"}, PI)
        ids, sessions = count(1), count(1)
        self.story = Story(logs)
        self.session = Session(
            Resources(config),
            [self.story],
            clock=lambda: NOW,
            new_id=lambda: f"{next(ids):08x}",
            new_session_id=lambda: f"session-{next(sessions)}",
            logs=logs,
        )

    def ask(self, command: commands.Command) -> Asked:
        asked = Asked(self.story, command)
        self.session.submit(command, asked)
        return asked

    def decide(self, command: commands.Command) -> Asked:
        """Submit it, and wait until nothing runs; it may not have been told."""
        asked = self.ask(command)
        self.session.jobs.wait(None)
        return asked


@contextmanager
def opened(logs: LogFactory, turns: list[Any] = TURNS) -> Iterator[Opened]:
    with TemporaryDirectory() as folder:
        session = Opened(folder, logs, turns)
        try:
            yield session
        finally:
            session.session.close()


asks: st.SearchStrategy[commands.Command] = st.sampled_from(
    [
        commands.Prompt("go"),
        commands.Prompt("go"),
        commands.SetThinking("low"),
        commands.SetThinking("high"),
        commands.SetSessionName("a-name"),
        commands.NewSession(),
        commands.CloneSession(),
        commands.Navigate(None),
        commands.Clear(),
        commands.GetState(),
        commands.GetMessages(),
        commands.Abort(),
        commands.SwitchSession("session-1"),
    ]
)
passing: st.SearchStrategy[Happening] = st.sampled_from(["works", "fails", "is lost"])


def lines(logs: LogFactory, keys: Sequence[str]) -> dict[str, list[bytes]]:
    return {key: list(logs.read(key).lines) for key in keys}


@settings(max_examples=40, deadline=None)
@given(st.lists(asks, max_size=8), st.lists(passing, max_size=20))
def test_whatever_fails_in_passing_everybody_hears_the_same_as_with_a_log_in_memory_and_not_before_it_is_written(
    asked: list[commands.Command], script: list[Happening]
) -> None:
    memory, slow = MemoryLogs(), SlowLogs()
    with opened(memory) as expected:
        for command in asked:
            expected.decide(command)
    with opened(slow) as session:
        slow.script.extend(script)
        for command in asked:
            session.decide(command)
        session.session.finish()
        assert session.story.told_too_early == []
        assert session.story.events == expected.story.events
    assert lines(slow, slow.keys()) == lines(memory, memory.keys())
    assert (session.story.warnings, session.story.faults) == ([], [])


class Gate:
    """What a log waits for."""

    def __init__(self) -> None:
        self.open = Signal()
        self.reached = Signal()

    def __call__(self) -> None:
        self.reached.set()
        self.open.wait()


def test_what_must_be_written_is_not_told_before_nor_is_what_comes_after_it() -> None:
    gate, logs = Gate(), SlowLogs()
    with opened(logs) as session:
        session.session.finish()
        logs.before = gate
        assert session.decide(commands.GetState()).answers  # Nothing waits, so it is answered at once.
        session.decide(commands.Prompt("go"))
        before = session.story.told
        assert [told for told in before if isinstance(told, UserSaid)] == []
        assert session.story.idles == 0  # Somebody who ends when nothing is left to do would miss what waits.
        later = [session.decide(commands.GetMessages()), session.decide(commands.GetState())]
        session.decide(commands.Prompt("again"))
        assert [each.answers for each in later] == [[], []]
        was_busy = session.session.busy
        gate.open.set()
        session.session.finish()
        assert (was_busy, session.session.busy, session.story.idles > 0) == (True, False, True)
        # They say what held when they were asked, though more has been said by the time they are told.
        assert [_answer(answer) for each in later for answer in each.answers] == [("Transcript", 4), ("AgentState", 4)]
        names = [told[0] for told in session.story.told if isinstance(told, tuple)]
        assert names == ["GetState", *["Prompt"] * 3, "GetMessages", "GetState", *["Prompt"] * 3]


def test_whoever_comes_back_to_a_session_before_it_is_written_goes_on_with_it() -> None:
    """To open it anew would be to refuse what is still to be written there."""
    gate, logs = Gate(), SlowLogs()
    closed: list[tuple[str, int]] = []
    with opened(logs) as session, pytest.MonkeyPatch.context() as patch:
        patch.setattr(SlowLog, "close", lambda log: closed.append((log.key, len(logs.lines(log.key)))))
        session.session.finish()
        logs.before = gate
        for _ in range(2):
            session.decide(commands.SetSessionName("first"))
            session.decide(commands.NewSession())
            session.decide(commands.SetSessionName("another"))
            session.decide(commands.SwitchSession("session-1"))
        session.decide(commands.SetSessionName("last"))
        session.decide(commands.NewSession())
        gate.open.set()
        session.session.finish()
        answers = [told for told in session.story.told if isinstance(told, tuple) and "refused" in told]
        assert answers == []
        assert logs.read("session-1").index.name == "last"
        assert [logs.read(f"session-{number}").index.name for number in (2, 3)] == ["another"] * 2
        assert closed == [(f"session-{number}", len(logs.lines(f"session-{number}"))) for number in (2, 3, 1)]


def test_a_log_that_cannot_be_reached_is_told_once_for_each_time_that_it_is_lost() -> None:
    logs = SlowLogs()
    with opened(logs) as session:
        session.session.finish()
        for _ in range(2):
            logs.script.extend(["fails", "fails", "is lost", "fails", "works"])
            session.ask(commands.SetThinking("low")).over.wait()
            session.ask(commands.SetThinking("high")).over.wait()
            session.session.finish()
        failures = [told for told in session.story.told if isinstance(told, SessionFailed)]
        assert [each.error for each in failures] == ["the log cannot be reached; trying again"] * 2
        assert {each.path for each in failures} == {"session-1"}


def bash(command: str) -> dict[str, Any]:
    return {"call": "bash", "args": {"command": command}}


def test_an_abort_waits_for_nothing_that_is_to_be_written() -> None:
    gate, logs = Gate(), SlowLogs()
    with opened(logs, [[bash("sleep 1000")], [{"text": "never"}]]) as session:
        session.session.finish()
        logs.before = gate
        asked = session.ask(commands.Prompt("go"))
        gate.reached.wait()
        aborted = session.ask(commands.Abort())
        session.session.jobs.wait(None)  # The run has ended, and the command with it, while the log still waits.
        assert not aborted.over.is_set()
        assert not asked.over.is_set()
        gate.open.set()
        session.session.finish()
        assert [type(answer) for answer in asked.answers] == [commands.Done]
        [ended] = [told for told in session.story.told if isinstance(told, RunEnded)]
        assert ended.stop == "aborted"
        assert isinstance(session.story.events[-2], Settled)


def test_what_somebody_who_is_told_asks_for_is_told_to_all_after_what_they_are_being_told() -> None:
    logs = SlowLogs()
    with opened(logs) as session:
        second = Story(logs)
        told = session.session._broadcast.telling
        assert told is not None
        told._listeners.append(second)
        broadcast = session.session._broadcast

        def fail(event: Event) -> None:
            if not isinstance(event, HookFailed):
                broadcast.publish_locked([HookFailed("an extension", "event", "it broke")])
                session.ask(commands.SetThinking("low"))

        session.session.finish()
        session.story.then = lambda event: fail(event) if isinstance(event, JobStarted) else None
        session.decide(commands.Prompt("go"))
        session.session.finish()
        events = [each for each in session.story.told if not isinstance(each, tuple)]
        assert second.told == events
        assert [type(each) for each in events[:3]] == [JobStarted, HookFailed, ThinkingSet]


def test_a_full_queue_is_felt_where_a_run_paces_itself_and_an_abort_ends_that() -> None:
    gate, logs = Gate(), SlowLogs()
    with opened(logs) as session:
        session.session.finish()
        logs.before = gate
        broadcast = session.session._broadcast
        session.ask(commands.SetThinking("low"))
        assert not broadcast.is_behind()
        for _ in range(telling.ROOM):
            session.ask(commands.GetState())
        assert broadcast.is_behind()
        assert broadcast.lock.acquire(blocking=False)
        broadcast.lock.release()
        behind: list[bool] = []

        def pace(cancel: CancelToken) -> None:
            broadcast.pace(cancel)
            behind.append(broadcast.is_behind())

        aborted = CancelToken()
        first = Thread(target=pace, args=(aborted,))
        first.start()
        aborted.set()
        first.join()
        second = Thread(target=pace, args=(CancelToken(),))
        second.start()
        gate.open.set()
        second.join()
        assert behind == [True, False]
        session.session.finish()
        assert not broadcast.is_behind()
        assert broadcast.telling is not None
        writer = broadcast.telling._thread
    assert writer is not None
    writer.join()  # It ends with the session.


@settings(max_examples=40, deadline=None)
@given(
    st.lists(asks, min_size=1, max_size=6),
    st.lists(passing, max_size=6).map(lambda before: [*before, "is refused"]),
)
def test_once_an_entry_is_refused_nothing_behind_it_is_told_and_whoever_waits_is_refused_for_that_reason(
    asked: list[commands.Command], script: list[Happening]
) -> None:
    memory, slow = MemoryLogs(), SlowLogs()
    with opened(memory) as expected:
        for command in asked:
            expected.decide(command)
    with opened(slow) as session:
        slow.script.extend(script)
        story = session.story
        answers = [session.decide(command) for command in asked]
        session.session.finish()
        last = session.ask(commands.GetState())
        last.over.wait()
        if not last.refusals:
            return  # Less was written than the script has in store.
        story.broken.wait()
        told = [each for each in story.events if not (isinstance(each, tuple) and "refused" in each[1:])]
        assert told == expected.story.events[: len(told)]
        assert story.told_too_early == []
        assert all(each.over.is_set() for each in answers)
        assert all(len(each.answers) + len(each.refusals) == 1 for each in answers)
        reasons = {str(error) for each in [*answers, last] for error in each.refusals if isinstance(error, LogRefused)}
        assert len(reasons) == 1
        assert [type(fault) for fault in story.faults] == [LogRefused]


def test_an_agent_whose_log_has_another_owner_ends_at_once_with_all_that_it_started(tmp_path: Path) -> None:
    logs = SlowLogs()
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    with opened(logs, [[bash(f"echo $$ > {begun}; sleep 1000")], [{"text": "never"}]]) as session:
        session.session.finish()
        asked = session.ask(commands.Prompt("go"))
        pid = begun.read_text().strip()
        session.session._broadcast.drain()
        told = len(session.story.told)
        logs.take_over("session-1")
        named = session.ask(commands.SetSessionName("mine"))
        for each in (named.over, asked.over, session.story.broken):
            each.wait()
        assert [type(fault) for fault in session.story.faults] == [LogRefused]
        assert [str(error) for each in (named, asked) for error in each.refusals] == [
            "the session session-1 cannot be written to any more: it has another owner by now; this agent has ended"
        ] * 2
        assert [type(each) for each in session.story.told[told:]] == [tuple, tuple]
        assert not Path("/proc", pid).exists()


def test_what_could_not_be_saved_when_the_agent_ends_is_said_to_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    from linnet.runtime import session as module

    monkeypatch.setattr(module, "ENDING", 0.1)
    logs = SlowLogs()
    with opened(logs) as session:
        session.session.finish()
        logs.script.extend(["fails"] * 100_000)
        named = session.ask(commands.SetSessionName("mine"))
        session.session.close()
        assert session.story.warnings == [telling.UNSAVED]
        assert [str(error) for error in named.refusals] == [telling.UNSAVED]
        logs.script.clear()


def close_and_join(session: Opened) -> None:
    """Close it, and wait until the thread that writes has ended."""
    told = session.session._broadcast.telling
    assert told is not None
    writer = told._thread
    session.session.close()
    if writer is not None:
        writer.join()


def test_a_session_that_nothing_came_of_is_closed_twice_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is taken away by each `close`, and the second comes when the thread that does so has ended."""
    from linnet.runtime import session as module

    monkeypatch.setattr(module, "ENDING", 0.1)
    logs = SlowLogs()
    with opened(logs) as session:
        close_and_join(session)
        session.session.close()
        assert session.story.warnings == []
        assert not session.session.busy
        assert logs.keys() == []


def test_what_is_asked_for_by_whoever_is_told_after_the_end_is_answered() -> None:
    with opened(SlowLogs()) as session:
        close_and_join(session)
        nested: list[Asked] = []
        session.session.tell(lambda: nested.append(session.ask(commands.GetState())))
        nested[0].over.wait()
        session.session.finish()
        assert not session.session.busy


class OpenedSlowly(SlowLogs):
    def __init__(self, gate: "Gate") -> None:
        super().__init__()
        self._gate = gate

    def open(self, key: str) -> Any:
        self._gate()
        return super().open(key)


def test_a_switch_to_a_session_that_is_still_read_when_the_agent_ends_is_refused_and_lets_go_of_it() -> None:
    gate, closed = Gate(), Signal()
    logs = OpenedSlowly(gate)
    with opened(logs) as session, pytest.MonkeyPatch.context() as patch:
        session.decide(commands.SetSessionName("first"))
        session.decide(commands.NewSession())
        session.decide(commands.SetSessionName("second"))  # Or else it would be opened, to be taken away.
        session.session.finish()
        patch.setattr(SlowLog, "close", lambda log: closed.set() if log.key == "session-1" else None)
        asked: list[Asked] = []
        switching = Thread(target=lambda: asked.append(session.ask(commands.SwitchSession("session-1"))))
        switching.start()
        gate.reached.wait()
        close_and_join(session)
        closed.clear()
        gate.open.set()
        switching.join()
        asked[0].over.wait()
        closed.wait()
        assert [type(error).__name__ for error in asked[0].refusals] == ["Closed"]


def test_what_is_said_when_the_log_was_let_go_of_is_said_to_be_lost_and_whoever_waits_is_refused() -> None:
    """A run that takes longer to end than anybody waits for it."""
    logs = SlowLogs()
    with opened(logs) as session:
        session.decide(commands.SetSessionName("mine"))
        close_and_join(session)
        before = logs.lines("session-1")
        broadcast = session.session._broadcast
        with broadcast.lock:
            broadcast.publish_locked([ThinkingSet("low")])
        asked = session.ask(commands.GetState())
        asked.over.wait()
        broadcast.drain()
        assert [str(error) for error in asked.refusals] == [telling.UNSAVED]
        assert session.story.warnings == [telling.UNSAVED]
        assert session.story.faults == []  # Others of this client go on.
        assert logs.lines("session-1") == before


def test_whoever_is_being_answered_as_the_agent_ends_is_not_refused_as_well() -> None:
    answering, go_on = Signal(), Signal()

    class Slow(Asked):
        def finished(self, answer: commands.Answer) -> None:
            answering.set()
            go_on.wait()
            super().finished(answer)

    gate, logs = Gate(), SlowLogs()
    with opened(logs) as session:
        session.session.finish()
        logs.before = gate
        session.ask(commands.SetThinking("low"))
        asked = Slow(session.story, commands.GetState())
        session.session.submit(asked.command, asked)
        gate.open.set()
        answering.wait()
        session.session._broadcast.close(0.0)
        refused = list(asked.refusals)
        go_on.set()
        asked.over.wait()
        assert refused == []
        assert len(asked.answers) == 1


def test_whoever_ends_when_nothing_is_owed_is_told_so_if_no_job_was_the_reason() -> None:
    gate, logs = Gate(), SlowLogs()
    with opened(logs) as session:
        session.session.finish()
        logs.before = gate
        asked = session.ask(commands.SetThinking("low"))
        session.session.end_input()
        was_busy = session.session.busy
        gate.open.set()
        asked.over.wait()
        close_and_join(session)
        assert was_busy
        assert session.story.idles == 1


def test_who_switches_twice_to_a_session_before_the_first_has_happened_is_not_another_owner() -> None:
    logs = SlowLogs()
    with opened(logs, [[bash("sleep 1000")], *TURNS]) as session:
        session.decide(commands.SetSessionName("first"))
        session.decide(commands.NewSession())
        session.session.finish()
        with session.session._broadcast.lock:  # All of it is asked for before the run has ended.
            run = session.ask(commands.Prompt("go"))
            asked = [
                session.ask(command)
                for command in (
                    commands.SwitchSession("session-1"),
                    commands.Prompt("hello", when_busy="wait"),
                    commands.SwitchSession("session-1"),
                )
            ]
        for each in (run, *asked):
            each.over.wait()
        session.session.finish()
        assert session.story.faults == []
        assert [each.refusals for each in asked] == [[], [], []]
        assert session.session.id == "session-1"


@settings(max_examples=40, deadline=None)
@given(st.lists(asks, max_size=5), st.lists(asks, min_size=1, max_size=5), st.lists(passing, max_size=4))
def test_whatever_is_asked_before_and_after_the_end_is_answered_once(
    before: list[commands.Command], after: list[commands.Command], script: list[Happening]
) -> None:
    logs = SlowLogs()
    with opened(logs) as session:
        logs.script.extend(script)
        asked = [session.ask(command) for command in before]
        session.session.close()
        logs.script.extend(script)
        asked += [session.ask(command) for command in after]
        session.session.close()
        for each in asked:
            each.over.wait()
        session.session.finish()
        assert [len(each.answers) + len(each.refusals) for each in asked] == [1] * len(asked)
        assert not session.session.busy


def test_an_agent_that_cannot_be_ended_is_said_to_be_over_all_the_same() -> None:
    logs = SlowLogs()
    with opened(logs) as session:
        session.session.finish()
        told = session.session._broadcast.telling
        assert told is not None
        ended = told._ended

        def fail() -> None:
            ended()
            raise OSError("no")

        told._ended = fail
        logs.take_over("session-1")
        named = session.ask(commands.SetSessionName("mine"))
        session.story.broken.wait()
        session.session.finish()
        assert [type(error) for error in named.refusals] == [LogRefused]
        assert not session.session.busy
