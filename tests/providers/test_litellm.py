"""linnet through litellm's proxy, which translates what it is asked into another vendor's API, and back."""

from collections.abc import Iterator
from contextlib import closing
from itertools import product

import pytest
from msgspec.structs import replace

from linnet.core.context.history import Sendable, repaired
from linnet.core.deltas import Delta
from linnet.core.messages import Text, ToolResult
from linnet.core.models import Model
from linnet.errors import Cancelled, ProviderError, ProviderRejected, ProviderUnavailable
from linnet.providers.apis import api_named
from linnet.providers.base import Request
from linnet.providers.endpoint import Endpoint
from linnet.testing.model_server import ModelServer
from tests.providers import litellm_proxy
from tests.providers.apis import APIS, LS, READ, Api
from tests.providers.conversations import PNG, drafted, user
from tests.providers.loopback import heard

# One proxy for all: it takes long to start, and longer where the machine is busy.
pytestmark = [pytest.mark.foreign, pytest.mark.xdist_group("litellm"), pytest.mark.timeout(300)]

FRONTS = [api for api in APIS if api.wire in ("anthropic-messages", "openai-responses") or api.vendor == "openai"]
# What the Responses API asks of an OpenAI model, the proxy passes on as it is: nothing would be translated.
WAYS = [way for way in product(FRONTS, litellm_proxy.BACKENDS) if way[0].wire != "openai-responses" or "an" in way[1]]
both_ways = pytest.mark.parametrize(("api", "backend"), WAYS, ids=lambda value: getattr(value, "wire", value))


@pytest.fixture(scope="module")
def model_server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def proxy(model_server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with litellm_proxy.running(model_server.url, tmp_path_factory.mktemp("litellm")) as url:
        yield url


def ask(api: Api, backend: str, url: str, *messages: Sendable) -> tuple[list[Delta], ProviderError | Cancelled | None]:
    model: Model = replace(api.model, id=backend, reasoning=False)
    opened = api_named(api.wire).load()(Endpoint(api.vendor, f"{url}/v1", litellm_proxy.KEY))
    with closing(opened) as provider:
        return heard(provider, Request(model, "Be brief.", messages, (READ, LS)))


@both_ways
def test_words_come_through(api: Api, backend: str, proxy: str) -> None:
    deltas, error = ask(api, backend, proxy, user("hi"))
    said = drafted(api, deltas)
    assert error is None
    assert (said.text, said.stop) == ("Hello from the scripted model.", "end")


@both_ways
def test_an_image_comes_through(api: Api, backend: str, proxy: str, model_server: ModelServer) -> None:
    _, error = ask(api, backend, proxy, user("Look at this.", PNG))
    assert error is None
    assert PNG.data in str(model_server.requests[-1].body)


@both_ways
def test_a_call_and_its_result_come_through(api: Api, backend: str, proxy: str, model_server: ModelServer) -> None:
    prompt = user('!tool read {"path": "é.txt"}')
    deltas, error = ask(api, backend, proxy, prompt)
    said = drafted(api, deltas)
    assert error is None
    assert [(call.name, call.args) for call in said.calls] == [("read", {"path": "é.txt"})]
    assert said.stop == "tool_use"
    answers = [ToolResult(call.id, call.name, (Text("It says 漢."),), 0) for call in said.calls]
    _, error = ask(api, backend, proxy, *repaired([prompt, said, *answers]))
    assert error is None
    assert "It says 漢." in str(model_server.requests[-1].body)


@both_ways
@pytest.mark.parametrize(("status", "kind"), [(400, ProviderRejected), (429, ProviderUnavailable)])
def test_an_error_comes_through(api: Api, backend: str, proxy: str, status: int, kind: type[ProviderError]) -> None:
    _, error = ask(api, backend, proxy, user(f"!fail {status} 1000"))
    assert type(error) is kind
    assert "scripted failure" in str(error)


@both_ways
def test_a_wrong_key_is_refused(api: Api, backend: str, proxy: str) -> None:
    opened = api_named(api.wire).load()(Endpoint(api.vendor, f"{proxy}/v1", "sk-wrong"))
    with closing(opened) as provider:
        _, error = heard(provider, Request(replace(api.model, id=backend), "", (user("hi"),)))
    assert isinstance(error, ProviderRejected)
    assert error.status in (400, 401)
