"""The machine for one program: every order of lines, questions, deadlines, aborts and deaths."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linnet.core.messages import Image, Text
from linnet.extensions.lines import Oversized
from linnet.extensions.programs import frames
from linnet.extensions.programs.effects import (
    Allow,
    Ask,
    Become,
    CommandDone,
    CommandFailed,
    Deny,
    Effect,
    EndInput,
    Kill,
    Log,
    Notify,
    Offer,
    OfferCommand,
    Progress,
    Report,
    Settle,
    Withdraw,
    Write,
)
from linnet.extensions.programs.facts import (
    Aborted,
    Answered,
    CallAsked,
    Closing,
    CommandAsked,
    Exited,
    Expired,
    Fact,
    GuardAsked,
    Happened,
    Heard,
    Idled,
    NotStarted,
    Taken,
)
from linnet.extensions.programs.protocol import MOST_REPORTS, Protocol
from linnet.tools.spec import ToolOutput

OFFERS = frames.Offers("1.0", events=("tool_result",), intercept=("tool_result", "input"))
ACK = frames.HelloAck("0.1.62", "anthropic", "claude", "/work", "/ext", "/ext", OFFERS)
OBJECT = {"type": "object", "properties": {}}
ZOTS = (
    frames.HelloAck,
    frames.ToolCall,
    frames.Event,
    frames.EventIntercept,
    frames.CommandInvoked,
    frames.Shutdown,
)


def said(**frame: Any) -> Heard:
    return Heard(json.dumps(frame).encode())


def begun(*facts: Fact, capabilities: tuple[str, ...] = ()) -> Protocol:
    protocol = Protocol("tour", ACK)
    hello = said(type="hello", name="tour", version="1", capabilities=list(capabilities))
    for fact in (hello, said(type="register_tool", name="weather", schema=OBJECT), *facts, said(type="ready")):
        protocol.feed(fact)
    return protocol


def guard(id: str = "1", event: str = "tool_call") -> GuardAsked:
    return GuardAsked(id, frames.Occasion(event=event, tool_name="bash"))


def texts(output: ToolOutput) -> list[str]:
    return [part.text for part in output.content if isinstance(part, Text)]


ids = st.sampled_from(["1", "2", "3", "zzz"])
anything = st.sampled_from([None, 5, "yes", [1], {"command": "x"}, True])
blocks = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["text", "image", "video"])}, optional={"text": st.text()})
)
answers = st.one_of(
    st.fixed_dictionaries({"type": st.just("tool_result"), "id": ids, "content": blocks | anything}),
    st.fixed_dictionaries(
        {"type": st.just("event_intercept_response"), "id": ids},
        optional={"block": st.booleans() | anything, "reason": anything, "modified_args": anything},
    ),
    st.fixed_dictionaries(
        {"type": st.just("command_response"), "id": ids},
        optional={"action": st.sampled_from(["prompt", "display", "dance"]), "prompt": st.text()},
    ),
)
others = st.sampled_from(
    [
        {"type": "hello", "name": "tour"},
        {"type": "hello", "name": "tour", "capabilities": ["linnet"]},
        {"type": "hello"},
        {"type": "ready"},
        {"type": "register_tool", "name": "weather", "schema": OBJECT},
        {"type": "register_tool", "name": "b d", "schema": None},
        {"type": "subscribe", "events": ["turn_start"], "intercept": ["tool_call"]},
        {"type": "subscribe", "events": 5},
        {"type": "notify", "level": None, "message": "x"},
        {"type": "tool_progress", "id": "1", "text": "half"},
        {"type": "nosuch"},
        [1],
        None,
    ]
)
lines = st.one_of(
    st.builds(lambda frame: Heard(json.dumps(frame).encode()), answers | others),
    st.builds(Heard, st.binary(max_size=20)),
    st.builds(lambda head: Heard(Oversized(1 << 26, head, b"")), st.sampled_from([b"", b'{"id":"1"', b'{"id":"9"'])),
)
questions = st.one_of(
    st.builds(CallAsked, ids, st.sampled_from(["weather", "nosuch"]), st.just({})),
    st.builds(guard, ids),
    st.builds(CommandAsked, ids, st.just("hi"), st.text(max_size=3)),
)
facts = st.one_of(
    lines,
    lines,
    questions,
    st.builds(Expired, ids),
    st.builds(Aborted, ids),
    st.builds(Happened, st.builds(lambda event: frames.Occasion(event=event), st.sampled_from(["turn_start", "x"]))),
    st.builds(Answered, st.builds(frames.Answer, ids)),
    st.just(Closing()),
    st.just(Idled()),
    st.just(Taken("weather", "linnet itself")),
    st.just(NotStarted("spawn: no such file")),
    st.just(Exited("exited with code 1")),
)


@given(st.booleans(), st.lists(facts, max_size=40))
def test_in_any_order_every_question_has_one_answer_and_nothing_is_allowed_unsaid(
    greets: bool, arriving: list[Fact]
) -> None:
    protocol = Protocol("tour", ACK)
    asked: dict[str, Fact] = {}
    settled: list[str] = []
    ended = greeted = False
    opening = [said(type="hello", name="tour"), said(type="register_tool", name="weather", schema=OBJECT)]
    for fact in [*(opening if greets else []), *arriving, Exited("ended")]:
        if isinstance(fact, CallAsked | GuardAsked | CommandAsked):
            if fact.id in asked:
                continue  # Whoever asks never uses an id twice.
            asked[fact.id] = fact
        effects = protocol.feed(fact)
        for effect in effects:
            if isinstance(effect, Write):
                assert not ended
                greeted = greeted or isinstance(effect.frame, frames.HelloAck)
                assert greeted
                assert isinstance(effect.frame, ZOTS) or protocol.knows_linnet or isinstance(fact, Answered)
            elif isinstance(effect, EndInput):
                ended = True
            elif isinstance(effect, Settle):
                settled.append(effect.id)
                _check(asked[effect.id], effect, fact)
        ended = ended or protocol.phase == "gone"
    assert sorted(settled) == sorted(asked)


def _check(question: Fact, settle: Settle, cause: Fact) -> None:
    """An answer is of the question's kind, and a yes was said by the program in so many words."""
    match question:
        case CallAsked():
            assert isinstance(settle.outcome, ToolOutput)
        case CommandAsked():
            assert isinstance(settle.outcome, CommandDone | CommandFailed)
        case _:
            assert isinstance(settle.outcome, Allow | Deny)
    if isinstance(settle.outcome, Allow):
        assert isinstance(cause, Heard)
        assert isinstance(cause.line, bytes)
        answer = json.loads(cause.line)
        assert (answer["type"], answer["id"]) == ("event_intercept_response", settle.id)
        assert answer.get("block") in (None, False)
        assert settle.outcome.args is None or isinstance(answer["modified_args"], dict | None)


