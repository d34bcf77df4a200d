"""Reads models.json: models that the catalogue does not know, and providers of the user's own. It has one of two forms:
a list of models of known providers, or pi's object of providers, each with its models.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from linnet.core.json.checked import checked, misplaced, near
from linnet.core.models import Model, Prices
from linnet.errors import ConfigError
from linnet.files.reading import required
from linnet.providers.catalog import PROVIDERS, Api, ProviderInfo

_Count: TypeAlias = Annotated[int, Meta(gt=0)]
_Dollars: TypeAlias = Annotated[float, Meta(ge=0)]
_APIS: dict[str, Api] = {
    "anthropic-messages": "anthropic",
    "anthropic": "anthropic",
    "openai-completions": "openai_chat",
    "openai": "openai_chat",
}


class _Prices(Struct, frozen=True, forbid_unknown_fields=True):
    input: _Dollars = 0
    output: _Dollars = 0
    cache_read: _Dollars = 0
    cache_write: _Dollars = 0


class _Cost(_Prices, frozen=True, forbid_unknown_fields=True, rename="camel"):
    cache_read: _Dollars = 0
    cache_write: _Dollars = 0


class _Listed(Struct, frozen=True, forbid_unknown_fields=True):
    """A model of the list."""

    id: str
    provider: str
    name: str = ""
    context_window: _Count = 128_000
    max_output: _Count = 8_192
    reasoning: bool = False
    images: bool = True
    prices: _Prices | None = None

    def model(self) -> Model:
        known = (self.name, self.context_window, self.max_output, self.reasoning, self.images)
        return Model(self.id, self.provider, *known, _prices(self.prices))


class _Offered(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A model of a provider, as pi spells it."""

    id: str
    name: str = ""
    reasoning: bool = False
    input: tuple[Literal["text", "image"], ...] = ("text",)
    context_window: _Count = 128_000
    max_tokens: _Count = 16_384
    cost: _Cost | None = None

    def model(self, provider: str) -> Model:
        known = (self.name, self.context_window, self.max_tokens, self.reasoning, "image" in self.input)
        return Model(self.id, provider, *known, _prices(self.cost))


class _Provider(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    base_url: str = ""
    api: Literal["anthropic-messages", "openai-completions", "anthropic", "openai"] | None = None
    api_key: str = ""
    models: tuple[_Offered, ...] = ()


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    providers: dict[str, _Provider] = {}


Own: TypeAlias = tuple[Mapping[str, ProviderInfo], Sequence[Model]]


def read(path: str) -> Own:
    """Return all providers that there are, linnet's first, and the models that the file adds or corrects.

    Raises ConfigError, with file, line and key if something in it cannot be used.
    """
    return understood(required(path), path)


def understood(text: bytes, path: str) -> Own:
    """Return what `read` does, for a file with this text. Pure."""
    if text.lstrip()[:1] == b"[":
        return _listed(text, path)
    said = checked(text, _File, path).providers
    providers = {**PROVIDERS, **{name: _info(name, provider, text, path) for name, provider in said.items()}}
    return providers, [each.model(name) for name, provider in said.items() for each in provider.models]


def _listed(text: bytes, path: str) -> Own:
    said = checked(text, list[_Listed], path)
    for place, each in enumerate(said):
        if each.provider not in PROVIDERS:
            problem = f'no provider is called "{each.provider}"{near(each.provider, PROVIDERS)}'
            raise misplaced(text, (place, "provider"), problem, path)
    return PROVIDERS, [each.model() for each in said]


def _info(name: str, said: _Provider, text: bytes, path: str) -> ProviderInfo:
    """Return a provider of the file; one that linnet knows keeps what the file does not say. Raises ConfigError."""

    def wrong(problem: str, *key: str) -> ConfigError:
        return misplaced(text, ("providers", name, *key), problem, path)

    known = PROVIDERS.get(name)
    if name == "scripted":
        raise wrong("is linnet's own; choose another name")
    if not name.strip() or "/" in name:
        raise wrong("a provider's name is not empty and has no slash: it is written before one, as in provider/model")
    if said.base_url and not said.base_url.startswith(("http://", "https://")):
        raise wrong(f'must start with http:// or https://, not "{said.base_url}"', "baseUrl")
    if known is None and not said.base_url:
        raise wrong('the key "baseUrl" is missing')
    if known is None and said.api is None:
        raise wrong('the key "api" is missing: anthropic-messages or openai-completions')
    api = _APIS[said.api] if said.api else known.api if known else "openai_chat"
    variable, key = _key(said.api_key)
    if known is not None:
        return replace(
            known,
            api=api,
            base_url=said.base_url or known.base_url,
            key_variable=variable or known.key_variable,
            key=key,
            own=bool(said.base_url),
        )
    first = said.models[0].id if said.models else ""
    return ProviderInfo(name, api, said.base_url, variable, first, key, own=True)


def _key(word: str) -> tuple[str, str]:
    """Return the variable that has the key, or else the key itself; the other is empty. `$NAME` and `${NAME}` are a
    variable, and so is a name in capitals with an underscore.
    """
    name = word.removeprefix("$").removeprefix("{").removesuffix("}") if word.startswith("$") else word
    plain = name.isascii() and name.isidentifier()
    return (name, "") if plain and (name != word or (name.isupper() and "_" in name)) else ("", word)


def _prices(said: _Prices | None) -> Prices | None:
    return None if said is None else Prices(said.input, said.output, said.cache_read, said.cache_write)
