"""The one table of APIs: how models are asked. The catalogue, `models.json` and the factory read it, and nothing
outside of this layer decides by an API's name.
"""

from typing import TYPE_CHECKING

from msgspec import Struct

from linnet.core.models import LEVELS, NOTHING, Reasoning
from linnet.errors import ConfigError
from linnet.providers import provider_module

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from linnet.core.models import Model
    from linnet.providers.base import Provider
    from linnet.providers.endpoint import Endpoint


class Api(Struct, frozen=True):
    """A way to ask models, which many providers may share."""

    name: str
    """As both wires, session files and `models.json` spell it."""
    module: str
    """The module that has it, under `linnet.providers`: a function `opened(endpoint)`, and a type `Quirks` for what may
    differ from model to model.
    """
    levels: "Mapping[Reasoning, str | int]" = NOTHING
    """What is sent for each level of thinking, for a model that thinks and of which no more is known."""
    other_names: tuple[str, ...] = ()
    remote: bool = True
    """It asks a server, which has an address and mostly wants a key."""
    checks: bool = False
    """Its module has a function `checked(model, listed=…)`, too. It refuses at the start what cannot be used, and may
    know models that nobody has listed.
    """

    lists_models: bool = False
    """Its servers say which models they have, as OpenAI's do."""

    def load(self) -> "Callable[[Endpoint], Provider]":
        """Return the function that opens a provider. Only now is anything of the API imported."""
        opened: Callable[[Endpoint], Provider] = provider_module(self.module).opened
        return opened

    def checked(self, model: "Model", *, listed: bool) -> "Model":
        """Return the model with what the API itself knows of it. Raises ConfigError if it cannot be used."""
        if not self.checks:
            return model
        found: Model = provider_module(self.module).checked(model, listed=listed)
        return found

    def quirks(self) -> type[Struct]:
        """Return the type of what may differ from model to model."""
        found: type[Struct] = provider_module(self.module).Quirks
        return found


_ANY: "Mapping[Reasoning, str]" = dict.fromkeys(LEVELS, "")
_EFFORTS: "Mapping[Reasoning, str]" = {"low": "low", "medium": "medium", "high": "high"}
_BUDGETS: "Mapping[Reasoning, int]" = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384}
_WORDS: "Mapping[Reasoning, str]" = {"off": "", "minimal": "LOW", "low": "LOW", "medium": "MEDIUM", "high": "HIGH"}

APIS = {
    api.name: api
    for api in (
        Api("anthropic-messages", "anthropic.api", {"off": "", **_BUDGETS}, ("anthropic",)),
        Api(
            "openai-completions",
            "openai_chat.api",
            {"off": "", "minimal": "low", **_EFFORTS},
            ("openai",),
            lists_models=True,
        ),
        Api("openai-responses", "openai_responses.api", {"off": "", "minimal": "low", **_EFFORTS}, lists_models=True),
        Api("google-generative-ai", "google.api", _WORDS, ("google",)),
        Api("google-vertex", "google.vertex", _WORDS),
        Api("anthropic-vertex", "google.vertex_claude", {"off": "", **_BUDGETS}),
        Api(
            "bedrock-converse-stream",
            "bedrock.api",
            {"off": "", "minimal": "low", **_EFFORTS},
            ("bedrock-converse", "bedrock"),
        ),
        Api("scripted", "scripted.api", _ANY, remote=False),
        Api("program", "program.api", _ANY, remote=False),
        Api("local", "local.api", remote=False, checks=True),
    )
}
REMOTE = ", ".join(api.name for api in APIS.values() if api.remote)
_NAMES = {name: api.name for api in APIS.values() for name in (api.name, *api.other_names)}


def remote_api(name: str) -> Api:
    """Return the API of this name if it asks a server. Raises ConfigError."""
    api = APIS.get(_NAMES.get(name, ""))
    if api is not None and api.remote:
        return api
    problem = f'no API is called "{name}"' if api is None else f'"{name}" is no API of a server'
    raise ConfigError(f"{problem}; there are {REMOTE}")


def api_named(name: str) -> Api:
    """Return the API of this name, or of one of its other names. Raises ConfigError."""
    try:
        return APIS[_NAMES[name]]
    except KeyError:
        raise ConfigError(f'no API is called "{name}"; there are {REMOTE}') from None
