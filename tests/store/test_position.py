"""A session that is opened again shows what the conversation showed that it was written from."""

import json
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from msgspec import Struct
from msgspec.structs import replace

from linnet.core.context.conversation import Conversation, identified
from linnet.core.events import (
    BashRan,
    Compaction,
    CompactionEnded,
    Event,
    Interrupted,
    Past,
    ReplyEnded,
    RetryScheduled,
    SystemTold,
    ToolFinished,
    UserSaid,
)
from linnet.core.messages import (
    AssistantMessage,
    BashRun,
    BranchSummary,
    Message,
    Note,
    StopReason,
    Summary,
    SystemMessage,
    Text,
    ToolResult,
    Usage,
    UserMessage,
)
from linnet.core.session_info import SessionFormat
from linnet.store.entries import Compacted, Content, Custom, Labelled, ModelChanged, Named, Said, ThinkingChanged
from linnet.store.header import Header
from linnet.store.lines import entry_line
from linnet.store.log import MemoryLog
from linnet.store.reading import load
from linnet.store.session_folder import Opened
from linnet.store.store import EntrySources, Store
from linnet.wire.pi.to_pi import Words

patient = settings(deadline=None)  # How long anything takes is not what is tested here.

FILES = Path(__file__).parent / "files"
HEADER = Header("an-id", "", "", None, 3)
NOON = 1_767_268_800_000


def said(text: str) -> UserMessage:
    return UserMessage((Text(text),), NOON)


def reply(text: str = "", stop: StopReason = "end") -> AssistantMessage:
    return AssistantMessage((Text(text),), NOON, "p", "m", Usage(1, 1), stop, "it broke" if stop == "error" else "")


def compaction(text: str, first_kept: str = "", kept: int = 0) -> Compaction:
    return Compaction(Summary(text, 5, NOON), kept, first_kept, (), (), Usage())


def compacted(text: str, first_kept: str = "") -> Content:
    return Compacted(compaction(text, first_kept))


def record(store: Store, event: Event, conversation: Conversation) -> None:
    """What the runtime's journal writes of an event that the conversation has taken in."""
    match event:
        case (
            UserSaid(message)
            | Interrupted(message)
            | ReplyEnded(message)
            | ToolFinished(message)
            | BashRan(message)
            | SystemTold(message)
        ):
            store.append(Said(message), conversation.ids[-1])
        case RetryScheduled():
            store.forget_failure()
        case CompactionEnded() if event.result is not None:
            if event.will_retry:
                store.forget_failure()
            store.append(Compacted(event.result), conversation.ids[0])
        case _:
            pass


def same(here: Conversation, there: Conversation) -> None:
    assert len(here) == len(there)
    assert here.ids == there.ids
    assert here.messages == there.messages
    assert here.compacted == there.compacted
    latest = [each.last_compaction and replace(each.last_compaction, kept=0) for each in (here, there)]
    assert latest[0] == latest[1]