def test_a_program_is_greeted_registers_and_is_told_that_the_session_starts() -> None:
    protocol = Protocol("tour", ACK)
    assert protocol.feed(said(type="hello", name="whatever", capabilities=["tools", 5])) == [Write(ACK)]
    (offer,) = protocol.feed(said(type="register_tool", name="weather", description="Weather.", schema={}))
    assert isinstance(offer, Offer)
    assert (offer.spec.name, offer.spec.schema) == ("weather", OBJECT)
    assert protocol.feed(said(type="register_command", name="hi", description="say hi")) == [
        OfferCommand("hi", "say hi")
    ]
    subscribe = said(type="subscribe", events=["session_start", "nosuch", "tool_result"], intercept=["turn_end"])
    assert protocol.feed(subscribe) == []
    started = Write(frames.Event(event="session_start"))
    assert protocol.feed(said(type="ready")) == [Become(), started]
    assert (sorted(protocol.events), sorted(protocol.intercepts)) == (["session_start"], [])
    assert protocol.feed(said(type="ready")) == []


def test_what_is_linnets_own_is_for_those_who_know_linnet() -> None:
    subscribe = said(type="subscribe", events=["tool_result"], intercept=["tool_result", "input", "tool_call"])
    assert begun(subscribe).intercepts == {"tool_call"}
    knowing = begun(subscribe, capabilities=("linnet",))
    assert knowing.events == {"tool_result"}
    assert knowing.intercepts == {"tool_call", "tool_result", "input"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"type":"ready"}', 'first frame must be hello (got "ready")'),
        (b'{"type":"nosuch"}', 'first frame must be hello (got "nosuch")'),
        (b'{"type":"hello"}', "parse hello: name is required"),
        (b'{"type":"hello","name":5}', "parse hello: hello: Expected `str | null`, got `int` - at `$.name`"),
        (b"hi there", "parse hello: malformed json from extension: JSON is malformed: invalid character (byte 0)"),
        (b"null", "parse hello: malformed json from extension: Expected `object`, got `null`"),
    ],
)
def test_one_that_does_not_begin_with_hello_is_killed_and_told_of(line: bytes, why: str) -> None:
    protocol = Protocol("tour", ACK)
    assert protocol.feed(Heard(line)) == [Report("load", why), Kill()]
    assert protocol.feed(said(type="hello", name="tour")) == []
    assert protocol.feed(Exited("exited with code 0")) == []


