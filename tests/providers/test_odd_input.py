"""Whatever a conversation has in it and whatever a server answers, on every API: only errors that are documented."""

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import replace

from linnet.concurrency.cancel import CancelToken
from linnet.core.deltas import CallDelta, CallOpened, Delta, Stopped
from linnet.core.messages import AssistantMessage, Image, Text, Thinking, ToolCall, ToolResult, UserMessage
from linnet.core.toolspec import ToolSpec
from linnet.errors import ConfigError, ProviderError
from linnet.providers.base import Request
from linnet.providers.http.client import HttpClient
from tests.providers.apis import APIS, NOWHERE, Api

NAMES = [api.name for api in APIS]
ODD_VALUES: list[Any] = [
    None,
    5,
    -1,
    1e308,
    10**25,
    "x",
    "",
    [],
    {},
    True,
    ["x"],
    {"x": 1},
    [None],
    "\ud800",
    [[]],
    [{}],
]
ODD_TEXTS = [
    "",
    "\ud800",
    "a\udcff",
    "\0",
    "{",
    "[]",
    '{"a":1}',
    "null",
    '[{"type":"reasoning"}]',
    "é/ö",
    "a b",
    "a\nb",
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything inside of a value of JSON."""
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def changed(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """Return the same with something else at a place."""
    if not path:
        return other
    made = here = copy.deepcopy(value)
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = other
    return made


def judge(api: Api, payloads: list[bytes]) -> None:
    """Read a reply, and fail if anything is raised or if its deltas are not what they should be."""
    _, reader = api.open(NOWHERE)._api.exchange(Request(api.model, "", ()))
    told: list[Delta] = []
    for payload in payloads:
        if not reader.finished and reader.failure is None:
            told += reader.feed([payload])
    if not reader.finished and reader.failure is None:
        told += reader.end()
    assert reader.finished or isinstance(reader.failure, ProviderError)
    opened = [delta.id for delta in told if isinstance(delta, CallOpened)]
    assert len(opened) == len(set(opened))
    for delta in told:
        assert isinstance(delta, get_args(Delta))
        msgspec.convert(msgspec.to_builtins(delta), type(delta))  # Each field has its type.
        assert not isinstance(delta, CallDelta) or delta.id in opened
    assert sum(isinstance(delta, Stopped) for delta in told) <= 1


@pytest.mark.parametrize("api", APIS, ids=NAMES)
def test_a_reply_with_something_odd_anywhere_in_it_is_read_or_refused(api: Api) -> None:
    frames = api.open(NOWHERE)._api.framing(1 << 20)
    payloads = [payload for piece in api.pieces for payload in frames.feed(piece)]
    chance = Random(0)
    for number, payload in enumerate(payloads):
        if payload.startswith(b"{"):
            event = json.loads(payload)
            for place in places(event):
                odd = json.dumps(changed(event, place, chance.choice(ODD_VALUES))).encode()
                judge(api, [*payloads[:number], odd, *payloads[number + 1 :]])
    for _ in range(50):
        judge(api, chance.choices(payloads, k=len(payloads)))


def arguments(api: Api, payloads: list[bytes]) -> dict[str, str]:
    """Return what the calls of a reply are asked with, by their ids."""
    _, reader = api.open(NOWHERE)._api.exchange(Request(api.model, "", ()))
    told = [*reader.feed(payloads), *([] if reader.finished else reader.end())]
    opened = [delta.id for delta in told if isinstance(delta, CallOpened)]
    assert len(opened) == len(set(opened))
    pieces = [delta for delta in told if isinstance(delta, CallDelta)]
    return {id: "".join(piece.text for piece in pieces if piece.id == id) for id in opened}


@pytest.mark.parametrize("api", APIS, ids=NAMES)
def test_calls_that_a_server_gives_the_same_id_stay_apart(api: Api) -> None:
    frames = api.open(NOWHERE)._api.framing(1 << 20)
    payloads = [payload for piece in api.pieces for payload in frames.feed(piece)]
    asked = arguments(api, payloads)
    first, second = asked
    alike = [payload.replace(f'"{second}"'.encode(), f'"{first}"'.encode()) for payload in payloads]
    assert list(arguments(api, alike).values()) == list(asked.values())


def test_arguments_that_come_whole_and_are_no_text_are_read_all_the_same() -> None:
    block = b'{"type":"tool_use","id":"a","name":"read","input":{"path":"\xff"}}'
    for api in APIS:
        if api.wire.startswith("anthropic"):
            payloads = [
                b'{"type":"content_block_start","index":0,"content_block":%b}' % block,
                b'{"type":"content_block_stop","index":0}',
            ]
            assert arguments(api, payloads) == {"a": '{"path":"\ufffd"}'}


@pytest.mark.parametrize("api", APIS, ids=NAMES)
def test_a_request_with_something_odd_anywhere_in_it_is_sent_or_refused(api: Api) -> None:
    model, hello = api.model, UserMessage((Text("hi"),), 0)
    provider = api.open("http://127.0.0.1:1")  # Nobody listens there.
    for odd in ODD_TEXTS:
        said = (
            Thinking(odd, odd, bound=odd),
            Thinking("", odd, redacted=True),
            Text(odd, odd),
            ToolCall(odd, odd, {odd: odd}, signature=odd),
            ToolCall("c", "read", {}, odd),
        )
        reply = AssistantMessage(said, 0, model.provider, model.id, stop="tool_use", api=model.api)
        results = (
            ToolResult(odd, odd, (Text(odd), Image("image/png", odd)), 0),
            ToolResult("c", "read", (), 0, is_error=True),
        )
        for request in (
            Request(replace(model, id=odd), odd, (hello,), session=odd),
            Request(replace(model, headers={"X-Odd": odd}), "", (hello,)),
            Request(replace(model, headers={odd: "x"}), "", (hello,)),
            Request(model, "", (UserMessage((Text(odd), Image(odd, odd), Image("image/png", "", odd)), 0),)),
            Request(model, "", (hello, reply, *results), (ToolSpec(odd, odd, {"type": odd}),), "high"),
        ):
            with pytest.raises(ProviderError):
                list(provider.stream(request, CancelToken()))


@pytest.mark.parametrize("name", ["X-A\r\nX-B", "X A", "X:A", "", "é", "\udcff"])
def test_a_header_whose_name_could_not_be_read_as_one_is_not_sent(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name of a header"):
        HttpClient("lan", NOWHERE, {name: "x"})