class Talk(RuleBasedStateMachine):
    """The same events for a conversation and for a store. A prompt is answered, by tools too, or fails; what failed is
    tried again, at once or after a compaction; commands are told between prompts.
    """

    format: SessionFormat = "0.73"

    def __init__(self) -> None:
        super().__init__()
        ids = count(1)
        self.sources = EntrySources(lambda: NOON, lambda: f"{next(ids):08x}", self.format)
        self.lines: list[bytes] = []
        self.number = 0
        self.phase = "idle"
        self.failure: tuple[str, Message] | None = None  # One that is to be tried again.
        self.open(Past())

    def open(self, past: Past) -> None:
        data = b"\n".join([b'{"type":"session","version":3,"id":"an-id"}', *self.lines, b""])
        loaded = load(data, "it")
        self.store = Store(loaded.header, MemoryLog(loaded.lines), loaded.glances, sources=self.sources)
        self.live = Conversation(past)

    def happens(self, event: Event) -> None:
        event = identified(event, self.store.new_id)
        self.live.apply(event)
        record(self.store, event, self.live)
        self.lines = self.store.lines()

    def words(self) -> str:
        self.number += 1
        return str(self.number)

    @initialize(past=st.booleans())
    def begins(self, past: bool) -> None:
        if past:
            self.happens(UserSaid(said("long ago")))
            self.happens(ReplyEnded(reply("yes"), Usage()))
            self.reopened()

    @precondition(lambda self: self.phase == "idle")
    @rule(prompts=st.integers(1, 2))
    def a_prompt(self, prompts: int) -> None:
        for _ in range(prompts):
            self.happens(UserSaid(said(self.words())))
        self.phase = "asked"

    @precondition(lambda self: self.phase == "idle")
    @rule()
    def a_command(self) -> None:
        self.happens(BashRan(BashRun("ls", f"\x1b[1m{self.words()}", 0, NOON)))

    @precondition(lambda self: self.phase == "idle")
    @rule(content=st.sampled_from([Named("n"), Labelled("00000001", "l"), Custom("k", 1), ThinkingChanged("low")]))
    def something_that_is_not_said(self, content: Content) -> None:
        self.store.append(content)
        self.lines = self.store.lines()

    @precondition(lambda self: self.phase == "asked")
    @rule(stop=st.sampled_from(("end", "length", "aborted")))
    def a_reply(self, stop: StopReason) -> None:
        self.happens(ReplyEnded(reply(self.words(), stop), Usage()))
        self.phase = "idle"

    @precondition(lambda self: self.phase == "asked")
    @rule(results=st.integers(1, 3), interrupted=st.booleans(), steered=st.booleans())
    def a_reply_with_calls(self, results: int, interrupted: bool, steered: bool) -> None:
        self.happens(ReplyEnded(reply(self.words(), "tool_use"), Usage()))
        for index in range(results):
            self.happens(ToolFinished(ToolResult(str(index), "read", (Text(self.words()),), NOON)))
        if interrupted:
            self.happens(Interrupted(reply("", "aborted")))
            self.phase = "idle"
        elif steered:
            self.happens(UserSaid(said(self.words())))

    @precondition(lambda self: self.phase == "asked")
    @rule(retried=st.sampled_from(("yes", "no", "called off")))
    def a_failure(self, retried: str) -> None:
        self.happens(ReplyEnded(reply(self.words(), "error"), Usage()))
        if retried != "no":
            self.happens(RetryScheduled(1, 3, 2000, "it broke"))
        if retried != "yes":
            self.phase = "idle"

    @precondition(lambda self: self.phase == "asked")
    @rule(data=st.data())
    def too_much(self, data: st.DataObject) -> None:
        self.happens(ReplyEnded(reply(self.words(), "error"), Usage()))
        self.compact(data, will_retry=True)

    @precondition(lambda self: self.phase == "idle" and not self.live.compacted and len(self.live) > 1)
    @rule(data=st.data())
    def a_compaction(self, data: st.DataObject) -> None:
        self.compact(data, will_retry=False)

    def compact(self, data: st.DataObject, *, will_retry: bool) -> None:
        """An earlier summary is never kept, and neither is a failure that is about to be tried again."""
        ids = self.live.ids[:-1] if will_retry else self.live.ids
        kept = data.draw(st.integers(0, len(ids) - (2 if ids[:1] == ids[1:2] else 1)))
        first = ids[len(ids) - kept] if kept else ""
        result = replace(compaction(self.words(), first, kept), system=self.told())
        self.happens(CompactionEnded("overflow" if will_retry else "manual", result, will_retry=will_retry))

    def told(self) -> SystemMessage | None:
        """What a compaction keeps of what the model is told before the conversation."""
        return None

    @rule()
    def reopened(self) -> None:
        """At any moment."""
        before, self.live = self.live, Conversation()
        self.open(Past())
        self.live = Conversation(self.store.past(self.store.position()))
        same(self.live, before)

    def teardown(self) -> None:
        self.reopened()


TestTalk = Talk.TestCase
TestTalk.settings = settings(patient, max_examples=100, stateful_step_count=30)


def shown(*contents: tuple[str, str | None, Content], leaf: str | None = None) -> list[str]:
    """The ids of what is shown, of entries that are given with theirs and their parents'."""
    lines = [entry_line(id, parent, "2026-01-01T12:00:00.000Z", content) for id, parent, content in contents]
    data = b"\n".join([b'{"type":"session","version":3,"id":"an-id"}', *lines, b""])
    loaded = load(data, "it")
    store = Store(loaded.header, MemoryLog(loaded.lines), loaded.glances)
    if leaf is not None:
        store.tree.leaf = leaf
    past = store.past(store.position())
    assert [id for id, _ in past.read()] == list(past.ids)
    return list(past.ids)


