"""Sessions in the format of today's pi: what was told before the conversation, what was edited, what was paid for."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from msgspec.structs import replace

from linnet.core.context.system_changes import changed, merged
from linnet.core.events import SystemTold
from linnet.core.messages import SystemMessage, Usage, texts
from linnet.core.session_info import SessionFormat
from linnet.core.toolspec import ToolSpec
from linnet.store import session_folder
from linnet.store.entries import Custom, Edited, Labelled, Named, Said, Spent
from linnet.store.header import Header
from linnet.store.lines import entry_line, glance
from linnet.store.log import MemoryLog
from linnet.store.session_folder import Opened
from linnet.store.store import EntrySources, Store
from linnet.wire.pi.to_pi import Words
from tests.store.test_position import ASSISTANT, FAILED, FILES, NOON, USER, Talk, json_of, patient, reply, said

HEADER = Header("an-id", "", "", None, 3)
SYSTEM = SystemMessage({"preamble": "You are linnet.", "cwd": "/srv"}, NOON, (ToolSpec("read", "Reads.", {}),))


class TodaysTalk(Talk):
    """The same in today's format, in which a session keeps what the model is told before the conversation, too."""

    format: SessionFormat = "1.5"

    @precondition(lambda self: self.phase == "idle")
    @rule(
        sections=st.dictionaries(st.sampled_from(["preamble", "rules", "cwd"]), st.sampled_from(["a", "b"])),
        tools=st.lists(st.sampled_from(["read", "bash"]), unique=True),
    )
    def something_is_told_before(self, sections: dict[str, str], tools: list[str]) -> None:
        change = changed(self.live.system, sections, [ToolSpec(name, "", {}) for name in tools], NOON)
        if change is not None:
            self.happens(SystemTold(change))
        assert self.live.system is not None
        assert self.live.system.sections == sections
        assert {tool.name for tool in self.live.system.added} == set(tools)

    def told(self) -> SystemMessage | None:
        return self.live.system

    @rule()
    def reopened(self) -> None:
        before = self.live.system
        super().reopened()
        assert self.live.system == before
        assert all(node.type != "custom" or node.role == "" for node in self.store.tree.nodes)
        assert self.store.lines() == self.lines


TestTodaysTalk = TodaysTalk.TestCase
TestTodaysTalk.settings = settings(patient, max_examples=100, stateful_step_count=30)


def opened(*lines: bytes) -> Store:
    glances = [seen for line in lines if (seen := glance(line)) is not None]
    return Store(HEADER, MemoryLog(lines), glances, sources=EntrySources(lambda: NOON, format="1.5"))


def edit(target: str, replacement: Any) -> dict[str, Any]:
    return {"type": "context_edit", "targetId": target, "replacement": replacement}


def shown(store: Store) -> list[str]:
    return [
        json.dumps(json_of(Words().message(message)).get("content"))
        for _, message in store.past(store.position()).read()
    ]


def lines_of(*contents: tuple[str, Any]) -> list[bytes]:
    """Lines of entries, each behind the one before. What is no content is a line's own object."""
    out: list[bytes] = []
    parent = None
    for id, content in contents:
        place = {"id": id, "parentId": parent, "timestamp": "2026-01-01T12:00:00.000Z"}
        if isinstance(content, dict):
            out.append(json.dumps({**content, **place}).encode())
        else:
            out.append(entry_line(id, parent, "2026-01-01T12:00:00.000Z", content, "1.5"))
        parent = id
    return out


def test_what_was_left_out_is_not_shown() -> None:
    store = opened(*lines_of(("u", USER), ("f", FAILED), ("e", edit("f", None)), ("a", ASSISTANT)))
    assert list(store.past(store.position()).ids) == ["u", "a"]


@pytest.mark.parametrize("content", ["other", [{"type": "text", "text": "other"}]])
@pytest.mark.parametrize("target", ["u", "a", "t", "n"])
def test_what_was_replaced_is_shown_in_other_words(target: str, content: Any) -> None:
    result = {"role": "toolResult", "toolCallId": "1", "toolName": "read", "content": [{"type": "text", "text": "t"}]}
    note = {"type": "custom_message", "customType": "k", "content": "n", "display": True}
    entries = [("u", USER), ("a", ASSISTANT), ("t", {"type": "message", "message": result}), ("n", note)]
    store = opened(*lines_of(*entries, ("e", edit(target, {"content": content}))))
    told = [texts(message.content) for _, message in store.past(store.position()).read()]  # type: ignore[union-attr]
    assert told == ["other" if id == target else id for id, _ in entries]


def test_the_latest_edit_on_the_path_counts() -> None:
    edits = [("e1", edit("u", {"content": "once"})), ("e2", edit("u", None)), ("e3", edit("u", {"content": "twice"}))]
    store = opened(*lines_of(("u", USER), *edits))
    assert shown(store) == ['[{"type": "text", "text": "twice"}]']
    store.tree.leaf = "e2"
    assert shown(store) == []
    store.tree.leaf = "u"
    assert shown(store) == ['[{"type": "text", "text": "u"}]']


@pytest.mark.parametrize(
    "odd", [{"targetId": "u"}, {"targetId": "u", "replacement": 5}, {"targetId": "u", "replacement": {}}, {}]
)
def test_an_edit_that_says_nothing_changes_nothing(odd: dict[str, Any]) -> None:
    store = opened(*lines_of(("u", USER), ("e", {"type": "context_edit", **odd})))
    assert list(store.past(store.position()).ids) == ["u"]


