from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import pytest

from linnet.core.cancel import Cancel
from linnet.core.deltas import Delta, ReplyOpened, Stopped, TextDelta
from linnet.errors import ProviderRejected, ProviderUnavailable
from linnet.providers.base import Request
from linnet.providers.retry import RetryingProvider
from linnet.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.providers.conftest import Talk

BUSY = ProviderUnavailable("acme", "busy")
DONE: list[Delta] = [ReplyOpened(), Stopped("end")]


class Clock:
    """A cancel token whose sleeps take no time."""

    is_set = False

    def __init__(self) -> None:
        self.slept: list[float] = []

    def check(self) -> None: ...

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def interrupting(self, action: Callable[[], None]) -> AbstractContextManager[None]:
        return nullcontext()


class Failing:
    """Each call to `stream` plays the next list: batches to yield, or errors to raise."""

    name = "acme"

    def __init__(self, *plays: list[list[Delta] | Exception]) -> None:
        self.plays = list(plays)
        self.closed = self.warmed = False

    def stream(self, request: Request, cancel: Cancel) -> Iterator[Sequence[Delta]]:
        for step in self.plays.pop(0):
            if isinstance(step, Exception):
                raise step
            yield step

    def warm(self) -> None:
        self.warmed = True

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def request_(talk: "Talk") -> Request:
    return talk().request("hi")


def test_a_passing_trouble_is_waited_out_ever_longer(request_: Request) -> None:
    clock = Clock()
    provider = RetryingProvider(Failing([BUSY], [BUSY], [BUSY], [DONE]), attempts=4, base=0.25, cap=0.6)
    assert list(provider.stream(request_, clock)) == [DONE]
    assert clock.slept == [0.25, 0.5, 0.6]


def test_after_the_last_attempt_the_error_is_told(request_: Request) -> None:
    clock = Clock()
    with pytest.raises(ProviderUnavailable):
        list(RetryingProvider(Failing([BUSY], [BUSY]), attempts=2).stream(request_, clock))
    assert len(clock.slept) == 1


def test_one_attempt_means_one(request_: Request) -> None:
    clock = Clock()
    with pytest.raises(ProviderUnavailable):
        list(RetryingProvider(Failing([BUSY]), attempts=1).stream(request_, clock))
    assert clock.slept == []


def test_a_reply_that_had_begun_is_not_begun_again(request_: Request) -> None:
    heard: list[Sequence[Delta]] = []
    with pytest.raises(ProviderUnavailable):
        heard.extend(
            RetryingProvider(Failing([[ReplyOpened(), TextDelta("x")], BUSY], [DONE])).stream(request_, Clock())
        )


def test_a_rejection_is_final(request_: Request) -> None:
    with pytest.raises(ProviderRejected):
        list(RetryingProvider(Failing([ProviderRejected("acme", "no")], [DONE])).stream(request_, Clock()))


def test_a_vendor_that_asks_for_patience_gets_it_within_reason(request_: Request) -> None:
    clock = Clock()
    asking = ProviderUnavailable("acme", "busy", retry_after=7.0)
    assert list(RetryingProvider(Failing([asking], [DONE])).stream(request_, clock)) == [DONE]
    assert clock.slept == [7.0]
    with pytest.raises(ProviderUnavailable):
        list(
            RetryingProvider(Failing([ProviderUnavailable("acme", "x", retry_after=61)], [DONE])).stream(
                request_, clock
            )
        )
    assert clock.slept == [7.0]


def test_warming_and_closing_reach_the_provider() -> None:
    inner = Failing()
    outer = RetryingProvider(inner)
    outer.warm()
    outer.close()
    assert outer.name == "acme"
    assert inner.warmed
    assert inner.closed


def test_a_busy_server_is_asked_again_until_it_answers(talk: "Talk", server: ModelServer) -> None:
    heard = talk(attempts=2).ask("!fail 529 1 0.01")
    assert heard.text == "recovered"
    assert len(server.requests) == 2


def test_a_server_that_hangs_up_is_asked_again(talk: "Talk", server: ModelServer) -> None:
    assert talk(attempts=2).ask("!flaky 1").text == "recovered"
    assert len(server.requests) == 2


def test_a_server_that_asks_for_too_much_patience_is_reported(talk: "Talk", server: ModelServer) -> None:
    heard = talk(attempts=4).ask("!fail 429 9 3600")
    assert isinstance(heard.error, ProviderUnavailable)
    assert heard.error.retry_after == 3600
    assert len(server.requests) == 1
