"""What pi of four generations printed, taken in by a client: messages from their deltas, and when a run is over."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw, Struct, ValidationError
from msgspec.structs import fields, replace

from linnet.capture.record import Capture
from linnet.client import BadAnswer, PiDraft, pi
from linnet.client.deep_tree import tree
from linnet.client.pi_work import PiWork
from linnet.client.request import Request, a, nothing
from linnet.client.work import Ended
from linnet.wire.incoming import BadLine, Reply, UnknownEvent
from linnet.wire.pi.reading import results
from tests.capture.recorded import captures

__all__ = ["captures"]

OLDER = ("_0.87", "_0.73")  # Captures beside today's that end so are of those versions.
REPLACED = {"hooks_returns", "hooks_throw_and_tool_call"}  # An extension changed the message after its last update.


def of_pi(captures: dict[str, Capture], *, today: bool = False) -> Iterator[tuple[str, str, Capture]]:
    """Yield the folder, the name and the capture; today's are those of pi 1.5.0."""
    for path, capture in captures.items():
        folder, _, name = path.partition("/")
        wanted = folder == "pi-1.5" and not name.endswith(OLDER) if today else folder.startswith("pi")
        if wanted and not name.startswith("sessions/"):
            yield folder, name, capture


def told(message: pi.Message | None) -> list[pi.Block]:
    """A message's content, but for what no update tells."""
    assert message
    assert not isinstance(message.content, str)
    return [replace(block, thinking_signature=None, redacted=False) for block in message.content]


def test_messages_put_together_from_deltas_are_those_that_message_end_says(captures: dict[str, Capture]) -> None:
    compared: Counter[tuple[str, str]] = Counter()
    for folder, name, capture in of_pi(captures):
        draft, grown = PiDraft(), False
        for record in capture.records:
            if record.kind == "note" and b"left out" in record.line:
                grown = False  # The capture has not all updates.
            if record.kind != "out":
                continue
            event = pi.reader().read(record.line)
            if isinstance(event, pi.MessageEnd) and event.message.role == "assistant" and grown:
                assert not draft.is_whole
                assert name in REPLACED or told(draft.message) == told(event.message), name
                compared.update((folder, block.type) for block in told(draft.message))
            draft.add(event)
            if isinstance(event, pi.MessageStart):
                grown = event.message.role == "assistant"
            if isinstance(event, pi.MessageEnd) and event.message.role == "assistant":
                assert draft.is_whole
                assert draft.message == event.message
    assert compared["pi-1.5", "text"] > 400
    assert compared["pi-1.5", "toolCall"] > 100
    assert all(compared[folder, "thinking"] for folder in ("pi-0.37", "pi-0.73", "pi-1.5"))


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
arguments = st.dictionaries(
    words,
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
        max_leaves=5,
    ),
    max_size=3,
)
blocks = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, words),
    st.builds(lambda text: {"type": "thinking", "thinking": text}, words),
    st.builds(lambda said: {"type": "toolCall", "id": "t", "name": "read", "arguments": said}, arguments),
)