def test_an_edit_of_what_cannot_be_edited_leaves_it_as_it_is() -> None:
    bash = {"type": "message", "message": {"role": "bashExecution", "command": "ls", "output": "x", "exitCode": 0}}
    before, after = (
        opened(*lines_of(("b", bash))),
        opened(*lines_of(("b", bash), ("e", edit("b", {"content": "other"})))),
    )
    assert before.past(before.position()).read() == after.past(after.position()).read()


def test_a_failed_reply_is_left_out_by_an_entry_that_is_told() -> None:
    store = opened(*lines_of(("u", USER), ("f", FAILED)))
    store.forget_failure()
    [line] = store.take_asides()
    told = json.loads(line)
    assert (told["type"], told["targetId"], told["parentId"], told["replacement"]) == ("context_edit", "f", "f", None)
    assert store.lines()[-1] == line
    assert store.take_asides() == []


def test_only_entries_that_no_other_event_shows_are_told() -> None:
    store = opened()
    for content in (Said(said("u")), Named("n"), Labelled("x", "l"), Said(SYSTEM)):
        store.append(content)
    assert store.take_asides() == []
    for each in (Custom("k", 1), Spent(Usage(1), "compaction", "p", "m"), Edited("x")):
        store.append(each)
    assert [json.loads(line)["type"] for line in store.take_asides()] == ["custom", "usage", "context_edit"]


def test_nothing_is_told_in_the_earlier_format() -> None:
    store = Store(HEADER, MemoryLog(), sources=EntrySources(lambda: NOON))
    store.append(Custom("k", 1))
    assert store.take_asides() == []


def test_what_was_paid_for_counts_and_is_not_shown() -> None:
    store = opened(*lines_of(("u", USER), ("s", Spent(Usage(7, 3), "cache_warm", "p", "m"))))
    assert list(store.past(store.position()).ids) == ["u"]
    assert session_folder.paid(store.lines()) == Usage(7, 3)


def test_a_system_message_is_read_with_its_tools_whatever_else_it_says() -> None:
    spelled = {
        "role": "system",
        "content": "",
        "sections": {"preamble": "p", "rules": None, "odd": 5},
        "toolsAdded": [{"name": "read", "description": "d", "parameters": "none", "constrainedSampling": "x"}],
        "toolsRemoved": [{"name": "edit"}],
        "timestamp": NOON,
    }
    store = opened(*lines_of(("s", {"type": "message", "message": spelled}), ("u", USER)))
    past = store.past(store.position())
    assert past.system_messages == 1
    expected = SystemMessage({"preamble": "p", "rules": None}, NOON, (ToolSpec("read", "d", {}),), ("edit",))
    assert past.read()[0] == ("s", expected)
    assert merged(None, expected).sections == {"preamble": "p"}


def test_a_system_message_is_not_counted_as_said() -> None:
    lines = lines_of(("s", Said(SYSTEM)), ("u", USER))
    found = session_folder.glances(lines)
    assert Store(HEADER, MemoryLog(lines), found)._index.messages == 1


contexts: dict[str, dict[str, Any]] = json.loads((FILES / "contexts_today.json").read_text())


@pytest.mark.parametrize("name", contexts)
def test_a_session_of_todays_pi_shows_what_it_shows_in_pi(name: str, reopen: Callable[..., Opened]) -> None:
    expected = contexts[name]
    found = reopen(FILES / name, to_write=False)
    spelled = [json_of(Words().message(message)) for _, message in found.past.read()]
    assert [[each["role"], each["timestamp"]] for each in spelled] == expected["messages"]
    assert found.past.system_messages == sum(role == "system" for role, _ in expected["messages"])
    assert found.store.leaf == expected["leaf"]


@pytest.mark.parametrize("name", contexts)
def test_a_session_of_todays_pi_is_counted_as_pi_counts_it(name: str, reopen: Callable[..., Opened]) -> None:
    stats = contexts[name]["stats"]
    found = reopen(FILES / name, to_write=False)
    tally = found.store.tally()
    assert (tally.user, tally.assistant) == (stats["userMessages"], stats["assistantMessages"])
    assert (tally.calls, tally.results) == (stats["toolCalls"], stats["toolResults"])
    assert tally.total == stats["totalMessages"]
    spent = found.spent
    assert {"input": spent.input, "output": spent.output, "total": spent.total}.items() <= stats["tokens"].items()
    if name != "pi_15_branches.jsonl":  # There a tool told its cost only as a total, without what it is made of.
        assert spent.cost.total == pytest.approx(stats["cost"])


@pytest.mark.parametrize("name", contexts)
def test_a_tree_has_every_line_behind_its_parent(name: str, reopen: Callable[..., Opened]) -> None:
    store = reopen(FILES / name, to_write=False).store
    entries = store.tree_entries()
    assert [entry.line for entry in entries] == store.lines()
    ids = [json.loads(entry.line)["id"] for entry in entries]
    for entry in entries:
        parent = json.loads(entry.line)["parentId"]
        assert (None if entry.parent is None else ids[entry.parent]) == (parent if parent in ids else None)
    assert {ids[at]: entry.label for at, entry in enumerate(entries) if entry.label} == store.labels


def test_files_of_the_other_protocols_stay_as_they_were() -> None:
    took = replace(reply("a"), duration=5)
    assert b"durationMs" not in entry_line("a", None, "", Said(took))
    assert b"durationMs" in entry_line("a", None, "", Said(took), "1.5")
    assert b"attachments" in entry_line("a", None, "", Said(said("u")))
    assert b"attachments" not in entry_line("a", None, "", Said(said("u")), "1.5")
    assert b"linnet.spent" in entry_line("a", None, "", Spent(Usage(1), "compaction", "p", "m"))