@pytest.mark.parametrize(
    "frame",
    [
        {"name": ""},
        {"name": "two words"},
        {"name": "x" * 65},
        {"name": 5},
        {"name": "ok", "schema": None},
        {"name": "ok", "schema": "object"},
        {"name": "ok", "schema": {"type": "string"}},
        {"name": "weather", "schema": OBJECT},
        {"name": "ok", "schema": OBJECT, "description": "x" * 70_000},
        {"name": "ok", "schema": {**OBJECT, "title": "x" * 300_000}},
    ],
)
def test_a_tool_that_no_vendor_would_accept_is_refused_as_it_is_registered(frame: dict[str, Any]) -> None:
    protocol = begun()
    effects = protocol.feed(said(type="register_tool", **{"schema": OBJECT, **frame}))
    assert not any(isinstance(effect, Offer) for effect in effects)
    assert [effect.event for effect in effects if isinstance(effect, Report)] == ["register_tool"]
    assert list(protocol.tools) == ["weather"]


def test_a_result_is_shown_in_zots_words() -> None:
    protocol = begun()
    assert protocol.feed(CallAsked("1", "weather", {"city": "Berlin"})) == [
        Write(frames.ToolCall("1", "weather", {"city": "Berlin"}))
    ]
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    content = [
        {"type": "text", "text": "Berlin: 16 C"},
        {"type": "image", "mime_type": "image/png", "data": png},
        {"type": "video", "text": "?"},
        {"type": "text", "text": ""},
    ]
    (settle,) = protocol.feed(said(type="tool_result", id="1", content=content))
    assert isinstance(settle, Settle)
    shown = (Text("Berlin: 16 C"), Image("image/png", png), Text('[unknown block type "video" from extension tour]'))
    assert settle.outcome == ToolOutput(shown)
    assert protocol.feed(said(type="tool_result", id="1", content=[])) == [
        Log("a tool_result that nobody waits for: 1")
    ]


@pytest.mark.parametrize(
    ("answer", "text", "is_error"),
    [
        ({"content": []}, "(extension returned no content)", False),
        ({}, "(extension returned no content)", False),
        ({"content": None, "is_error": True}, "(extension returned no content)", True),
        ({"content": [{"type": "text", "text": "bad luck"}], "is_error": True}, "bad luck", True),
        ({"content": [{"text": "?"}]}, '[unknown block type "" from extension tour]', False),
    ],
)
def test_results_of_every_kind(answer: dict[str, Any], text: str, is_error: bool) -> None:
    protocol = begun()
    protocol.feed(CallAsked("1", "weather", {}))
    (settle,) = protocol.feed(said(type="tool_result", id="1", **answer))
    assert isinstance(settle, Settle)
    assert settle.outcome == ToolOutput((Text(text),), is_error=is_error)


def test_an_image_that_cannot_be_read_is_an_error() -> None:
    protocol = begun()
    protocol.feed(CallAsked("1", "weather", {}))
    content = [{"type": "image", "mime_type": "image/png", "data": "!!"}]
    (settle,) = protocol.feed(said(type="tool_result", id="1", content=content))
    assert isinstance(settle, Settle)
    assert isinstance(settle.outcome, ToolOutput)
    assert settle.outcome.is_error
    assert texts(settle.outcome)[0].startswith("extension tour/weather returned undecodable image: ")


