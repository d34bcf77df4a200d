"""The pi protocol: what happens, told in lines that are true to their moment."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core import deltas, events
from linnet.core.inputs import Input
from linnet.core.loop.draft import Draft
from linnet.core.loop.limits import Limits
from linnet.core.loop.queues import Queues
from linnet.core.loop.run import Run
from linnet.core.loop.run_facts import (
    Aborted,
    Answered,
    AskModel,
    Effect,
    Emit,
    MakeRoom,
    Prepare,
    Prepared,
    Prompted,
    Replied,
    Review,
    Reviewed,
    RoomMade,
    RunTool,
)
from linnet.core.messages import (
    AssistantMessage,
    BashRun,
    Image,
    StopReason,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from linnet.core.models import Model
from linnet.wire.dialect import Asked
from linnet.wire.jsonl import encode_lines
from linnet.wire.pi.dialect import Pi
from linnet.wire.pi.encode import MOST_BYTES, MOST_LINES, Manner, PiEncoder, tail
from linnet.wire.pi.partial_json import PartialJson

MODEL = Model("m", "anthropic", api="anthropic-messages")
GO = UserMessage((Text("go"),), 1)
anything = st.text(st.characters(exclude_categories=()), max_size=8)
ids = st.sampled_from("abc")
arguments = st.sampled_from(['{"path":"a', ".txt", '","content":"x\\ny', '"}', "{}", "{", "1,2", "\u2028", ""])
streamed = st.lists(
    st.builds(deltas.TextDelta, anything)
    | st.builds(deltas.ThinkingDelta, anything)
    | st.builds(deltas.ThinkingSigned, st.text(max_size=3), st.booleans())
    | st.builds(deltas.CallOpened, ids, st.sampled_from(["read", "wri\u2029te"]))
    | st.builds(deltas.CallDelta, ids, arguments)
    | st.builds(deltas.PartClosed),
    max_size=14,
)


def lines(happened: Iterable[events.Event], encoder: PiEncoder | None = None) -> list[Any]:
    """Every frame, checked to be one line that no reader could take for two."""
    frames: list[Any] = []
    for buffers in (encoder or PiEncoder()).encode(happened):
        line = b"".join(buffers)
        assert line.endswith(b"\n")
        text = line[:-1].decode()
        assert re.search("[\n\r\u2028\u2029]", text) is None
        frames.append(json.loads(text))
    return frames


def types(frames: Iterable[Any]) -> list[str]:
    return [
        frame["assistantMessageEvent"]["type"]
        if frame["type"] == "message_update"
        else f"{frame['type']} {frame['message']['role']}"
        if frame["type"] in ("message_start", "message_end")
        else frame["type"]
        for frame in frames
    ]


def joined(text: str) -> str:
    """As JSON has it: half a surrogate pair and the other half are one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def reply(*content: Any, stop: StopReason = "end", error: str = "") -> AssistantMessage:
    return AssistantMessage(content, 2, "anthropic", "m", Usage(3, 4), stop, error, "anthropic-messages")


STARTED = events.ReplyStarted("anthropic-messages", "anthropic", "m", 2)
ZERO = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
EMPTY = {
    "role": "assistant",
    "content": [],
    "api": "anthropic-messages",
    "provider": "anthropic",
    "model": "m",
    "usage": {**ZERO, "totalTokens": 0, "cost": {**ZERO, "total": 0}},
    "stopReason": "stop",
    "timestamp": 2,
}


@st.composite
def runs(draw: st.DrawFn) -> list[events.Event]:
    """A run as core would have it: any reply, any end of it, any order of prompts, tools and aborts."""
    queues = Queues()
    run = Run(Limits(3), Usage(), queues, reviews=draw(st.booleans()), makes_room=draw(st.booleans()))
    todo: list[Effect] = run.feed(Prompted((GO,) if draw(st.booleans()) else ()))
    happened: list[events.Event] = []
    while todo:
        match todo.pop(0):
            case Emit(event):
                happened.append(event)
            case AskModel():
                todo = run.feed(Replied(draw(replies(happened))))
            case Prepare(inputs):
                todo = run.feed(Prepared(tuple(UserMessage((Text(input.text),), input.time) for input in inputs)))
            case Review():
                todo = run.feed(draw(st.sampled_from([Reviewed(), Reviewed(GO), Reviewed(cut=reply(stop="aborted"))])))
            case MakeRoom():
                todo = run.feed(draw(st.sampled_from([RoomMade(), RoomMade(reply(stop="aborted"))])))
            case RunTool(index, call):
                for text in draw(st.lists(anything, max_size=2)):
                    happened.append(events.ToolProgressed(call.id, call.name, text))
                if draw(st.booleans()):
                    queues.steering.append(Input(draw(anything), time=5))
                result = ToolResult(call.id, call.name, (Text("ok"),), 6)
                why = draw(st.sampled_from([reply(stop="aborted"), reply(stop="error", error="too late")]))
                stopped = Aborted(index, result, why)
                todo = run.feed(Answered(index, result) if draw(st.booleans()) else stopped)
    return happened


