"""OpenAI's models at Azure: where they are asked, by which name, with which key."""

from collections.abc import Callable
from pathlib import Path

import pytest

from linnet.concurrency.cancel import CancelToken
from linnet.core.messages import Text, UserMessage
from linnet.errors import ConfigError
from linnet.providers.azure import base_url, placed
from linnet.providers.base import Request
from linnet.providers.endpoint import Endpoint
from linnet.providers.factory import build
from linnet.runtime.models.accounts import Accounts
from linnet.runtime.models.known_models import KnownModels
from linnet.runtime.models.known_providers import KnownProviders
from linnet.testing.model_server import ModelServer

HOST = "https://res.openai.azure.com"
DATED = "2025-04-01-preview"


@pytest.mark.parametrize(
    ("base", "version", "responses", "chat"),
    [
        (HOST, "", "/openai/v1", ("/openai/v1", "")),
        (f"{HOST}/openai/", "v1", "/openai/v1", ("/openai/v1", "")),
        (f"{HOST}/openai/v1", "", "/openai/v1", ("/openai/v1", "")),
        ("https://gateway.test/team/a", "", None, None),
        (HOST, "preview", "/openai/v1?api-version=preview", ("/openai/v1?api-version=preview", "")),
        (
            f"{HOST}/openai/v1",
            DATED,
            f"/openai?api-version={DATED}",
            (f"/openai?api-version={DATED}", "deployments/{model}/chat/completions"),
        ),
    ],
)
def test_the_address_follows_from_base_url_and_version(
    base: str, version: str, responses: str | None, chat: tuple[str, str] | None
) -> None:
    endpoint = Endpoint("azure-openai", base, environ={"AZURE_OPENAI_API_VERSION": version})
    found = placed(endpoint, "openai-responses")
    assert (found.base_url, found.path) == (HOST + responses if responses else base, "")
    found = placed(endpoint, "openai-completions")
    assert (found.base_url, found.path) == ((HOST + chat[0], chat[1]) if chat else (base, ""))


def test_a_resource_has_an_address() -> None:
    assert base_url({"AZURE_OPENAI_RESOURCE_NAME": "my-res"}) == "https://my-res.openai.azure.com/openai/v1"
    assert base_url({}) == ""
    with pytest.raises(ConfigError, match="AZURE_OPENAI_RESOURCE_NAME is the name"):
        base_url({"AZURE_OPENAI_RESOURCE_NAME": "evil.test/"})


def test_a_list_of_deployments_that_is_none_is_refused() -> None:
    for text in ("gpt-5.4", "=x", "gpt-5.4=", "a=b,c"):
        with pytest.raises(ConfigError, match="AZURE_OPENAI_DEPLOYMENT_NAME_MAP"):
            placed(Endpoint("azure-openai", HOST, environ={"AZURE_OPENAI_DEPLOYMENT_NAME_MAP": text}), "x")


@pytest.mark.parametrize(
    ("api", "version", "path"),
    [
        ("openai-responses", "", "/openai/v1/responses"),
        ("openai-responses", DATED, f"/openai/responses?api-version={DATED}"),
        ("openai-completions", "", "/openai/v1/chat/completions"),
        ("openai-completions", DATED, f"/openai/deployments/my%20sol/chat/completions?api-version={DATED}"),
    ],
)
def test_a_deployment_is_asked_with_the_key_in_its_own_header(
    server: ModelServer, tmp_path: Path, api: str, version: str, path: str
) -> None:
    environ = {
        "AZURE_OPENAI_BASE_URL": server.url,
        "AZURE_OPENAI_API_KEY": "azure-key",
        "AZURE_OPENAI_API_VERSION": version,
        "AZURE_OPENAI_DEPLOYMENT_NAME_MAP": "gpt-5.4=other, gpt-6-sol=my sol",
    }
    models = KnownModels(Accounts(KnownProviders(environ, str(tmp_path)), api=api))
    model = models.begin("azure-openai", None)
    assert (model.id, model.api) == ("gpt-6-sol", api)
    provider = build("azure-openai", "azure-key", model.base_url, api=model.api, environ=environ)
    request = Request(model, "", [UserMessage((Text("hi"),), 0)])
    assert list(provider.stream(request, CancelToken()))
    provider.close()
    asked = server.requests[-1]
    assert asked.path == path
    assert asked.headers["api-key"] == "azure-key"
    assert "authorization" not in asked.headers
    assert asked.body["model"] == "my sol"
    assert "max_tokens" not in asked.body


@pytest.fixture
def known(tmp_path: Path) -> Callable[..., KnownModels]:
    return lambda environ: KnownModels(Accounts(KnownProviders(environ, str(tmp_path))))


def test_a_key_without_an_address_chooses_nothing(known: Callable[..., KnownModels]) -> None:
    lonely = known({"AZURE_OPENAI_API_KEY": "k"})
    assert lonely.begin(None, None).provider == "anthropic"
    assert not lonely.accounts.usable("azure-openai")
    with pytest.raises(
        ConfigError, match="needs a base URL: set AZURE_OPENAI_RESOURCE_NAME or AZURE_OPENAI_BASE_URL, or"
    ):
        build("azure-openai", "k")


def test_a_key_with_a_resource_chooses_azure_and_any_deployment(known: Callable[..., KnownModels]) -> None:
    usable = known({"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_RESOURCE_NAME": "res"})
    assert usable.begin(None, None).provider == "azure-openai"
    found = usable.begin("azure-openai", "my-deployment")
    assert (found.api, found.base_url) == ("openai-responses", "https://res.openai.azure.com/openai/v1")