@pytest.mark.parametrize(
    ("fact", "text"),
    [
        (Expired("1"), "extension tour/weather failed: timeout waiting for tour/weather"),
        (Aborted("1"), "extension tour/weather failed: context canceled"),
        (Exited("exited with code 3"), "extension tour/weather failed: the extension exited with code 3"),
        (
            said(type="tool_result", id="1", content="five"),
            "extension tour/weather failed: tool_result: Expected `array | null`, got `str` - at `$.content`",
        ),
        (
            Heard(Oversized(40 << 20, b'{"type":"tool_result","id":"1","content":[', b"")),
            "extension tour/weather failed: a line of 40 MiB, which is too long",
        ),
        (Closing(), "extension tour/weather failed: it is being closed"),
    ],
)
def test_a_call_that_fails_ends_at_once(fact: Fact, text: str) -> None:
    protocol = begun()
    protocol.feed(CallAsked("1", "weather", {}))
    (settle,) = (effect for effect in protocol.feed(fact) if isinstance(effect, Settle))
    assert isinstance(settle.outcome, ToolOutput)
    assert (texts(settle.outcome), settle.outcome.is_error) == ([text], True)


def test_a_line_that_is_too_long_ends_only_the_call_that_it_answers_if_it_says_which() -> None:
    protocol = begun()
    protocol.feed(CallAsked("1", "weather", {}))
    protocol.feed(CallAsked("2", "weather", {}))
    naming = protocol.feed(Heard(Oversized(40 << 20, b'{"text":"\\"id\\":\\"1\\"', b'"id":"2"}')))
    assert [effect.id for effect in naming if isinstance(effect, Settle)] == ["2"]
    silent = protocol.feed(Heard(Oversized(40 << 20, b"x", b"x")))
    assert [effect.id for effect in silent if isinstance(effect, Settle)] == ["1"]


def test_a_call_of_a_dead_one_ends_at_once() -> None:
    protocol = begun()
    protocol.feed(Exited("exited with code 1"))
    (settle,) = protocol.feed(CallAsked("1", "weather", {}))
    assert isinstance(settle, Settle)
    assert isinstance(settle.outcome, ToolOutput)
    assert texts(settle.outcome) == ['extension tour/weather failed: no extension registered for tool "weather"']


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({}, Allow()),
        ({"block": False, "reason": "just a note"}, Allow()),
        ({"block": True, "reason": "refused: policy"}, Deny("refused: policy")),
        ({"block": True}, Deny("tool call refused by extension guard")),
        ({"block": True, "reason": "r", "modified_args": {"command": "echo X"}}, Deny("r")),
        ({"modified_args": {"command": "echo"}}, Allow({"command": "echo"})),
        ({"modified_args": None}, Allow({})),
    ],
)
def test_what_a_guard_may_say(answer: dict[str, Any], outcome: Allow | Deny) -> None:
    protocol = begun(said(type="subscribe", intercept=["tool_call"]))
    (asked,) = protocol.feed(guard())
    assert asked == Write(frames.EventIntercept(id="1", event="tool_call", tool_name="bash"))
    effects = protocol.feed(said(type="event_intercept_response", id="1", **answer))
    assert effects == [Settle("1", outcome)]


@pytest.mark.parametrize(
    "fact",
    [
        Expired("1"),
        Exited("exited with code 1"),
        said(type="event_intercept_response", id="1", block="yes"),
        said(type="event_intercept_response", id="1", modified_args="echo hi"),
        said(type="event_intercept_response", id="1", modified_args=[1]),
        Heard(Oversized(1 << 26, b"", b"")),
    ],
)
def test_a_guard_that_fails_denies(fact: Fact) -> None:
    protocol = begun(said(type="subscribe", intercept=["tool_call"]))
    protocol.feed(guard())
    effects = protocol.feed(fact)
    (settle,) = (effect for effect in effects if isinstance(effect, Settle))
    assert isinstance(settle.outcome, Deny)
    assert settle.outcome.failed


def test_an_answer_with_a_wrong_id_is_told_of_and_allows_nothing() -> None:
    protocol = begun(said(type="subscribe", intercept=["tool_call"]))
    protocol.feed(guard())
    effects = protocol.feed(said(type="event_intercept_response", id="zzz"))
    assert [type(effect) for effect in effects] == [Log, Report]
    expired = protocol.feed(Expired("1"))
    assert any(isinstance(effect, Settle) and isinstance(effect.outcome, Deny) for effect in expired)


