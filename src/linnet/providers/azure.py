"""Where OpenAI's models are that Microsoft hosts: the address is put together from variables, and models have names of
one's own, those of their deployments.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from linnet.errors import ConfigError
from linnet.providers.endpoint import Endpoint

_RESOURCE = "AZURE_OPENAI_RESOURCE_NAME"
_VERSION = "AZURE_OPENAI_API_VERSION"
_NAMES = "AZURE_OPENAI_DEPLOYMENT_NAME_MAP"
_UNDATED = ("v1", "preview", "latest")  # Versions of the API that is like OpenAI's own, down to its paths.


def base_url(environ: Mapping[str, str]) -> str:
    """Return the address of the resource that a variable names; empty if none does. Raises ConfigError."""
    name = environ.get(_RESOURCE, "").strip()
    if not name:
        return ""
    if not (name.isascii() and name.replace("-", "").isalnum()):
        raise ConfigError(f'{_RESOURCE} is the name of a resource: letters, digits and hyphens, not "{name}"')
    return f"https://{name}.openai.azure.com/openai/v1"


def placed(endpoint: Endpoint, api: str) -> Endpoint:
    """Return where this API is, by the version that a variable names, and what models are called there. Raises
    ConfigError.
    """
    version = endpoint.environ.get(_VERSION, "").strip() or "v1"
    base, _, query = endpoint.base_url.strip().partition("?")
    base = base.rstrip("/")
    if "/" not in base.partition("://")[2]:
        base += "/openai"
    path = ""
    if version in _UNDATED:
        base += "/v1" if base.endswith("/openai") else ""
    else:
        base = base.removesuffix("/v1")
        path = "deployments/{model}/chat/completions" if api == "openai-completions" else ""
    if version != "v1" and "api-version=" not in query:
        query = "&".join(filter(None, (query, f"api-version={version}")))
    return replace(
        endpoint,
        base_url=f"{base}?{query}" if query else base,
        path=path,
        names=_names(endpoint.environ.get(_NAMES, "")),
    )


def _names(text: str) -> dict[str, str]:
    """Return the deployments of models, by the models' ids, from `id=deployment,id=deployment`. Raises ConfigError."""
    names: dict[str, str] = {}
    for pair in filter(None, (each.strip() for each in text.split(","))):
        id, sign, name = (word.strip() for word in pair.partition("="))
        if not (id and sign and name):
            raise ConfigError(f'{_NAMES} is a list such as gpt-5.4=mine,gpt-5.5=other; "{pair}" is no part of one')
        names[id] = name
    return names