@st.composite
def replies(draw: st.DrawFn, happened: list[events.Event]) -> AssistantMessage:
    if draw(st.booleans()):
        return reply(stop="error", error="no")
    draft = Draft()
    happened.append(STARTED)
    happened += draft.add(draw(streamed))
    stop: StopReason | None = draw(st.sampled_from([None, "error", "aborted"]))
    if stop is None:
        happened += draft.add([deltas.Stopped("end")])
    return draft.message(2, MODEL, Usage(1, 2), stop, "cut" if stop == "error" else "")


class Fold:
    """The message so far, worked out the slow way."""

    def __init__(self) -> None:
        self.parts: list[dict[str, Any]] = []
        self.raw: dict[int, str] = {}

    def apply(self, event: events.Event) -> None:
        match event:
            case events.ReplyStarted():
                self.parts, self.raw = [], {}
            case events.PartStarted(_, "text"):
                self.parts.append({"type": "text", "text": ""})
            case events.PartStarted(_, "thinking"):
                self.parts.append({"type": "thinking", "thinking": ""})
            case events.PartStarted(index, "tool_call", id, name):
                self.parts.append({"type": "toolCall", "id": id, "name": name, "arguments": {}})
                self.raw[index] = ""
            case events.TextGrew(index, text):
                self.parts[index]["text"] += text
            case events.ThinkingGrew(index, text):
                self.parts[index]["thinking"] += text
            case events.CallGrew(index, _, text):
                self.raw[index] += text
                machine = PartialJson()
                machine.feed(self.raw[index])
                self.parts[index]["arguments"] = json.loads(bytes(machine.shown) + machine.closers)
            case events.PartEnded(index, Thinking(_, signature, redacted)):
                self.parts[index] |= {"thinkingSignature": signature} if signature else {}
                self.parts[index] |= {"redacted": True} if redacted else {}
            case events.PartEnded(index, ToolCall(_, _, args)):
                self.parts[index]["arguments"] = args
            case _:
                pass

    def content(self) -> Any:
        return json.loads(encode_lines([self.parts]))


@given(runs())
def test_every_update_carries_the_message_as_it_is_at_that_moment(happened: list[events.Event]) -> None:
    encoder, fold = PiEncoder(), Fold()
    for event in happened:
        fold.apply(event)
        for frame in lines([event], encoder):
            if frame["type"] == "message_update":
                partial = frame["assistantMessageEvent"]["partial"]
                assert partial == {**EMPTY, "content": fold.content()}
                assert frame["message"] == partial


@given(runs())
def test_what_starts_ends_and_nothing_overlaps(happened: list[events.Event]) -> None:
    frames = lines(happened)
    names = types(frames)
    assert names[0] == "agent_start"
    assert names[-1] == "agent_end"
    in_turn = False
    message: dict[str, Any] | None = None
    said: list[Any] = []
    for frame in frames:
        match frame["type"]:
            case "turn_start":
                assert not in_turn
                in_turn = True
            case "turn_end":
                assert message is None
                in_turn = False
                assert frame["message"] == next(m for m in reversed(said) if m["role"] == "assistant")
                assert frame["toolResults"] == said[len(said) - len(frame["toolResults"]) :]
            case "message_start":
                assert in_turn
                assert message is None
                message = frame["message"]
            case "message_update":
                assert message is not None
                assert message["role"] == "assistant"
            case "message_end":
                assert message is not None
                assert message["role"] == frame["message"]["role"]
                assert message["timestamp"] == frame["message"]["timestamp"]
                message = None
                said.append(frame["message"])
            case "tool_execution_start" | "tool_execution_update" | "tool_execution_end":
                assert in_turn
                assert message is None
            case _:
                pass
    assert not in_turn
    assert frames[-1]["messages"] == said


