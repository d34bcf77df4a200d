"""A provider that somebody else wrote in Python is one like any other, whatever it does."""

from collections.abc import Iterable, Iterator
from threading import Event, Thread
from typing import Any

import pytest

from linnet import Runtime, frames
from linnet.concurrency.cancel import CancelToken
from linnet.core.deltas import ReplyOpened
from linnet.errors import Cancelled, ConfigError, ProviderError, ProviderRejected, ProviderUnavailable
from linnet.provider import (
    CallDelta,
    CallOpened,
    Cancel,
    Delta,
    Model,
    Prices,
    Request,
    Stopped,
    Streamed,
    TextDelta,
    ThinkingDelta,
    Usage,
    UsageReported,
)
from linnet.providers.factory import build

CALL = CallOpened("1", "read")


class Echo:
    """Yields what it is given."""

    name = "echo"

    def __init__(self, *yielded: Any, error: BaseException | None = None) -> None:
        self.yielded = yielded
        self.error = error
        self.closed = False
        self.requests: list[Request] = []

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Streamed]:
        self.requests.append(request)
        yield from self.yielded
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        self.closed = True


def heard(given: Any) -> list[Delta]:
    provider = build("echo", api="program", given=given, attempts=1)
    batches = provider.stream(Request(Model("m", "echo"), "", []), CancelToken())
    return [delta for batch in batches for delta in batch]


@pytest.mark.parametrize(
    ("yielded", "deltas"),
    [
        (["Hi", " there"], [TextDelta("Hi"), TextDelta(" there"), Stopped("end")]),
        ([], [Stopped("end")]),
        (["", TextDelta("a")], [TextDelta("a"), Stopped("end")]),
        ([["a", ThinkingDelta("b")]], [TextDelta("a"), ThinkingDelta("b"), Stopped("end")]),
        ([CALL, CallDelta("1", "{}")], [CALL, CallDelta("1", "{}"), Stopped("tool_use")]),
        ([ReplyOpened(), "a", Stopped("length"), "late"], [TextDelta("a"), Stopped("length")]),
        ([Stopped("end")], [Stopped("end")]),
    ],
)
def test_a_reply_begins_and_stops_even_if_nobody_says_so(yielded: list[Any], deltas: list[Delta]) -> None:
    assert heard(Echo(*yielded)) == [ReplyOpened(), *deltas]


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (ProviderUnavailable("echo", "busy"), ProviderUnavailable, "echo: busy"),
        (ProviderRejected("echo", "no"), ProviderRejected, "echo: no"),
        (ValueError("oops"), ProviderRejected, "echo: ValueError: oops"),
        (SystemExit(3), ProviderRejected, "echo: SystemExit: 3"),
    ],
)
def test_whatever_it_raises_is_an_error_of_a_provider(
    error: BaseException, kind: type[ProviderError], words: str
) -> None:
    with pytest.raises(kind) as raised:
        heard(Echo("a", error=error))
    assert str(raised.value) == words


def test_what_is_no_piece_of_a_reply_is_an_error() -> None:
    with pytest.raises(ProviderRejected, match="echo: yielded 3, which is no piece of a reply"):
        heard(Echo(3))


def test_two_calls_with_one_id_are_an_error() -> None:
    with pytest.raises(ProviderRejected, match="echo: opened the call '1' twice; each has an id of its own"):
        heard(Echo(CallOpened("1", "read"), CallOpened("1", "ls")))


def test_a_piece_of_a_call_that_was_not_opened_is_an_error() -> None:
    with pytest.raises(ProviderRejected, match="echo: yielded a piece of the call '2', which it has not opened"):
        heard(Echo(CALL, CallDelta("2", "{}")))


def test_an_abort_does_not_wait_for_it() -> None:
    blocked, may_end = Event(), Event()

    class Deaf:
        name = "deaf"

        def stream(self, request: Request, cancel: Cancel) -> Iterable[Streamed]:
            yield "a"
            blocked.set()
            may_end.wait()
            yield "b"

    provider = build("deaf", api="program", given=Deaf(), attempts=1)
    cancel = CancelToken()
    batches = provider.stream(Request(Model("m", "deaf"), "", []), cancel)
    assert next(batches) == [ReplyOpened(), TextDelta("a")]

    def abort() -> None:
        blocked.wait()
        cancel.set()

    aborting = Thread(target=abort)
    aborting.start()
    with pytest.raises(Cancelled):
        next(batches)
    aborting.join()
    may_end.set()


class Reader:
    """Reads a file, then says what is in it."""

    name = "mine"
    models = (
        Model("small", "mine", prices=Prices(1, 2), reasoning=True),
        Model("large", "mine"),
    )

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Streamed]:
        last = request.messages[-1]
        if type(last).__name__ == "ToolResult":
            yield f"{request.model.id}: {last.content[0]}"
            yield UsageReported(Usage(1_000_000, 500_000))
        else:
            yield [CallOpened("c1", "read"), CallDelta("c1", '{"path": "a.txt"}')]


def test_a_program_brings_its_own_provider(tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("forty-two")
    with Runtime(provider=Reader(), cwd=tmp_path) as runtime:
        events = list(runtime.prompt("go"))
        assert [event.name for event in events if isinstance(event, frames.ToolCall)] == ["read"]
        assert "forty-two" in "".join(event.delta for event in events if isinstance(event, frames.TextDelta))
        assert runtime.cost().cost_usd == 2.0
        assert [model.id for model in runtime.list_models()] == ["small", "large"]
        assert runtime.set_model("mine/large").id == "large"
        assert runtime.run("go").text.startswith("large: ")


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"name": ""}, "a provider has a name"),
        ({"name": "a/b"}, "a provider has a name, without a slash"),
        ({"name": "a"}, "has no method stream"),
        ({"name": "openai", "stream": lambda *args: ()}, 'a provider is called "openai" already'),
        ({"name": "a", "stream": lambda *args: (), "models": [3]}, "the models of the provider a are ids"),
    ],
)
def test_what_is_no_provider_is_refused_at_the_start(attributes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Runtime(provider=type("Given", (), attributes)())


def test_an_async_generator_is_refused_in_words() -> None:
    class Async:
        name = "late"

        async def stream(self, request: Request, cancel: Cancel) -> Any:
            yield "a"

    with pytest.raises(ConfigError, match="is async; it has to be an ordinary generator"):
        Runtime(provider=Async())


def test_it_is_closed_with_the_runtime(tmp_path: Any) -> None:
    echo = Echo("Hi")
    with Runtime(provider=echo, cwd=tmp_path) as runtime:
        assert runtime.run("go").text == "Hi"
    assert echo.closed