def test_a_guard_that_is_gone_goes_on_denying() -> None:
    protocol = begun(said(type="subscribe", intercept=["tool_call"]))
    protocol.feed(Exited("exited with code 1"))
    assert protocol.feed(guard()) == [Settle("1", Deny("the extension exited with code 1", failed=True))]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"action": "prompt", "prompt": "do it"}, CommandDone("prompt", "do it")),
        ({"action": "insert", "insert": "text"}, CommandDone("insert", "text")),
        ({"action": "display", "display": "hello"}, CommandDone("display", "hello")),
        ({"action": "noop"}, CommandDone("noop")),
        ({}, CommandDone("noop")),
        ({"action": "open_panel", "open_panel": {"id": "p", "title": "T", "lines": ["a", "b"]}},
         CommandDone("display", "T\na\nb")),
        ({"action": "noop", "error": "no luck"}, CommandFailed("no luck")),
        ({"action": "dance"}, CommandFailed('unknown action "dance"')),
    ],
)  # fmt: skip
def test_what_a_command_may_lead_to(answer: dict[str, Any], outcome: CommandDone | CommandFailed) -> None:
    protocol = begun(said(type="register_command", name="hi"))
    assert protocol.feed(CommandAsked("1", "hi", "there")) == [Write(frames.CommandInvoked("1", "hi", "there"))]
    assert protocol.feed(said(type="command_response", id="1", **answer)) == [Settle("1", outcome)]


def test_an_abort_is_told_only_to_those_who_know_the_frame() -> None:
    knowing, zots = begun(capabilities=("linnet",)), begun()
    for protocol in (knowing, zots):
        protocol.feed(CallAsked("1", "weather", {}))
    assert knowing.feed(Aborted("1"))[0] == Write(frames.Cancel("1"))
    assert [type(effect) for effect in zots.feed(Aborted("1"))] == [Settle]
    assert knowing.feed(Aborted("1")) == []


def test_progress_questions_and_notices_are_passed_on() -> None:
    protocol = begun()
    protocol.feed(CallAsked("1", "weather", {}))
    assert protocol.feed(said(type="tool_progress", id="1", text="half")) == [Progress("1", "half")]
    assert protocol.feed(said(type="tool_progress", id="2", text="half")) == []
    assert protocol.feed(said(type="notify", message="x")) == [Notify("", "x")]
    (asked,) = protocol.feed(said(type="ask", id="q", method="confirm", title="Sure?"))
    assert isinstance(asked, Ask)
    assert protocol.feed(Answered(frames.Answer("q", confirmed=True))) == [Write(frames.Answer("q", confirmed=True))]
    protocol.feed(said(type="ask", id="r", method="confirm", title="Sure?"))
    assert Withdraw() in protocol.feed(Aborted("1"))
    assert protocol.feed(said(type="panel_render", panel_id="p", lines=5)) == []


def test_frames_that_make_no_sense_are_told_of_but_do_not_flood() -> None:
    protocol = begun()
    effects: list[Effect] = []
    for _ in range(MOST_REPORTS + 5):
        effects += protocol.feed(Heard(b"hello world"))
    reports = [effect for effect in effects if isinstance(effect, Report)]
    assert len(reports) == MOST_REPORTS
    assert reports[-1].error.endswith("(from here on only in its log)")
    assert len([effect for effect in effects if isinstance(effect, Log)]) == MOST_REPORTS + 5


def test_one_that_is_closed_is_told_goodbye_and_its_end_is_no_news() -> None:
    protocol = begun()
    assert protocol.feed(Closing()) == [Write(frames.Shutdown()), EndInput()]
    assert protocol.feed(said(type="shutdown_ack")) == []
    assert protocol.feed(Exited("exited with code 0")) == []


def test_one_that_says_hello_and_no_more_counts_as_ready_after_a_while() -> None:
    protocol = Protocol("tour", ACK)
    assert protocol.feed(Idled()) == []
    protocol.feed(said(type="hello", name="tour"))
    assert protocol.feed(Idled()) == [Log("no ready frame; auto-readying after idle (legacy SDK?)"), Become()]
    assert protocol.feed(Idled()) == []


def test_one_that_cannot_be_started_is_a_load_failure() -> None:
    assert Protocol("tour", ACK).feed(NotStarted("spawn: x")) == [Report("load", "spawn: x")]


def test_one_that_dies_before_its_hello_is_a_load_failure() -> None:
    assert Protocol("tour", ACK).feed(Exited("exited with code 3")) == [
        Report("load", "extension exited with code 3 before hello")
    ]