@given(runs())
def test_the_deltas_of_a_part_are_its_text(happened: list[events.Event]) -> None:
    grown: dict[int, str] = {}
    for frame in lines(happened):
        update = frame.get("assistantMessageEvent", {"type": ""})
        match update["type"].partition("_")[2]:
            case "start":
                grown[update["contentIndex"]] = ""
            case "delta":
                grown[update["contentIndex"]] += update["delta"]
            case "end" if "content" in update:
                assert joined(grown[update["contentIndex"]]) == update["content"]
            case "end":
                try:
                    args = json.loads(joined(grown[update["contentIndex"]]))
                except ValueError:
                    args = {}
                assert update["toolCall"]["arguments"] == (args if isinstance(args, dict) else {})
            case _:
                pass


@given(runs())
def test_the_short_stream_is_the_long_one_without_the_message(happened: list[events.Event]) -> None:
    long = lines(happened)
    for frame in long:
        if frame["type"] == "message_update":
            del frame["message"]
            del frame["assistantMessageEvent"]["partial"]
    assert lines(happened, PiEncoder(Manner("deltas"))) == long


@given(st.lists(anything))
def test_text_is_escaped_in_pieces_as_it_is_as_a_whole(pieces: list[str]) -> None:
    encoder = PiEncoder(Manner("deltas"))
    list(encoder.encode([STARTED, events.PartStarted(0, "text")]))
    grown = b""
    for piece in pieces:
        (line,) = encoder.encode([events.TextGrew(0, piece)])
        grown += line[0].partition(b'"delta":"')[2].removesuffix(b'"}}\n')
    assert json.loads(b'"' + grown + b'"') == json.loads(encode_lines(["".join(pieces)]))


def test_the_stream_may_change_in_the_middle_of_a_message() -> None:
    pi = Pi(stream="deltas")
    encoder = pi.encoder()
    list(encoder.encode([STARTED, events.PartStarted(0, "text"), events.TextGrew(0, "a")]))
    asked = pi.decode(b'{"type":"set_stream","mode":"full"}')
    assert isinstance(asked, Asked)
    pi.heed(asked)
    (buffers,) = encoder.encode([events.TextGrew(0, "b")])
    assert json.loads(b"".join(buffers))["message"]["content"] == [{"type": "text", "text": "ab"}]


def test_an_update_reuses_the_bytes_it_has() -> None:
    """Whatever the length of the text, a delta costs no copy of it."""
    encoder = PiEncoder()
    list(encoder.encode([STARTED, events.PartStarted(0, "text"), events.TextGrew(0, "x" * 100_000)]))
    (first,) = encoder.encode([events.TextGrew(0, "y")])
    (second,) = encoder.encode([events.TextGrew(0, "z")])
    long = [buffer for buffer in second if len(buffer) >= 100_000]
    assert len(long) == 2
    assert long[0] is long[1]
    assert any(buffer is long[0] for buffer in first)
    assert sum(len(buffer) for buffer in second if buffer is not long[0]) < 2_000


def test_a_prompt_is_told_in_the_order_that_clients_know() -> None:
    answer = reply(Text("Hello you"))
    happened: Sequence[events.Event] = [
        events.RunStarted(),
        events.UserSaid(GO),
        events.StepStarted(1),
        STARTED,
        events.PartStarted(0, "text"),
        events.TextGrew(0, "Hello "),
        events.TextGrew(0, "you"),
        events.PartEnded(0, Text("Hello you")),
        events.ReplyEnded(answer, Usage()),
        events.StepEnded(answer, ()),
        events.RunEnded("end", "", (GO, answer)),
        events.Settled("prompt", "end"),
    ]
    user = {"role": "user", "content": [{"type": "text", "text": "go"}], "timestamp": 1, "attachments": []}
    final = {
        **EMPTY,
        "content": [{"type": "text", "text": "Hello you"}],
        "usage": {**ZERO, "input": 3, "output": 4, "totalTokens": 7, "cost": {**ZERO, "total": 0}},
    }

    def update(text: str, type: str, **more: str) -> Any:
        partial = {**EMPTY, "content": [{"type": "text", "text": text}]}
        event = {"type": type, "contentIndex": 0, **more, "partial": partial}
        return {"type": "message_update", "message": partial, "assistantMessageEvent": event}

    assert lines(happened) == [
        {"type": "agent_start"},
        {"type": "turn_start"},
        {"type": "message_start", "message": user},
        {"type": "message_end", "message": user},
        {"type": "message_start", "message": EMPTY},
        update("", "text_start"),
        update("Hello ", "text_delta", delta="Hello "),
        update("Hello you", "text_delta", delta="you"),
        update("Hello you", "text_end", content="Hello you"),
        {"type": "message_end", "message": final},
        {"type": "turn_end", "message": final, "toolResults": []},
        {"type": "agent_end", "messages": [user, final]},
    ]


