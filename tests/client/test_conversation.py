"""Commands, answers and what the agent is doing, without a pipe."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from linnet.client.conversation import Answered, Conversation, Heard, Idle
from linnet.client.pi_work import LegacyWork, PiWork
from linnet.client.request import Request, anything
from linnet.client.work import Begun, Ended, Work
from linnet.client.zot_work import ZotWork
from linnet.wire.incoming import Incoming, Reader, UnknownEvent
from linnet.wire.pi.reading import incoming as pi
from linnet.wire.zot.incoming import reader as zot_reader

Frame = dict[str, Any]


class Talk:
    """A conversation to which frames are said; what it tells is kept in `told`, deltas and all."""

    def __init__(self, work: Work, reader: Reader[Any]) -> None:
        self.talk: Conversation[Any] = Conversation(work)
        self.reader = reader
        self.told: list[Any] = []

    def ask(self, name: str, **fields: Any) -> str:
        id, line, outputs = self.talk.ask(Request(name, anything, None, fields))
        assert json.loads(line) == {"id": id, "type": name, **fields}
        self.told += outputs
        return id

    def say(self, *frames: Frame) -> list[Any]:
        outputs = []
        for frame in frames:
            line = json.dumps(frame).encode()
            outputs += self.talk.take(Incoming(self.reader.read(line), line))
        self.told += outputs
        return outputs

    def answer(self, id: str, name: str, *, success: bool = True, **more: Any) -> list[Any]:
        return self.say({"type": "response", "id": id, "command": name, "success": success, **more})

    def state(self, *, streaming: bool = False, compacting: bool = False) -> None:
        """Answer the question that is due."""
        [asked] = [json.loads(line) for line in self.talk.question(again=True).splitlines()]
        assert asked["type"] == "get_state"
        self.answer(asked["id"], "get_state", data={"isStreaming": streaming, "isCompacting": compacting})

    @property
    def ended(self) -> list[str]:
        return [each.id for each in self.told if isinstance(each, Ended)]

    @property
    def idle(self) -> bool:
        return self.talk.work.is_idle


def zot() -> Talk:
    return Talk(ZotWork(), zot_reader())


def pi_talk() -> Talk:
    return Talk(PiWork(), pi.reader())


def event(type: str, **fields: Any) -> Frame:
    return {"type": type, **fields}


def test_answers_find_their_commands_in_any_order() -> None:
    talk = zot()
    first, second = talk.ask("ping"), talk.ask("ping")
    [late] = talk.answer(second, "ping")
    [early] = talk.answer(first, "ping")
    assert (late.id, early.id) == (second, first)


def test_an_answer_to_nobody_is_an_event() -> None:
    [heard] = zot().answer("99", "ping", data={"pong": True})
    assert isinstance(heard, Heard)
    assert isinstance(heard.event, UnknownEvent)
    assert heard.event.raw["data"] == {"pong": True}


def test_an_answer_that_nobody_waits_for_any_more_is_dropped_once() -> None:
    talk = zot()
    id = talk.ask("ping")
    talk.talk.forget(id)
    assert talk.answer(id, "ping") == []
    [again] = talk.answer(id, "ping")
    assert isinstance(again, Heard)


def test_an_answer_without_an_id_belongs_to_the_oldest_command_of_its_name() -> None:
    talk = pi_talk()
    talk.ask("get_state")
    first, second = talk.ask("get_tree"), talk.ask("get_tree")
    lost = {"type": "response", "command": "get_tree", "success": False, "error": "Unknown command: get_tree"}
    assert [each.id for each in talk.say(lost, lost) if isinstance(each, Answered)] == [first, second]


def test_a_refusal_that_names_nothing_belongs_to_the_only_command() -> None:
    talk = pi_talk()
    only = talk.ask("get_state")
    lost = {"type": "response", "command": "parse", "success": False, "error": "boom"}
    [answered] = talk.say(lost)
    assert answered.id == only
    talk.ask("get_state")
    talk.ask("get_tree")
    [heard] = talk.say(lost)
    assert isinstance(heard, Heard)


def test_a_queued_prompt_of_zots_begins_with_its_answer_and_ends_with_its_own_done() -> None:
    talk = zot()
    first, second = talk.ask("prompt"), talk.ask("prompt")
    talk.answer(first, "prompt")
    talk.say(event("done"))
    assert (talk.ended, talk.idle) == ([first], False)
    talk.answer(second, "prompt")
    assert Begun(second) in talk.told
    assert talk.say(event("done"))[-2:] == [Ended(second), Idle()]
    assert talk.idle


def test_a_refused_prompt_leaves_the_agent_idle() -> None:
    for talk in (zot(), pi_talk()):
        id = talk.ask("prompt", message="")
        assert not talk.idle
        assert isinstance(talk.answer(id, "prompt", success=False, error="no")[-1], Idle)


def test_a_compaction_of_zots_ends_however_it_ends() -> None:
    for frames in (
        [event("compact_done", summary="s")],
        [event("error", message="nothing to compact")],
        [event("error", message="nothing to compact"), event("done")],
        [event("turn_end", stop="aborted"), event("done")],
    ):
        talk = zot()
        id = talk.ask("compact")
        talk.answer(id, "compact")
        talk.say(*frames)
        assert (talk.ended, talk.idle) == ([id], True)


def test_an_aborted_compaction_of_zots_is_over_though_nothing_is_printed() -> None:
    talk = zot()
    compact = talk.ask("compact")
    talk.answer(compact, "compact")
    talk.answer(talk.ask("abort"), "abort")
    assert talk.ended == [compact]
    prompt = talk.ask("prompt")
    talk.say(event("turn_end", stop="aborted"), event("done"))  # What linnet prints of it is no end of the next one.
    assert talk.ended == [compact]
    talk.answer(prompt, "prompt")
    talk.say(event("done"))
    assert talk.ended == [compact, prompt]


def test_words_that_come_before_the_answer_belong_to_the_oldest_prompt_that_waits() -> None:
    talk = zot()
    first, second = talk.ask("prompt"), talk.ask("prompt")
    begun, heard = talk.say(event("text_delta", delta="a"))
    assert begun == Begun(first)
    assert isinstance(heard, Heard)
    talk.answer(first, "prompt")
    talk.say(event("done"))
    assert (talk.ended, talk.idle) == ([first], False)
    talk.answer(second, "prompt", success=False)
    assert talk.idle


def begun(message: str = "hi", **data: Any) -> tuple[Talk, str]:
    talk = pi_talk()
    id = talk.ask("prompt", message=message)
    talk.answer(id, "prompt", data=data)
    return talk, id


def test_between_the_answer_and_the_start_of_its_run_a_prompt_is_not_over() -> None:
    talk, id = begun()
    assert not talk.idle
    assert not talk.talk.question()
    talk.say(event("agent_start"), event("agent_end"))
    talk.state()
    assert (talk.ended, talk.idle) == ([id], True)


def test_a_retry_belongs_to_the_prompt() -> None:
    talk, id = begun()
    talk.say(event("agent_start"), event("agent_end"), event("auto_retry_start"))
    assert not talk.talk.question()
    talk.say(event("agent_start"), event("agent_end"))
    assert not talk.ended
    talk.say(event("auto_retry_end", success=True, attempt=1))
    talk.state()
    assert talk.ended == [id]


def test_a_compaction_belongs_to_the_prompt_under_both_its_names() -> None:
    for name in ("compaction", "auto_compaction"):
        talk, id = begun()
        talk.say(event("agent_start"), event("agent_end"), event(f"{name}_start", reason="overflow"))
        assert not talk.talk.question()
        talk.say(event(f"{name}_end", willRetry=True))
        assert not talk.talk.question()  # A run follows: no need to ask.
        assert not talk.ended
        talk.say(event("agent_start"), event("agent_end"))
        talk.state()
        assert talk.ended == [id]


def test_an_abort_may_keep_a_run_from_beginning() -> None:
    talk, id = begun()
    talk.answer(talk.ask("abort"), "abort")
    talk.state(streaming=True)
    assert not talk.ended
    talk.state()
    assert talk.ended == [id]


def test_an_agent_that_says_it_is_busy_is_asked_again_after_the_next_event_or_when_it_is_time() -> None:
    talk, _ = begun()
    talk.say(event("agent_start"), event("agent_end"))
    talk.state(streaming=True)
    assert talk.talk.is_unsure
    assert not talk.talk.question()
    assert talk.talk.question(again=True)

    talk, _id = begun()
    talk.say(event("agent_start"), event("agent_end"))
    talk.state(streaming=True)
    talk.say(event("queue_update", steering=[], followUp=[]))
    assert talk.talk.question()


def test_settled_is_the_end_without_a_question() -> None:
    talk, id = begun(disposition="started")
    talk.say(event("agent_start"), event("agent_end", messages=[], willRetry=True), event("auto_retry_start"))
    talk.say(event("agent_start"), event("auto_retry_end", success=True), event("agent_end"))
    assert talk.say(event("agent_settled"))[-2:] == [Ended(id), Idle()]
    assert not talk.talk.question()


def test_settled_in_the_middle_of_a_run_is_not_taken_at_its_word() -> None:
    talk, id = begun()
    talk.say(event("agent_start"), event("agent_settled"))
    assert not talk.idle
    talk.state()
    assert talk.ended == [id]


def test_what_an_extension_handled_is_over_if_the_agent_says_so() -> None:
    for talk, id in (begun(disposition="handled"), begun("/hi")):
        assert not talk.idle
        talk.state()
        assert talk.ended == [id]


def test_an_agent_that_cannot_be_asked_has_told_all() -> None:
    talk, id = begun()
    talk.say(event("agent_start"), event("agent_end"))
    asked = json.loads(talk.talk.question())
    talk.answer(asked["id"], "get_state", success=False, error="Unknown command: get_state")
    assert talk.ended == [id]


def test_a_move_ends_a_run_that_says_nothing_more() -> None:
    talk, id = begun()
    talk.say(event("agent_start"))
    talk.answer(talk.ask("new_session"), "new_session", data={"cancelled": False})
    talk.state()
    assert (talk.ended, talk.idle) == ([id], True)


def test_the_earlier_protocol_is_answered_at_once_and_ends_with_the_run_or_an_error() -> None:
    for last in ([event("agent_start"), event("agent_end")], [event("error", error="no")]):
        talk = Talk(LegacyWork(), pi.reader())
        id = talk.ask("prompt", message="hi")
        assert any(isinstance(each, Answered) for each in talk.told)
        talk.say(*last)
        assert (talk.ended, talk.idle) == ([id], True)


RUNS = ["agent_start", "agent_end", "agent_settled", "auto_retry_start", "auto_retry_end", "queue_update"]
OTHERS = ["compaction_start", "compaction_end", "turn_end", "error", "compact_done", "message_update", "done"]
names = st.sampled_from([*RUNS, *OTHERS])
commands = st.sampled_from(["prompt", "steer", "compact", "abort", "new_session", "get_state"])
steps = st.lists(st.tuples(st.just("say"), names) | st.tuples(st.just("ask"), commands) | st.just(("answer", "")))


@given(st.sampled_from([ZotWork, PiWork, LegacyWork]), steps, st.booleans())
def test_whatever_comes_in_whatever_order_everything_ends_once_in_the_end(
    kind: Any, steps: list[tuple[str, str]], success: bool
) -> None:
    talk = Talk(kind(), zot_reader() if kind is ZotWork else pi.reader())
    open: dict[str, str] = {}
    refused: set[str] = set()
    prompts: set[str] = set()
    for what, name in steps:
        if what == "say":
            talk.say(event(name))
        elif what == "ask":
            id = talk.ask(name, message="hi")
            open[id] = name
            if name == "prompt":
                prompts.add(id)
        elif open:
            id, name = open.popitem()
            talk.answer(id, name, success=success, error="no")
            refused |= set() if success else {id}
    for id, name in open.items():
        talk.answer(id, name)
    talk.say(event("agent_start"), event("auto_retry_end"), event("compaction_end"), event("agent_end"))
    for _ in range(2):
        talk.say(event("compact_done", summary=""))
    if ("say", "agent_settled") in steps:  # One that says so says it every time.
        talk.say(event("agent_settled"))
    if talk.talk.work.question:
        talk.state()
    if kind is ZotWork:
        talk.say(event("done"))
    assert talk.idle
    assert len(talk.ended) == len(set(talk.ended))
    if kind is not LegacyWork:
        assert prompts - refused <= set(talk.ended)
        assert not refused & set(talk.ended)
