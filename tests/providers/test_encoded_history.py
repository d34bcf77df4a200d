"""What was encoded for an earlier step is kept, and is what would be encoded anew."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from linnet.core.context.history import Sendable
from linnet.core.messages import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResult, UserMessage
from linnet.core.models import Model
from linnet.core.toolspec import ToolSpec
from linnet.providers import catalog
from linnet.providers.anthropic.request import Writer as AnthropicWriter
from linnet.providers.base import Request
from linnet.providers.encoded_history import EncodedHistory
from linnet.providers.openai_chat.request import Writer as ChatWriter

READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


def model(provider: str, id: str) -> Model:
    found, info = catalog.find(provider, id), catalog.PROVIDERS[provider]
    assert found is not None
    return catalog.completed(found, info, info.base_url, info.api)


CLAUDE = model("anthropic", "claude-sonnet-5")
BINDING = model("anthropic", "claude-opus-5-5")
GPT = model("openai", "gpt-5")
Write = Callable[[Request], bytes]


def anthropic_writer() -> Write:
    writer = AnthropicWriter()
    return lambda request: b"".join(writer.write(request).body)


def chat_writer() -> Write:
    writer = ChatWriter()
    return lambda request: b"".join(writer.write(request))


WRITERS = [(CLAUDE, anthropic_writer), (BINDING, anthropic_writer), (GPT, chat_writer)]


def step(number: int, by: Model, calls: int = 1) -> list[Sendable]:
    made = [ToolCall(f"t{number}_{each}", "read", {"path": str(number)}) for each in range(calls)]
    reply = AssistantMessage((Thinking("hm", f"sig{number}"), *made), 0, by.provider, by.id, api=by.api)
    results = [ToolResult(call.id, "read", (Text(f"result {call.id}"),), 0) for call in made]
    return [reply, *results]


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),), 0)


words = st.text(max_size=4)
numbers = st.integers(0, 9)


def reply(text: str, number: int) -> AssistantMessage:
    return AssistantMessage((Text(text or "."), ToolCall(f"c{number}", "read", {})), 0, "a", "b")


def result(text: str, number: int) -> ToolResult:
    return ToolResult(f"c{number}", "read", (Text(text), Image("image/png", "aGk=")), 0)


messages = words.map(user) | st.builds(reply, words, numbers) | st.builds(result, words, numbers)


@pytest.mark.parametrize(("by", "make"), WRITERS)
@given(histories=st.lists(st.tuples(st.integers(0, 6), st.lists(messages, max_size=4)), min_size=1, max_size=6))
def test_a_writer_that_has_written_before_writes_what_a_new_one_would(
    by: Model, make: Callable[[], Write], histories: list[tuple[int, list[Sendable]]]
) -> None:
    """Each request keeps a part of the one before it, from nothing to all, and goes on from there."""
    write = make()
    said: list[Sendable] = [user("go")]
    for kept, more in histories:
        said = [*said[: max(len(said) - 6 + kept, 0)], *more]
        request = Request(by, "Be brief.", said, (READ,), "high")
        assert write(request) == make()(request)


@pytest.mark.parametrize(("by", "make"), WRITERS)
def test_another_model_or_other_tools_begin_anew(by: Model, make: Callable[[], Write]) -> None:
    write = make()
    said = [user("go"), *step(1, by), *step(2, by), *step(3, by), *step(4, by)]
    first = Request(by, "Be brief.", said, (READ,))
    blind = replace(first, model=replace(by, images=False, id=f"{by.id}-b"))
    for request in (first, blind, replace(first, tools=()), replace(first, system="Be long."), first):
        assert write(request) == make()(request)


def test_a_step_spells_only_what_it_adds() -> None:
    spelled: list[int] = []

    def spell(group: Sequence[Sendable], before: None) -> tuple[list[dict[str, Any]], None]:
        spelled.append(len(group))
        return [{"n": len(group)}], None

    history = EncodedHistory(spell, None, unsettled=4)
    said: list[Sendable] = [user("go")]
    for number in range(200):
        said += step(number, CLAUDE)
        spelled.clear()
        history.follow(list(said))
        assert len(spelled) <= 6
    assert len(history.joined([])) == 1
    items = json.loads(b"[" + b"".join(history.joined([{"n": 0}])) + b"]")
    assert len(items) == 401 - 4 + 1


class Talk:
    """A conversation with a model that binds its thoughts to what it was sent."""

    def __init__(self, system: str = "Be brief.") -> None:
        self.writer = AnthropicWriter()
        self.system = system
        self.said: list[Sendable] = [user("go")]

    def step(self, number: int) -> None:
        """Have the model think, with the digest that comes of the request."""
        bound = self.writer.write(self.request).bound
        assert bound
        reply, *results = step(number, BINDING)
        assert isinstance(reply, AssistantMessage)
        thought = Thinking("hm", f"sig{number}", bound=bound)
        self.said += [replace(reply, content=(thought, *reply.content[1:])), *results]

    @property
    def request(self) -> Request:
        return Request(BINDING, self.system, self.said, (READ,), "high")

    @property
    def signatures(self) -> list[str]:
        """Those of the thoughts that go back."""
        body = json.loads(b"".join(self.writer.write(self.request).body))
        blocks = [block for message in body["messages"] for block in message["content"]]
        return [block["signature"] for block in blocks if block["type"] == "thinking"]


@pytest.fixture
def talk() -> Talk:
    talk = Talk()
    for number in (1, 2, 3, 4, 5):
        talk.step(number)
    return talk


EVERY = ["sig1", "sig2", "sig3", "sig4", "sig5"]


def test_bound_thoughts_go_back_as_long_as_nothing_before_them_has_changed(talk: Talk) -> None:
    assert talk.signatures == EVERY
    talk.said.append(user("more"))
    assert talk.signatures == EVERY
    talk.writer = AnthropicWriter()  # Another process, with what was kept.
    assert talk.signatures == EVERY


def test_after_a_compaction_only_later_thoughts_go_back(talk: Talk) -> None:
    talk.said = [user("A summary."), *talk.said[5:]]
    assert talk.signatures == []
    talk.step(6)
    talk.step(7)
    assert talk.signatures == ["sig6", "sig7"]


def test_a_branch_keeps_the_thoughts_of_what_it_shares(talk: Talk) -> None:
    talk.said = [*talk.said[:5], user("Another way.")]
    assert talk.signatures == ["sig1", "sig2"]
    talk.step(8)
    assert talk.signatures == ["sig1", "sig2", "sig8"]


@pytest.mark.parametrize("changed", ["system", "tools"])
def test_another_system_prompt_or_other_tools_leave_all_earlier_thoughts_out(talk: Talk, changed: str) -> None:
    if changed == "system":
        talk.system = "Be long."
        assert talk.signatures == []
        talk.step(6)
        assert talk.signatures == ["sig6"]
        talk.system = "Be brief."  # And back again: what was said meanwhile was sent after something else.
        assert talk.signatures == EVERY
    else:
        fewer = replace(talk.request, tools=())
        assert b'"thinking","thinking"' not in b"".join(talk.writer.write(fewer).body)


def test_thoughts_without_a_digest_are_not_sent_to_a_model_that_binds_them() -> None:
    talk = Talk()
    talk.said += step(1, BINDING)
    assert talk.signatures == []