def chain(*contents: tuple[str, Content]) -> list[tuple[str, str | None, Content]]:
    parents = [None, *(id for id, _ in contents)]
    return [(id, parent, content) for (id, content), parent in zip(contents, parents, strict=False)]


USER: Content = Said(said("u"))
ASSISTANT: Content = Said(reply("a"))
FAILED: Content = Said(reply("a", "error"))
SET: Content = ThinkingChanged("low")


@pytest.mark.parametrize(
    ("first_kept", "expected"),
    [
        ("u2", "c u2 a2 u3"),
        ("set", "c u2 a2 u3"),  # No message, but everything after it.
        ("u1", "c u1 a1 u2 a2 u3"),
        ("a2", "c a2 u3"),
        ("c", "c u3"),
        ("unheard of", "c u3"),
        ("", "c u3"),
    ],
)
def test_a_compaction_keeps_everything_from_the_entry_that_it_names(first_kept: str, expected: str) -> None:
    path = chain(
        *[("u1", USER), ("a1", ASSISTANT), ("set", SET), ("u2", USER), ("a2", ASSISTANT)],
        *[("c", compacted("s", first_kept)), ("u3", USER)],
    )
    assert shown(*path) == expected.split()


def test_what_comes_between_a_compaction_and_the_entry_it_names_is_shown_even_if_that_comes_later() -> None:
    named = compacted("s", "u3")
    path = chain(("u1", USER), ("c", named), ("u2", USER), ("a2", ASSISTANT), ("u3", USER))
    assert shown(*path) == ["c", "u2", "a2", "u3"]


@pytest.mark.parametrize(("first_kept", "expected"), [("a1", "d a1 u2 u3"), ("c", "d u2 u3"), ("u2", "d u2 u3")])
def test_a_compaction_may_keep_what_an_earlier_one_had_done_away_with(first_kept: str, expected: str) -> None:
    path = chain(
        *[("u1", USER), ("a1", ASSISTANT), ("c", compacted("first", "")), ("u2", USER)],
        *[("d", compacted("second", first_kept)), ("u3", USER)],
    )
    assert shown(*path) == expected.split()


def test_a_compaction_on_another_branch_does_not_count() -> None:
    entries = [("u1", None, USER), ("a1", "u1", ASSISTANT), ("c", "a1", compacted("s")), ("u2", "a1", USER)]
    assert shown(*entries) == ["u1", "a1", "u2"]
    assert shown(*entries, leaf="c") == ["c"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("u f a", "u a"),
        ("u f f f a", "u a"),
        ("u f", "u f"),  # Nothing followed: it is the last that was said.
        ("u f f", "u f"),
        ("u f u a", "u f u a"),  # It was not tried again.
        ("u a f a u", "u a a u"),
        ("f a", "a"),
        ("u f s a", "u a"),  # A setting was changed while somebody waited.
    ],
)
def test_a_reply_that_failed_and_was_tried_again_is_not_shown(path: str, expected: str) -> None:
    kinds: dict[str, Content] = {"u": USER, "a": ASSISTANT, "f": FAILED, "s": SET}
    entries = chain(*[(f"{kind}{index}", kinds[kind]) for index, kind in enumerate(path.split())])
    assert [id[0] for id in shown(*entries)] == expected.split()


def test_a_failure_that_made_a_compaction_necessary_is_not_shown_once_it_was_tried_again() -> None:
    before = [("u1", USER), ("a1", ASSISTANT), ("u2", USER), ("f", FAILED), ("c", compacted("s", "u2"))]
    assert shown(*chain(*before)) == ["c", "u2", "f"]
    assert shown(*chain(*before, ("a2", ASSISTANT))) == ["c", "u2", "a2"]


def test_whatever_has_words_for_the_model_is_shown() -> None:
    messages: dict[str, Message] = {
        "user": said("u"),
        "assistant": reply("a"),
        "tool": ToolResult("1", "read", (), NOON),
        "bash": BashRun("ls", "", 0, NOON),
        "note": Note("kind", (Text("n"),), NOON),
        "branch": BranchSummary("left", "user", NOON),
        "summary": Summary("s", 1, NOON),
    }
    spoken: list[tuple[str, Content]] = [(id, Said(message)) for id, message in messages.items()]
    unspoken: list[tuple[str, Content]] = [
        ("named", Named("n")),
        ("label", Labelled("user", "l")),
        ("custom", Custom("k", 1)),
        ("level", SET),
        ("model", ModelChanged("p", "m")),
    ]
    assert shown(*chain(*spoken, *unspoken)) == list(messages)


