"""linnet against an emulator of vendors' APIs that nobody here wrote, in all its moods."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from linnet import Runtime, events
from linnet.core.context.history import Sendable, repaired
from linnet.core.deltas import Delta, Stopped
from linnet.core.messages import Text, Thinking, ToolResult
from linnet.core.models import PromptCache
from linnet.errors import (
    Cancelled,
    ContextOverflow,
    ModelRefused,
    ProviderError,
    ProviderRejected,
    ProviderUnavailable,
)
from linnet.providers.base import Request
from linnet.providers.retry import RetryingProvider
from tests.providers import aimock
from tests.providers.apis import APIS, LS, READ, Api
from tests.providers.conversations import PNG, drafted, user
from tests.providers.loopback import heard
from tests.suite.times import times

pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("aimock")]  # One emulator for all.
every_api = pytest.mark.parametrize(
    "api", [api for api in APIS if api.wire in aimock.EMULATED], ids=lambda api: api.name
)
Outcome = tuple[list[Delta], ProviderError | Cancelled | None]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with aimock.running() as url:
        yield url


def asked(api: Api, *messages: Sendable) -> Request:
    cache: PromptCache = "off" if api.wire in aimock.UNCACHED else "short"
    return Request(api.model, "Be brief.", messages, (READ, LS), "high", cache)


def ask(api: Api, url: str, *messages: Sendable) -> Outcome:
    """Return what one request brings. It ends once, whatever happens."""
    with closing(api.open(url)) as provider:
        deltas, error = heard(provider, asked(api, *messages))
    stops = [at for at, delta in enumerate(deltas) if isinstance(delta, Stopped)]
    assert stops == ([len(deltas) - 1] if error is None else [])
    return deltas, error


@every_api
def test_words_come_as_they_were_said(api: Api, url: str) -> None:
    deltas, error = ask(api, url, user("This is case text."))
    said = drafted(api, deltas)
    assert error is None
    assert (said.text, said.stop) == ("Hello from é and 漢.", "end")


@every_api
def test_thoughts_come_before_the_words(api: Api, url: str) -> None:
    deltas, error = ask(api, url, user("This is case reason."))
    said = drafted(api, deltas)
    assert error is None
    assert [part.text for part in said.content if isinstance(part, Thinking) and part.text] == ["Two and two."]
    assert said.text == "It is 4."


@every_api
@pytest.mark.parametrize(
    ("case", "paths", "then"),
    [("call", ["a.txt"], "It says: é."), ("calls", ["a.txt", "b.txt"], "They say: é.")],
)
def test_calls_are_made_and_their_results_taken(api: Api, url: str, case: str, paths: list[str], then: str) -> None:
    prompt = user(f"This is case {case}.")
    deltas, error = ask(api, url, prompt)
    said = drafted(api, deltas)
    assert error is None
    assert [(call.name, call.args) for call in said.calls] == [("read", {"path": path}) for path in paths]
    assert said.stop == "tool_use"
    answers = [ToolResult(call.id, call.name, (Text("é"),), 0) for call in said.calls]
    deltas, error = ask(api, url, *repaired([prompt, said, *answers]))
    assert error is None
    assert drafted(api, deltas).text == then


@every_api
def test_an_image_is_taken(api: Api, url: str) -> None:
    deltas, error = ask(api, url, user("This is case image.", PNG))
    assert error is None
    assert drafted(api, deltas).text == "A single dot."


@every_api
def test_a_reply_that_became_too_long_says_so(api: Api, url: str) -> None:
    deltas, error = ask(api, url, user("This is case length."))
    if (api.wire, "length") not in aimock.DEFECTS:
        assert error is None
        assert drafted(api, deltas).stop == "length"


@every_api
def test_a_reply_that_was_filtered_is_no_good_end(api: Api, url: str) -> None:
    _, error = ask(api, url, user("This is case filter."))
    if (api.wire, "filter") not in aimock.DEFECTS:
        assert isinstance(error, ModelRefused)


@every_api
@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("400", ProviderRejected),
        ("401", ProviderRejected),
        ("429", ProviderUnavailable),
        ("500", ProviderUnavailable),
        ("529", ProviderUnavailable),
        ("overflow", ContextOverflow),
        ("cut", ProviderUnavailable),
        ("late cut", ProviderUnavailable),
        ("drop", ProviderUnavailable),
        ("disconnect", ProviderUnavailable),
        ("ratelimit", ProviderUnavailable),
    ],
)
def test_a_failure_is_told_by_its_kind(api: Api, url: str, case: str, kind: type[ProviderError]) -> None:
    _, error = ask(api, url, user(f"This is case {case}."))
    assert type(error) is kind
    if case.isdecimal() and isinstance(error, ProviderError):
        assert error.status == int(case)


@every_api
def test_an_answer_that_is_no_stream_is_an_error(api: Api, url: str) -> None:
    deltas, error = ask(api, url, user("This is case malformed."))
    assert isinstance(error, ProviderError)
    assert deltas == []


@every_api
def test_a_wait_that_the_vendor_asks_for_is_known(api: Api, url: str) -> None:
    _, error = ask(api, url, user("This is case ratelimit."))
    assert isinstance(error, ProviderUnavailable)
    assert error.retry_after == 1.0


@pytest.mark.drawn
@every_api
def test_whatever_goes_wrong_a_request_that_is_tried_again_ends_once(api: Api, url: str) -> None:
    request = asked(api, user("This is case chaos."))
    for _ in range(times(15)):
        with closing(RetryingProvider(api.open(url), base=0.001)) as provider:
            deltas, error = heard(provider, request)
        assert sum(isinstance(delta, Stopped) for delta in deltas) == (error is None)


@pytest.mark.drawn
@every_api
@pytest.mark.parametrize("case", ["chaos", "cut", "text"])
def test_whatever_goes_wrong_a_run_ends_once(api: Api, url: str, case: str) -> None:
    base = url + api.base_path
    with Runtime(
        provider=api.vendor, model=api.id, base_url=base, api_key="test-key", retries=1, retry_delay=0.01
    ) as runtime:
        for _ in range(times(3)):
            told = list(runtime.prompt(f"This is case {case}."))
            assert isinstance(told[-1], events.Done)
            assert sum(isinstance(event, events.Done) for event in told) == 1
