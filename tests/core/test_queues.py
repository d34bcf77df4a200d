"""What is said while the agent works, at any moment and in any order: none of it is lost, and nobody is heard twice."""

from typing import Literal, TypeAlias

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import Struct

from linnet.core.events import (
    Event,
    QueueChanged,
    QueueMode,
    ReplyEnded,
    RunEnded,
    StepEnded,
    StepStarted,
    ToolFinished,
    UserSaid,
)
from linnet.core.inputs import Input
from linnet.core.loop.limits import Limits
from linnet.core.loop.queues import Queues
from linnet.core.loop.run import SKIPPED, Run
from linnet.core.loop.run_facts import Aborted, Answered, Emit, Fact, Prepare, Prepared, Prompted, Replied
from linnet.core.messages import AssistantMessage, Note, StopReason, Text, ToolCall, ToolResult, Usage, UserMessage
from linnet.runtime.run.prepare import prepared

MODES: tuple[QueueMode, ...] = ("all", "one-at-a-time")
Kind: TypeAlias = Literal["steer", "follow_up"]


class Push(Struct, frozen=True):
    kind: Kind


class SetMode(Struct, frozen=True):
    kind: Kind
    mode: QueueMode


Action: TypeAlias = Push | SetMode | Fact

indices = st.integers(0, 2)
kinds: st.SearchStrategy[Kind] = st.sampled_from(("steer", "follow_up"))
stops: st.SearchStrategy[StopReason] = st.sampled_from(("end", "length", "error", "aborted"))


def said(text: str) -> UserMessage:
    return UserMessage((Text(text),), 0)


def reply(calls: list[str], stop: StopReason = "end") -> Replied:
    content = tuple(ToolCall(id, "read", {}) for id in calls)
    return Replied(AssistantMessage(content, 0, "p", "m", Usage(), "tool_use" if calls else stop))


def answered(index: int) -> Answered:
    return Answered(index, ToolResult("abcdef"[index], "read", (Text("ok"),), 0))


def aborted(index: int) -> Aborted:
    return Aborted(index, answered(index).result, AssistantMessage((), 0, "p", "m", stop="aborted"))


facts: st.SearchStrategy[Fact] = st.one_of(
    st.builds(reply, st.integers(0, 3).map(lambda count: list("abc"[:count])), stops),
    indices.map(answered),
    indices.map(aborted),
)
pushes: st.SearchStrategy[Action] = st.builds(Push, kinds)
actions: st.SearchStrategy[Action] = st.one_of(
    pushes,
    st.builds(SetMode, kinds, st.sampled_from(MODES)),
    facts,
    st.builds(reply, st.just([])),  # More often than chance would have it, a reply that lets somebody speak.
)


class Listener:
    """A second, simpler account of who is heard next, held against the real one at every step."""

    def __init__(self, max_steps: int) -> None:
        self.queues = Queues()
        self.run = Run(Limits(max_steps), Usage(), self.queues)
        self.waiting: dict[Kind, list[Input]] = {"steer": [], "follow_up": []}
        self.modes: dict[Kind, QueueMode] = {"steer": "one-at-a-time", "follow_up": "one-at-a-time"}
        self.pushed = 0
        self.heard: list[UserMessage | Note] = []
        self.events: list[Event] = []
        self.ended: RunEnded | None = None

    def do(self, *actions: Action) -> None:
        for action in actions:
            self._do(action)

    def _do(self, action: Action) -> None:
        match action:
            case Push(kind):
                message = Input(f"{kind} {self.pushed}")
                self.pushed += 1
                self.waiting[kind].append(message)
                (self.queues.steering if kind == "steer" else self.queues.follow_ups).append(message)
            case SetMode("steer", mode):
                self.modes["steer"] = self.queues.steering_mode = mode
            case SetMode(_, mode):
                self.modes["follow_up"] = self.queues.follow_up_mode = mode
            case _:
                self.feed(action)

    def feed(self, fact: Fact) -> None:
        effects = self.run.feed(fact)
        if effects and isinstance(effects[-1], Prepare):
            effects += self.run.feed(Prepared(tuple(map(prepared, effects[-1].inputs))))
        events = [effect.event for effect in effects if isinstance(effect, Emit)]
        self.events += events
        new = [event.message for event in events if isinstance(event, UserSaid)]
        if not isinstance(fact, Prompted):
            self.check_heard(new, events)
        for event in events:
            if isinstance(event, RunEnded):
                assert self.ended is None
                self.ended = event

    def check_heard(self, new: list[UserMessage], events: list[Event]) -> None:
        told = [event for event in events if isinstance(event, QueueChanged)]
        if new:
            kind: Kind = "steer" if self.waiting["steer"] else "follow_up"
            count = len(self.waiting[kind]) if self.modes[kind] == "all" else 1
            expected, self.waiting[kind] = self.waiting[kind][:count], self.waiting[kind][count:]
            assert new == list(map(prepared, expected))
            self.heard += new
            assert told == [QueueChanged(tuple(self.waiting["steer"]), tuple(self.waiting["follow_up"]))]
            assert events.index(told[0]) < events.index(UserSaid(new[0]))
        else:
            assert not told
        assert self.queues.steering == self.waiting["steer"]
        assert self.queues.follow_ups == self.waiting["follow_up"]