contexts: dict[str, dict[str, Any]] = json.loads((FILES / "contexts.json").read_text())


@pytest.mark.parametrize("name", contexts)
def test_a_session_of_pi_shows_what_it_shows_in_pi(name: str, reopen: Callable[..., Opened]) -> None:
    """But for replies that failed and were tried again: pi shows them after a restart, though not before it."""
    expected = contexts[name]
    opened = reopen(FILES / name, to_write=False)
    spelled = [Words().message(message) for _, message in opened.past.read()]
    roles = [(json_of(message)["role"], json_of(message)["timestamp"]) for message in spelled]
    assert roles == [tuple(each) for each in without_failures(name, expected["messages"])]
    assert expected["leaf"] in (None, opened.store.leaf)
    assert opened.store.name == (expected["name"] or "")
    assert opened.position.model == ModelChanged(expected["model"]["provider"], expected["model"]["modelId"])
    assert (opened.position.thinking or "off") == expected["thinkingLevel"]


def json_of(message: Struct) -> dict[str, Any]:
    from msgspec.json import encode

    spelled: dict[str, Any] = json.loads(encode(message))
    return spelled


def without_failures(name: str, messages: Sequence[list[Any]]) -> list[list[Any]]:
    failed = {
        said["timestamp"]
        for line in (FILES / name).read_bytes().splitlines()
        if (said := json.loads(line).get("message", {})).get("stopReason") == "error"
    }
    after = [*messages[1:], [None, None]]
    return [
        each
        for each, following in zip(messages, after, strict=True)
        if not (each[1] in failed and each[0] == following[0] == "assistant")
    ]


@patient
@given(st.lists(st.sampled_from(["model", "other", "answer", "low", "high", "user"])))
def test_the_model_and_the_level_are_those_that_were_set_last(happened: list[str]) -> None:
    contents: dict[str, Content] = {
        "model": ModelChanged("p", "one"),
        "other": ModelChanged("p", "two"),
        "answer": Said(reply("by m")),
        "low": ThinkingChanged("low"),
        "high": ThinkingChanged("high"),
        "user": USER,
    }
    models = {"model": ModelChanged("p", "one"), "other": ModelChanged("p", "two"), "answer": ModelChanged("p", "m")}
    store = Store(HEADER, MemoryLog())
    for each in happened:
        store.append(contents[each])
    position = store.position()
    assert position.model == next((models[each] for each in reversed(happened) if each in models), None)
    assert position.thinking == next((each for each in reversed(happened) if each in ("low", "high")), None)


def test_entries_that_say_odd_things_show_nothing_and_stop_nothing(
    create: Callable[..., Store], sources: EntrySources
) -> None:
    odd = [
        b'{"type":"message","id":"a","message":{"role":"user","content":[{"type":"text","text":5}]}}',
        b'{"type":"message","id":"b","parentId":"a","message":{"role":"of a later version"}}',
        b'{"type":"message","id":"c","parentId":"b","message":null}',
        b'{"type":"compaction","id":"d","parentId":"c","tokensBefore":"many"}',
        b'{"type":"model_change","id":"e","parentId":"d","provider":5}',
        b'{"type":"thinking_level_change","id":"f","parentId":"e","thinkingLevel":null}',
        b'{"type":"message","id":"g","parentId":"f","message":{"role":"assistant","content":5}}',
    ]
    store = create(*odd, entry_line("h", "g", "", USER))
    position = store.position()
    assert (position.model, position.thinking, position.compaction) == (None, None, None)
    assert [id for id, _ in store.past(position).read()] == ["h"]


def test_what_is_set_while_a_reply_fails_does_not_bring_the_failure_back() -> None:
    store = Store(HEADER, MemoryLog())
    store.append(USER, "u")
    store.append(FAILED, "f")
    store.append(SET, "s")
    store.forget_failure()
    assert [id for id, _ in store.past(store.position()).read()] == ["u"]
    store.append(ASSISTANT, "a")
    store.forget_failure()
    assert [id for id, _ in store.past(store.position()).read()] == ["u", "a"]