def in_pieces(block: dict[str, Any], index: int, cuts: list[int]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The updates of one block, cut anywhere, and the last one that says it whole."""
    name = {"text": "text", "thinking": "thinking", "toolCall": "toolcall"}[block["type"]]
    call = block["type"] == "toolCall"
    whole = json.dumps(block["arguments"]) if call else block[block["type"]]
    at = [0, *sorted(cut % (len(whole) + 1) for cut in cuts), len(whole)]
    begun = {"id": block["id"], "toolName": block["name"]} if call else {}
    growth: list[dict[str, Any]] = [{"type": f"{name}_start", "contentIndex": index, **begun}]
    growth += [{"type": f"{name}_delta", "contentIndex": index, "delta": whole[a:b]} for a, b in pairwise(at)]
    said = {"toolCall": block} if call else {"content": whole}
    return growth, {"type": f"{name}_end", "contentIndex": index, **said}


@given(st.lists(st.tuples(blocks, st.lists(st.integers(0, 200), max_size=5)), max_size=4), st.booleans(), st.booleans())
def test_a_message_is_the_same_however_it_was_cut(
    message: list[tuple[dict[str, Any], list[int]]], ends_last: bool, broken_off: bool
) -> None:
    """Some providers end each block before the next, some end all of them at last; a broken reply has no ends."""
    updates, ends = [], []
    for index, (block, cuts) in enumerate(message):
        growth, end = in_pieces(block, index, cuts)
        updates += growth
        ends.append(end)
        if not ends_last and not broken_off:
            updates.append(end)
    updates += ends if ends_last and not broken_off else []
    reader, draft = pi.reader(), PiDraft()
    live = {"role": "assistant", "content": [{"type": "text", "text": ""}], "stopReason": "pending"}
    for event in (
        {"type": "message_start", "message": live},
        *({"type": "message_update", "usage": {}, "assistantMessageEvent": update} for update in updates),
    ):
        draft.add(reader.read(json.dumps(event).encode()))
    said = {"role": "assistant", "content": [block for block, _ in message]}
    ended = reader.read(json.dumps({"type": "message_end", "message": said}).encode())
    assert isinstance(ended, pi.MessageEnd)
    assert told(draft.message) == told(ended.message)


def test_a_message_whose_beginning_was_missed_is_put_together_from_there_on() -> None:
    draft = PiDraft()
    assert draft.is_whole
    draft.add(pi.MessageUpdate(pi.TextDelta("of it", 1), usage=pi.Usage(output=3)))
    draft.add(pi.MessageUpdate(pi.ToolCallDelta('{"path":"a', 2)))
    assert draft.message
    assert draft.message.text == "of it"
    assert draft.message.usage == pi.Usage(output=3)
    assert [call.arguments for call in draft.message.tool_calls] == [{"path": "a"}]


def test_a_client_knows_every_field_that_today_s_pi_prints(captures: dict[str, Capture]) -> None:
    known = 0
    for _, name, capture in of_pi(captures, today=True):
        for line in capture.lines("out"):
            said = pi.reader().read(line)
            assert not isinstance(said, BadLine), name
            if isinstance(said, UnknownEvent):  # The capture has these shortened to a sentence.
                assert said.type == "turn_end", name
                assert isinstance(said.raw["message"], str)
            elif not isinstance(said, Reply):
                assert not unknown(said, json.loads(line)), name
                known += 1
    assert known > 5000


LEAKED = {"index", "partialJson", "…"}  # What pi did not mean to say, and how captures are shortened.


def unknown(value: Any, raw: Any) -> set[str]:
    """The members of an object that the struct it was read into has not."""
    if isinstance(value, Struct) and isinstance(raw, dict):
        names = {each.encode_name: each.name for each in fields(value)}
        left = raw.keys() - names.keys() - {"type"} - LEAKED
        return left.union(*(unknown(getattr(value, names[key]), raw[key]) for key in raw.keys() & names.keys()))
    if isinstance(value, list) and isinstance(raw, list):
        return set().union(*(unknown(one, other) for one, other in zip(value, raw, strict=True)))
    return set()


ANSWERS: dict[str, Any] = {
    "prompt": results.Accepted,
    "steer": results.Accepted,
    "follow_up": results.Accepted,
    "clear_queue": results.Queue,
    "new_session": results.Moved,
    "switch_session": results.Moved,
    "clone": results.Moved,
    "fork": results.Branched,
    "get_state": results.State,
    "get_messages": results.Messages,
    "set_model": results.Model,
    "get_available_models": results.Models,
    "get_available_thinking_levels": results.Levels,
    "compact": pi.Compaction,
    "bash": results.BashResult,
    "get_session_stats": results.Stats,
    "export_html": results.Exported,
    "get_fork_messages": results.BranchMessages,
    "get_entries": results.Entries,
    "get_tree": results.Tree,
    "get_last_assistant_text": results.LastText,
    "get_commands": results.SlashCommands,
}


def test_a_client_knows_every_field_of_today_s_answers(captures: dict[str, Capture]) -> None:
    seen = set()
    for folder, name, capture in of_pi(captures):
        for line in capture.lines("out") if folder == "pi-1.5" else ():
            said = pi.reader().read(line)
            if not isinstance(said, Reply) or not said.success or said.command not in ANSWERS:
                continue
            try:
                read = a(ANSWERS[said.command])(bytes(said.data))
            except ValidationError:
                # The capture has cut something short, or a mode was set to a number, which pi did not mind.
                assert "…".encode() in line or b'"followUpMode":3' in line, name
                continue
            assert not unknown(read, json.loads(bytes(said.data) or b"{}")), name
            seen.add(said.command)
    assert seen == ANSWERS.keys()


class Followed:
    """A capture, as a client's Work takes it in."""

    def __init__(self, **options: bool) -> None:
        self.work = PiWork(**options)
        self.asked: dict[str, Request[None]] = {}
        self.over: list[str] = []

    def sent(self, line: bytes) -> None:
        frame = json.loads(line)
        if isinstance(frame, dict) and isinstance(frame.get("id"), str) and isinstance(frame.get("type"), str):
            request = Request(frame["type"], nothing, None, {"message": "", **frame})
            self.asked[frame["id"]] = request
            self._take(self.work.sent(frame["id"], request))

    def heard(self, said: object) -> None:
        if not isinstance(said, Reply):
            self._take(self.work.heard(said))
        elif isinstance(said.id, str) and said.id in self.asked:
            self._take(self.work.answered(said.id, self.asked.pop(said.id), said))

    def _take(self, outputs: list[Any]) -> None:
        self.over += [each.id for each in outputs if isinstance(each, Ended)]


@pytest.mark.parametrize("settles", [True, False])
def test_today_s_runs_are_over_when_they_have_settled_and_never_before(
    captures: dict[str, Capture], settles: bool
) -> None:
    settled = 0
    for _, name, capture in of_pi(captures, today=True):
        followed, runs = Followed(settles=settles), False
        for record in capture.records:
            if record.kind == "in" and record.line.startswith(b"{"):
                followed.sent(record.line)
            if record.kind != "out":
                continue
            before = len(followed.over)
            said = pi.reader().read(record.line)
            followed.heard(said)
            runs = isinstance(said, pi.AgentStart) or (runs and not isinstance(said, pi.AgentSettled))
            if runs:
                assert not followed.work.is_idle, name
                assert not settles or followed.work.question is None, name
            if len(followed.over) > before:
                assert isinstance(said, pi.AgentSettled | Reply), name
            settled += isinstance(said, pi.AgentSettled)
    assert settled > 300


@pytest.mark.parametrize("settles", [True, False])
def test_an_end_is_waited_for_where_it_is_told_and_asked_for_where_not(settles: bool) -> None:
    """pi 0.78 has `willRetry` and no `agent_settled`."""
    followed = Followed(settles=settles)
    followed.sent(b'{"id":"p","type":"prompt","message":"hi"}')
    followed.heard(Reply("prompt", success=True, id="p"))
    for event in (pi.AgentStart(), pi.AgentEnd(will_retry=False)):
        followed.heard(event)
    assert not followed.work.is_idle
    assert (followed.work.question is None) == settles
    followed.heard(pi.AgentSettled())
    assert followed.over == ["p"]


@pytest.mark.parametrize("depth", [3, 3000])
def test_a_tree_is_read_however_long_the_session_is(depth: int) -> None:
    node = '{"entry":{"type":"message","id":"%d","text":"a \\" ] }"},"children":['
    nested = "".join(node % number for number in range(depth)) + ']}, {"children": [ ], "label": "b" }'
    data = f'{{"tree":[{nested}{"]}" * (depth - 1)}],"leafId":"x"}}'
    line = f'{{"id":"a","type":"response","command":"get_tree","success":true,"data":{data}}}'
    said = pi.reader().read(line.encode())
    assert isinstance(said, Reply)
    assert (said.id, said.success) == ("a", True)
    read = tree(bytes(said.data))
    assert read.leaf_id == "x"
    walked = list(read.walk())
    assert [branch.entry.get("id") for branch in walked] == [*map(str, range(depth)), None]
    assert walked[-1].label == "b"
    assert len(walked[depth - 2].children) == 2


NOT_ENDED = '{"tree":[' + '{"children":[' * 3000


@pytest.mark.parametrize("text", ["[" * 3000, NOT_ENDED, '{"tree":' + "[" * 3000 + "]" * 3000 + "}"])
def test_a_tree_that_is_none_is_a_bad_answer(text: str) -> None:
    reply = Reply("get_tree", success=True, data=Raw(text.encode()))
    with pytest.raises(BadAnswer):
        Request("get_tree", tree).result(reply)
