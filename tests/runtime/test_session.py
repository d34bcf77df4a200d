"""A session in this process: real tools, a scripted model, and whatever is asked of it in whatever order."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import Any

import pytest

from linnet.core import commands
from linnet.core.cancel import Cancel
from linnet.core.deltas import Delta
from linnet.core.events import (
    BashHeld,
    BashRan,
    Cleared,
    Event,
    JobStarted,
    ModelSet,
    Navigated,
    RunEnded,
    SessionEntered,
    SessionNamed,
    Settled,
    ThinkingSet,
    ToolFinished,
    ToolStarted,
    UserSaid,
)
from linnet.core.loop.run import NOT_RUN
from linnet.core.messages import Text
from linnet.core.models import Model
from linnet.providers.base import Provider, Request
from linnet.runtime.config.config import PI, ZOT, Config
from linnet.runtime.listener import Listener
from linnet.runtime.resources import Resources
from linnet.runtime.session import Session
from linnet.runtime.settings.settings import Settings, resolve
from linnet.testing.listener import Asking

Open = Callable[..., tuple[Session, "Everything"]]


class Everything(Listener):
    """Hears all there is, and may do something about it in the very moment."""

    def __init__(self) -> None:
        self.heard: list[Event] = []
        self.then: Callable[[Event], None] = lambda event: None

    def hear(self, events: Any) -> None:
        for event in events:
            self.heard.append(event)
            self.then(event)

    def kinds(self, *types: type) -> list[type]:
        return [type(event) for event in self.heard if isinstance(event, types)]


@pytest.fixture
def opened(tmp_path: Path) -> Any:
    sessions: list[Session] = []

    def open_session(turns: list[Any], habits: Config = PI, **options: Any) -> tuple[Session, Everything]:
        script = tmp_path / "script.json"
        script.write_text(json.dumps({"turns": turns}))
        asked = Config(script=script, cwd=tmp_path, **options)
        settings = resolve(asked, {"LINNET_HOME": str(tmp_path / "home")}, habits)
        everything = Everything()
        session = Session(Resources(settings), [everything])
        sessions.append(session)
        return session, everything

    yield open_session
    for session in sessions:
        session.close()


def ask(session: Session, command: commands.Command) -> commands.Answer:
    asking = Asking()
    session.submit(command, asking)
    session.finish()
    assert asking.refusals == []
    return asking.answers[-1]


def bash(command: str) -> dict[str, Any]:
    return {"call": "bash", "args": {"command": command}}


# Each waits until the other has begun.
MEETING = (
    "touch a; until [ -e b ]; do sleep 0.01; done; echo one",
    "touch b; until [ -e a ]; do sleep 0.01; done; echo two",
)


def test_calls_run_side_by_side_where_that_is_wanted_and_are_told_in_their_order(opened: Open) -> None:
    session, everything = opened([[bash(MEETING[0]), bash(MEETING[1])], [{"text": "done"}]], calls_at_once=2)
    assert ask(session, commands.Prompt("go")) == commands.Done("end")
    kinds = everything.kinds(ToolStarted, ToolFinished)
    assert kinds == [ToolStarted, ToolStarted, ToolFinished, ToolFinished]
    results = [event.result for event in everything.heard if isinstance(event, ToolFinished)]
    assert [result.call_id for result in results] == ["call_1", "call_2"]


@pytest.mark.parametrize("at_once", [1, 2])
def test_a_call_that_is_aborted_as_it_is_announced_does_not_run(opened: Open, tmp_path: Path, at_once: int) -> None:
    written = {"call": "write", "args": {"path": "ran", "content": "x"}}
    session, everything = opened([[written, written]], calls_at_once=at_once)

    def abort(event: Event) -> None:
        if isinstance(event, ToolStarted):
            session.submit(commands.Abort(), Asking())

    everything.then = abort
    assert ask(session, commands.Prompt("go")) == commands.Done("aborted")
    assert not (tmp_path / "ran").exists()
    results = [event.result for event in everything.heard if isinstance(event, ToolFinished)]
    assert [result.content for result in results] == [(Text(NOT_RUN),)] * 2


def test_an_abort_ends_all_calls_that_run_side_by_side(opened: Open, tmp_path: Path) -> None:
    hang = "touch up$$; sleep 61.5"
    session, everything = opened([[bash(hang), bash(hang), bash("touch never")]], calls_at_once=2)
    begun: list[Event] = []

    def abort_when_both_run(event: Event) -> None:
        if isinstance(event, ToolStarted):
            begun.append(event)
            if len(begun) == 2:
                session.submit(commands.Abort(), Asking())

    everything.then = abort_when_both_run
    assert ask(session, commands.Prompt("go")) == commands.Done("aborted")
    assert everything.kinds(ToolStarted, ToolFinished) == [ToolStarted] * 2 + [ToolFinished] * 2 + [
        ToolStarted,
        ToolFinished,
    ]
    assert not (tmp_path / "never").exists()


def test_what_is_set_and_where_the_conversation_goes_on_are_events(opened: Open) -> None:
    session, everything = opened([[{"text": "one"}]])
    ask(session, commands.Prompt("go"))
    answer = ask(session, commands.GetBranchMessages())
    assert isinstance(answer, commands.BranchMessages)
    for command in (
        commands.SetModel("scripted-2"),
        commands.SetThinking("low"),
        commands.SetSessionName("mine"),
        commands.Navigate(None),
        commands.Clear(),
        commands.Branch(answer.messages[0][0]),
        commands.NewSession(),
    ):
        ask(session, command)
    changes = (ModelSet, ThinkingSet, SessionNamed, Navigated, Cleared, SessionEntered)
    assert everything.kinds(*changes) == [*changes, SessionEntered]


def test_a_prompt_is_answered_when_it_is_over_whoever_asked(opened: Open) -> None:
    session, everything = opened([[{"fail": "no"}], [{"text": "yes"}]], habits=ZOT)
    failed = ask(session, commands.Prompt("one"))
    assert isinstance(failed, commands.Done)
    assert (failed.stop, failed.error, str(failed.failure)) == ("error", "scripted: no", "scripted: no")
    assert ask(session, commands.Prompt("two")) == commands.Done("end")
    assert everything.kinds(JobStarted, Settled) == [JobStarted, Settled] * 2


def test_messages_have_ids_by_the_time_they_are_told(opened: Open) -> None:
    session, everything = opened([[bash("true")], [{"text": "done"}]])
    ask(session, commands.Prompt("go"))
    told = [event.id for event in everything.heard if isinstance(event, UserSaid | ToolFinished)]
    listed = ask(session, commands.GetEntries())
    assert isinstance(listed, commands.EntryList)
    kept = [json.loads(line)["id"] for line in listed.lines]
    assert all(told)
    assert [id for id in kept if id in told] == told


def test_a_command_that_ends_during_a_run_is_told_after_it(opened: Open, tmp_path: Path) -> None:
    session, everything = opened([[bash("until [ -e go ]; do sleep 0.01; done")], [{"text": "done"}]])
    asking = Asking(finished=lambda answer: (tmp_path / "go").touch())

    def run_a_command(event: Event) -> None:
        if isinstance(event, ToolStarted):
            session.submit(commands.Bash("echo mine"), asking)

    everything.then = run_a_command
    ask(session, commands.Prompt("go"))
    assert everything.kinds(BashHeld, Settled, BashRan) == [BashHeld, Settled, BashRan]


def test_an_answer_that_needs_the_session_is_refused_once_it_is_closed(opened: Open) -> None:
    session, _ = opened([[{"text": "done"}]])
    session.close()
    for command in (commands.GetTree(), commands.Prompt("x"), commands.Bash("true"), commands.NewSession()):
        asking = Asking()
        session.submit(command, asking)
        assert (asking.answers, len(asking.refusals)) == ([], 1)


def test_a_command_that_does_not_end_in_time_is_answered_when_the_session_closes(opened: Open) -> None:
    session, _ = opened([])
    asking = [Asking() for _ in range(5)]
    for each in asking:
        session.submit(commands.Bash("sleep 63.7"), each)
    session.close(timeout=0)
    assert [len(each.answers) + len(each.refusals) for each in asking] == [1] * 5
    session.finish()
    assert [len(each.answers) + len(each.refusals) for each in asking] == [1] * 5


class Slow(Resources):
    """A model that is being asked when the session closes, and takes as long as `may_end` to notice."""

    name = "scripted"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.asked, self.interrupted, self.may_end = Signal(), Signal(), Signal()

    def provider(self, model: Model, cancel: Cancel) -> Provider:
        return self

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        with cancel.interrupting(self.interrupted.set):
            self.asked.set()
            self.interrupted.wait()
            self.may_end.wait()
        yield []


def test_the_end_of_a_run_is_told_however_long_it_takes_to_notice_that_the_session_closes() -> None:
    """On a busy machine half a second is not enough to kill a command, and the run had no last event."""
    config = resolve(Config(provider="scripted", save=False), {}, PI)
    resources, everything = Slow(config), Everything()
    session = Session(resources, [everything])
    session.submit(commands.Prompt("hello"), Asking())
    assert resources.asked.wait(10)
    closing = Thread(target=session.close, args=(0,))
    closing.start()
    assert resources.interrupted.wait(10)
    closing.join(0.2)
    assert closing.is_alive(), "it did not wait for the run"
    resources.may_end.set()
    closing.join(10)
    assert everything.kinds(RunEnded, Settled) == [RunEnded, Settled]


def test_a_listener_that_breaks_does_not_leave_the_session_waiting(opened: Open) -> None:
    session, everything = opened([[{"text": "one"}], [{"text": "two"}]])

    def break_once(event: Event) -> None:
        if isinstance(event, UserSaid):
            everything.then = lambda event: None
            raise ValueError("a listener broke")

    everything.then = break_once
    asking = Asking()
    session.submit(commands.Prompt("go"), asking)
    session.finish()
    assert "a listener broke" in asking.refusals[0]
    assert ask(session, commands.Prompt("again")) == commands.Done("end")


def test_what_the_model_is_sent_has_the_users_words_before_the_images() -> None:
    from linnet.core.inputs import Input
    from linnet.core.messages import Image
    from linnet.runtime.run.prepare import prepared

    image = Image("image/png", "AA==")
    assert prepared(Input("look", (image,), 7)).content == (Text("look"), image)
    assert prepared(Input("", (image,), 7)).content == (image,)