def test_a_tool_is_told_with_all_it_has_printed_so_far() -> None:
    call = ToolCall("c1", "bash", {"command": "ls"})
    result = ToolResult("c1", "bash", (Text("a\nb\n"), Image("image/png", "AAAA")), 6)
    asked = {"toolCallId": "c1", "toolName": "bash"}

    def update(text: str) -> Any:
        content = [{"type": "text", "text": text}]
        partial = {"content": content, "details": {"truncation": None, "fullOutputPath": None}}
        return {"type": "tool_execution_update", **asked, "args": {"command": "ls"}, "partialResult": partial}

    content = [{"type": "text", "text": "a\nb\n"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]
    message = {"role": "toolResult", **asked, "content": content, "isError": False, "timestamp": 6}
    assert lines(
        [
            events.ToolStarted(call),
            events.ToolProgressed("c1", "bash", "a\n"),
            events.ToolProgressed("c1", "bash", "b\n"),
            events.ToolFinished(result),
            events.ToolProgressed("c1", "bash", "late"),
        ]
    ) == [
        {"type": "tool_execution_start", **asked, "args": {"command": "ls"}},
        update("a\n"),
        update("a\nb\n"),
        {"type": "tool_execution_end", **asked, "result": {"content": content, "details": {}}, "isError": False},
        {"type": "message_start", "message": message},
        {"type": "message_end", "message": message},
    ]


def test_arguments_are_shown_as_far_as_they_are_known() -> None:
    encoder = PiEncoder()
    begun: list[events.Event] = [
        STARTED,
        events.PartStarted(0, "tool_call", "c1", "write"),
        events.PartStarted(1, "tool_call", "c2", "ls"),
    ]
    grown = [
        events.CallGrew(0, "c1", '{"path":"a","con'),
        events.CallGrew(1, "c2", '{"p":"'),
        events.CallGrew(0, "c1", 'tent":"x\\n\u2028'),
    ]
    lines(begun, encoder)
    seen = [[part["arguments"] for part in frame["message"]["content"]] for frame in lines(grown, encoder)]
    assert seen == [[{"path": "a"}, {}], [{"path": "a"}, {"p": ""}], [{"path": "a", "content": "x\n\u2028"}, {"p": ""}]]
    (ended,) = lines([events.PartEnded(1, ToolCall("c2", "ls", {}, "{oops"))], encoder)
    assert ended["assistantMessageEvent"]["toolCall"] == {"type": "toolCall", "id": "c2", "name": "ls", "arguments": {}}
    assert ended["message"]["content"][1]["arguments"] == {}


def test_a_reply_that_failed_at_once_starts_and_ends() -> None:
    failed = reply(stop="error", error="401")
    started, ended = lines([events.ReplyEnded(failed, Usage())])
    assert started == {"type": "message_start", "message": EMPTY}
    assert ended["message"]["stopReason"] == "error"
    assert ended["message"]["errorMessage"] == "401"
    (end,) = lines([events.RunEnded("error", "401", (failed,))])
    assert "errorMessage" not in end


def test_an_abort_in_a_tool_is_a_turn_of_its_own() -> None:
    frames = lines([events.StepEnded(reply(), ()), events.Interrupted(reply(stop="aborted"))])[1:]
    assert types(frames) == ["turn_start", "message_start assistant", "message_end assistant", "turn_end"]
    assert frames[2]["message"]["errorMessage"] == "Request was aborted."
    assert frames[3]["toolResults"] == []


def test_messages_that_were_waiting_open_the_next_turn_together() -> None:
    frames = lines(
        [
            events.StepEnded(reply(), ()),
            events.QueueChanged((), ()),
            events.UserSaid(GO),
            events.UserSaid(GO),
            events.StepStarted(2),
        ]
    )
    told = ["message_start user", "message_end user"]
    assert types(frames) == ["turn_end", "queue_update", "turn_start", *told, *told]


def test_a_run_that_failed_without_a_failed_reply_says_why() -> None:
    (end,) = lines([events.RunEnded("error", "max steps (1) exceeded", (reply(),))])
    assert end["errorMessage"] == "max steps (1) exceeded"


def test_retries_compactions_and_queues_have_events_of_their_own() -> None:
    compaction = events.Compaction(Summary("s", 9, 0), 1, "e1", ("a",), ("b",), Usage())
    result = {
        "summary": "s",
        "firstKeptEntryId": "e1",
        "tokensBefore": 9,
        "details": {"readFiles": ["a"], "modifiedFiles": ["b"]},
    }
    assert lines(
        [
            events.RetryScheduled(1, 3, 2000, "529"),
            events.RetryEnded(True, 2),
            events.RetryEnded(False, 3, "529"),
            events.CompactionStarted("threshold"),
            events.CompactionEnded("threshold", compaction),
            events.CompactionEnded("overflow", None, error="no"),
            events.CompactionStarted("manual"),
            events.CompactionEnded("manual", compaction),
            events.QueueChanged((Input("go"),), ()),
            events.QueueChanged((), (), (Input("go"),)),
            events.BashRan(BashRun("ls", "", 0, 0)),
            events.Settled("compact", "end"),
        ]
    ) == [
        {"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "529"},
        {"type": "auto_retry_end", "success": True, "attempt": 2},
        {"type": "auto_retry_end", "success": False, "attempt": 3, "finalError": "529"},
        {"type": "auto_compaction_start", "reason": "threshold"},
        {"type": "auto_compaction_end", "result": result, "aborted": False, "willRetry": False},
        {"type": "auto_compaction_start", "reason": "overflow"},
        {"type": "auto_compaction_end", "result": None, "aborted": False, "willRetry": False, "errorMessage": "no"},
        {"type": "queue_update", "steering": ["go"], "followUp": []},
        {"type": "queue_update", "steering": [], "followUp": [], "dropped": ["go"]},
    ]


@given(st.text(alphabet="a\né\U0001f600\ud83d", max_size=30), st.integers(0, 5_000))
def test_the_tail_of_an_output_is_its_end(text: str, times: int) -> None:
    text *= times
    end = tail(text)
    assert text.endswith(end)
    assert size(end) <= MOST_BYTES
    assert end.removesuffix("\n").count("\n") < MOST_LINES
    if end != text:
        one_more = text[-len(end) - 1 :]
        assert size(one_more) > MOST_BYTES or one_more.removesuffix("\n").count("\n") >= MOST_LINES


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("x\n" * MOST_LINES, "x\n" * MOST_LINES),
        ("x\n" * 5000, "x\n" * MOST_LINES),
        ("x\n" * 5000 + "y", "x\n" * (MOST_LINES - 1) + "y"),
        ("é" * MOST_BYTES + "x", "é" * (MOST_BYTES // 2 - 1) + "x"),
        ("z" * MOST_BYTES, "z" * MOST_BYTES),
    ],
)
def test_the_tail_keeps_whole_characters_and_as_many_lines_as_fit(text: str, end: str) -> None:
    assert tail(text) == end


@pytest.mark.parametrize("stream", ["full", "deltas"])
def test_frames_are_made_as_they_are_asked_for(stream: Literal["full", "deltas"]) -> None:
    def happening() -> Iterable[events.Event]:
        yield STARTED
        raise AssertionError("nobody asked for more")

    first = next(iter(PiEncoder(Manner(stream)).encode(happening())))
    assert b"".join(first).startswith(b'{"type":"message_start"')


def test_a_run_that_could_not_begin_has_an_end_all_the_same() -> None:
    told = lines([events.Settled("prompt", "error", "it broke"), events.Settled("compact", "error", "it broke")])
    assert told == [{"type": "agent_start"}, {"type": "agent_end", "messages": [], "errorMessage": "it broke"}]


def test_a_run_that_broke_is_brought_to_its_end() -> None:
    encoder = PiEncoder()
    call = ToolCall("t1", "bash", {})
    lines([events.RunStarted(), events.UserSaid(GO), events.RunEnded("end", "", (GO,))], encoder)
    lines([events.RunStarted(), events.UserSaid(GO), events.StepStarted(1), STARTED], encoder)
    told = lines([events.Settled("prompt", "error", "it broke")], encoder)
    assert types(told) == ["message_end assistant", "turn_end", "agent_end"]
    assert [told[0]["message"]["errorMessage"], told[2]["errorMessage"]] == ["it broke", "it broke"]
    lines([events.RunStarted(), events.StepStarted(1), events.ToolStarted(call)], encoder)
    told = lines([events.Settled("prompt", "error", "it broke")], encoder)
    assert types(told)[0] == "tool_execution_end"
    assert types(told)[-2:] == ["turn_end", "agent_end"]
    assert lines(
        [events.RunStarted(), events.RunEnded("error", "no", ()), events.Settled("prompt", "error", "no")]
    ) == [
        {"type": "agent_start"},
        {"type": "agent_end", "messages": [], "errorMessage": "no"},
    ]
