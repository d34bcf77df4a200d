"""Streams cut at every byte, on every API: a reply ends once, and what is left of it can be sent to every vendor."""

from contextlib import closing

import pytest
from msgspec.json import encode

from linnet.core.context.history import repaired
from linnet.core.deltas import Delta, Stopped
from linnet.core.messages import AssistantMessage, StopReason, Thinking
from linnet.errors import Cancelled, ProviderError, ProviderUnavailable
from linnet.providers.base import Request
from tests.providers.apis import APIS, LS, READ, Api
from tests.providers.conversations import PNG, drafted, reply, results, user
from tests.providers.loopback import Loopback, answer, heard

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("vendors")]  # Their packages take long to import.


def judged(message: AssistantMessage) -> None:
    """Fail unless every vendor takes a conversation that goes on after this reply, in each way that it can go on."""
    went = repaired([user("go", PNG), message, *results(message), user("on"), message, message, user("and on")])
    just = repaired([user("go"), message, *results(message)])
    for other in APIS:
        other.demand(*went, reasoning="high")
        other.demand(*just, reasoning="high")


def ended_once(deltas: list[Delta], error: ProviderError | Cancelled | None) -> bool:
    """Fail unless a reply ended in exactly one way. Return whether it was whole."""
    stops = [at for at, delta in enumerate(deltas) if isinstance(delta, Stopped)]
    if error is None:
        assert stops == [len(deltas) - 1]
        return True
    assert stops == []
    assert isinstance(error, ProviderUnavailable), error  # Worth another try: the vendor refused nothing.
    return False


@pytest.mark.timeout(600)
@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_a_stream_cut_at_every_byte_ends_once_and_leaves_what_every_vendor_takes(api: Api) -> None:
    whole = answer(api.content_type, api.pieces)
    request = Request(api.model, "Be brief.", (user("go"),), (READ, LS), "high")
    left: set[bytes] = set()
    stops: tuple[StopReason | None, ...]
    with Loopback() as server, closing(api.open(server.url)) as provider:
        for cut in range(len(whole) + 1):
            server.answer = whole[:cut]
            deltas, error = heard(provider, request)
            stops = (None,) if ended_once(deltas, error) else ("error", "aborted", "length")
            for stop in stops:
                message = drafted(api, deltas, stop)
                if encode(message) not in left:
                    left.add(encode(message))
                    judged(message)
    assert encode(reply(api)) in left


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_a_whole_stream_is_read_as_it_was_meant(api: Api) -> None:
    said = reply(api)
    assert said.text == "I read é and 漢."
    assert [(call.name, call.args) for call in said.calls] == [
        ("read", {"path": "é.txt"}),
        ("read", {"path": "漢.txt"}),
    ]
    assert said.stop == "tool_use"
    assert said.usage.output == 57
    assert said.usage.cache_read == 1000
    assert said.usage.input + said.usage.cache_write == 51
    thoughts = [part.text for part in said.content if isinstance(part, Thinking) and part.text]
    assert thoughts == ["Two files, both naïve 🌍."][: api.shows_thoughts]


def test_a_connection_that_was_lost_after_all_that_matters_is_not_used_again() -> None:
    api = next(api for api in APIS if api.wire == "openai-completions")  # There, a reason to stop is enough.
    request = Request(api.model, "Be brief.", (user("go"),))
    with Loopback() as server, closing(api.open(server.url)) as provider:
        server.answer = answer(api.content_type, api.pieces[:-2])[: -len(b"0\r\n\r\n")]
        for _ in range(2):
            assert ended_once(*heard(provider, request))