@given(st.lists(actions, max_size=40), st.integers(1, 6))
def test_nothing_said_at_any_moment_is_lost_or_heard_out_of_order(arriving: list[Action], max_steps: int) -> None:
    listener = Listener(max_steps)
    listener.do(Prompted((said("go"),)), *arriving)

    left = [prepared(input) for input in (*listener.queues.steering, *listener.queues.follow_ups)]
    assert len(listener.heard) + len(left) == listener.pushed
    for kind in ("steer", "follow_up"):
        mine = [message for message in [*listener.heard, *left] if message.content[0] in texts_of(kind, listener)]
        assert mine == sorted(mine, key=number)
    assert sum(isinstance(event, StepStarted) for event in listener.events) <= max_steps
    if listener.ended:
        assert [m for m in listener.ended.messages if isinstance(m, UserMessage)] == [said("go"), *listener.heard]


def texts_of(kind: str, listener: Listener) -> list[Text]:
    return [Text(f"{kind} {number}") for number in range(listener.pushed)]


def number(message: UserMessage | Note) -> int:
    (text,) = message.content
    assert isinstance(text, Text)
    return int(text.text.split()[1])


@given(st.lists(actions, max_size=40))
@example([Push("follow_up"), reply([])])
@example([reply(["a", "b"]), Push("steer"), answered(0)])
def test_a_run_that_went_well_ends_only_when_nobody_has_anything_to_say(arriving: list[Action]) -> None:
    listener = Listener(max_steps=1000)
    listener.do(Prompted((said("go"),)))
    for action in arriving:
        listener.do(action)
        if listener.ended:
            went_well = listener.ended.stop not in ("error", "aborted")
            assert not (went_well and len(listener.queues))
            break
    else:
        while not listener.ended:  # The agent goes on answering: everybody is heard within as many turns as they need.
            before = len(listener.heard)
            for index in range(3):
                listener.feed(answered(index))
            listener.feed(reply([]))
            assert listener.ended or len(listener.heard) > before
        assert len(listener.heard) == listener.pushed


@given(st.lists(actions, max_size=40), st.integers(1, 4))
def test_what_a_run_leaves_behind_is_heard_by_the_runs_that_follow(arriving: list[Action], max_steps: int) -> None:
    """As the session does it: whatever still waits when a run has ended, however it ended, begins another."""
    listener = Listener(max_steps)
    listener.do(Prompted((said("go"),)))
    for action in arriving:
        listener.do(action)
    if not listener.ended:
        for index in range(3):
            listener.feed(aborted(index))
        listener.feed(reply([], "aborted"))
    heard = list(listener.heard)
    while taken := listener.queues.take_next():
        messages = [prepared(input) for input in taken]
        heard += messages
        run = Run(Limits(max_steps), Usage(), listener.queues)
        run.feed(Prompted(tuple(messages)))
        run.feed(reply([], "error"))
    assert len(heard) == listener.pushed
    assert len(set(map(number, heard))) == listener.pushed


@given(st.lists(actions, max_size=40), st.lists(pushes, min_size=1, max_size=3))
def test_clearing_hands_over_exactly_what_waited(arriving: list[Action], late: list[Action]) -> None:
    listener = Listener(max_steps=5)
    listener.do(Prompted((said("go"),)), *arriving, *late)
    waiting = [*listener.waiting["steer"], *listener.waiting["follow_up"]]
    assert len(listener.queues) == len(waiting) >= len(late)
    assert listener.queues.clear() == waiting
    assert len(listener.queues) == 0
    assert listener.queues.clear() == []


@given(st.integers(2, 6), st.data())
def test_steering_lets_the_running_call_finish_and_answers_the_rest(count: int, data: st.DataObject) -> None:
    calls = list("abcdef"[:count])
    finished = data.draw(st.integers(1, len(calls) - 1))
    listener = Listener(max_steps=5)
    listener.do(Prompted((said("go"),)))
    listener.do(reply(calls))
    for index in range(finished - 1):
        listener.do(answered(index))
    listener.do(Push("steer"))
    listener.do(answered(finished - 1))

    results = [event.result for event in listener.events if isinstance(event, ToolFinished)]
    assert [each.call_id for each in results] == calls
    assert [each.content == (Text(SKIPPED),) for each in results] == [n >= finished for n in range(len(calls))]
    (step,) = [event for event in listener.events if isinstance(event, StepEnded)]
    assert step.results == tuple(results)
    assert listener.heard == [said("steer 0")]


def test_a_follow_up_waits_while_the_agent_has_calls_to_make() -> None:
    listener = Listener(max_steps=5)
    listener.do(Prompted((said("go"),)), Push("follow_up"), reply(["a", "b"]))
    for index in range(2):
        listener.do(answered(index))
    assert listener.heard == []
    listener.do(reply([]))
    assert listener.heard == [said("follow_up 0")]


@pytest.mark.parametrize("stop", ["error", "aborted"])
def test_a_run_that_failed_says_nothing_more(stop: StopReason) -> None:
    listener = Listener(max_steps=5)
    listener.do(Prompted((said("go"),)), Push("steer"), Push("follow_up"), reply([], stop))
    assert listener.ended
    assert listener.heard == []
    assert len(listener.queues) == 2


def test_a_change_of_mode_counts_from_the_next_time_somebody_is_heard() -> None:
    listener = Listener(max_steps=9)
    listener.do(Prompted((said("go"),)), *[Push("steer")] * 4, reply([]), SetMode("steer", "all"), reply([]))
    assert [number(message) for message in listener.heard] == [0, 1, 2, 3]
    assert sum(isinstance(event, ReplyEnded) for event in listener.events) == 2
