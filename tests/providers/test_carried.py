"""One conversation, carried from provider to provider: every request is one that the vendor's own types accept."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from linnet.core.context.history import Sendable, repaired
from linnet.core.messages import (
    AssistantMessage,
    Image,
    Message,
    Summary,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from linnet.core.models import LEVELS, Model, Reasoning
from linnet.core.toolspec import ToolSpec
from linnet.providers import apis
from tests.providers.apis import APIS, LS, READ, Api
from tests.providers.conversations import PNG, cut_off, eventful, reply, results, user

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("vendors")]  # Their packages take long to import.


PAIRS = list(product(APIS, APIS))


def named(value: object) -> str | None:
    return value.name if isinstance(value, Api) else value.id if isinstance(value, Model) else None


def carried(*speakers: Api) -> None:
    """Fail unless each API takes each request of a conversation in which they speak in turn."""
    history: list[Message] = [user("Look at this.", PNG)]
    for api in speakers:
        api.demand(*repaired(history), reasoning="high")
        said = reply(api)
        history += [said, *results(said)]
        for other in speakers:
            other.demand(*repaired(history), reasoning="high")
            other.demand(*repaired(history), reasoning="off", tools=())
        history += [user("And now?"), cut_off(api, "aborted"), user("Go on.")]


def test_every_api_that_asks_a_server_is_judged() -> None:
    assert {api.wire for api in APIS} == {name for name, api in apis.APIS.items() if api.remote}


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=named)
def test_a_conversation_can_change_providers_in_mid_session(one: Api, other: Api) -> None:
    carried(one, other, one)


def test_a_conversation_can_go_through_all_providers_and_back() -> None:
    carried(*APIS, *reversed(APIS))


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=named)
def test_a_conversation_can_change_providers_where_it_was_compacted(one: Api, other: Api) -> None:
    said = reply(one)
    compacted: list[Message] = [Summary("They read files.", 1_000, 0), said, *results(said), user("And now?")]
    other.demand(*repaired(compacted), reasoning="high")


@pytest.mark.parametrize("api", APIS, ids=named)
def test_a_conversation_can_change_models_in_mid_session(api: Api) -> None:
    another = replace(api.model, id=api.model.id + "-another")
    history = eventful(api)
    for level in LEVELS:
        api.demand(*history, reasoning=level, model=another)


EVERY = [(api, model) for api in APIS for model in api.models]


@pytest.mark.parametrize(("api", "model"), EVERY, ids=named)
def test_every_model_takes_every_level_of_thinking_in_every_conversation(api: Api, model: Model) -> None:
    said = reply(api)
    by_it = replace(said, model=model.id)
    conversations: list[list[Sendable]] = [
        [user("hi")],
        repaired([user("go", PNG), by_it, *results(said)]),
        repaired([user("go", PNG), said, *results(said), user("on")]),
        eventful(api),
    ]
    for level, history in product(LEVELS, conversations):
        for tools in ((READ, LS), ()):
            api.demand(*history, model=model, reasoning=level, tools=tools)


words = st.text(max_size=5)
user_parts = st.lists(words.map(Text) | st.just(PNG), max_size=3).map(tuple)
signatures = st.sampled_from(["", "c2lnbmVk", "bGFzdA=="])
thoughts = st.builds(Thinking, words, signatures, st.booleans())
arguments = st.dictionaries(words, words | st.integers() | st.none(), max_size=2)


@st.composite
def histories(draw: st.DrawFn) -> list[Sendable]:
    """Return any history, repaired: replies are cut anywhere, in a thought as well, and users say nothing at all."""
    content: tuple[Text | Image, ...] = draw(user_parts)
    messages: list[Message] = [UserMessage(content, 0)]
    for turn in range(draw(st.integers(0, 4))):
        by = draw(st.sampled_from(APIS)).model
        calls = [ToolCall(f"c.{turn}_{n}", "read", draw(arguments)) for n in range(draw(st.integers(0, 2)))]
        rest = draw(st.lists(words.map(Text) | thoughts, max_size=3))
        messages.append(AssistantMessage((*rest, *calls), 0, by.provider, by.id, api=by.api))
        messages += [ToolResult(call.id, "read", draw(user_parts), 0, draw(st.booleans())) for call in calls]
        if draw(st.booleans()):
            messages.append(UserMessage(draw(user_parts), 0))
    return repaired(messages) or [user("hi")]


@pytest.mark.parametrize("api", APIS, ids=named)
@given(history=histories(), level=st.sampled_from(LEVELS), tools=st.sampled_from([(READ, LS), ()]))
def test_any_history_is_a_request_that_the_vendors_types_and_rules_accept(
    api: Api, history: list[Sendable], level: Reasoning, tools: tuple[ToolSpec, ...]
) -> None:
    api.demand(*history, reasoning=level, tools=tools)
