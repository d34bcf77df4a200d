"""Reads models.json: models that the catalogue does not know, corrections of those that it does, and providers of the
user's own. It has one of two forms: a list of models of known providers, or pi's object of providers, each with its
models.

What the file does not say of a model is as in the catalogue: as for this provider, or else as for the same model at
another.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct, ValidationError, field
from msgspec.json import encode
from msgspec.structs import replace

from linnet.core.json.checked import checked, explained, misplaced, near
from linnet.core.json.position import Path
from linnet.core.models import NOTHING, Model, Prices, Reasoning
from linnet.decoding import converted
from linnet.errors import ConfigError
from linnet.files.reading import required
from linnet.providers.apis import REMOTE, api_named, remote_api
from linnet.providers.catalog import PROVIDERS, ProviderInfo, find, inherited
from linnet.providers.http.urls import shown
from linnet.runtime.config.config import REPLAY

_Count: TypeAlias = Annotated[int, Meta(gt=0)]
_Dollars: TypeAlias = Annotated[float, Meta(ge=0)]
_Id: TypeAlias = Annotated[str, Meta(min_length=1)]
_Levels: TypeAlias = dict[Reasoning, str | int | None]
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))", re.ASCII)


class _Prices(Struct, frozen=True, forbid_unknown_fields=True):
    input: _Dollars | None = None
    output: _Dollars | None = None
    cache_read: _Dollars | None = None
    cache_write: _Dollars | None = None

    def over(self, known: Prices) -> Prices:
        """Return these prices, and the known ones where nothing is said."""
        said = {name: getattr(self, name) for name in _Prices.__struct_fields__}
        return replace(known, **{name: value for name, value in said.items() if value is not None})


class _Rates(_Prices, frozen=True, forbid_unknown_fields=True, rename="camel"):
    cache_read: _Dollars | None = None
    cache_write: _Dollars | None = None


class _Tier(_Rates, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    input_tokens_above: _Count


class _Cost(_Rates, frozen=True, forbid_unknown_fields=True, rename="camel"):
    tiers: tuple[_Tier, ...] | None = None

    def over(self, known: Prices) -> Prices:
        prices = super().over(known)
        if self.tiers is None:
            return prices
        long, above = None, 0
        for tier in sorted(self.tiers, key=lambda tier: -tier.input_tokens_above):
            long = replace(tier.over(Prices()), long_prompt=above, long=long)
            above = tier.input_tokens_above
        return replace(prices, long_prompt=above, long=long)


class _Said(Struct, frozen=True, kw_only=True):
    """What both forms may say of a model; None where nothing is said."""

    name: str | None = None
    api: str | None = None
    base_url: str | None = None
    context_window: _Count | None = None
    reasoning: bool | None = None
    thinking_level_map: _Levels | None = None
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}
    ends: date | None = None
    successor: str | None = None


class _Listed(_Said, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model of the list."""

    id: _Id
    provider: str
    max_output: _Count | None = None
    images: bool | None = None
    prices: _Prices | None = None


class _Override(_Said, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A model of a provider, as pi spells it."""

    base_url: str | None = None
    context_window: _Count | None = None
    thinking_level_map: _Levels | None = None
    input: tuple[Literal["text", "image"], ...] | None = None
    max_tokens: _Count | None = None
    cost: _Cost | None = None
    # Keys of pi's for what linnet finds out by itself, so that a file written for pi can be read.
    input_limits: dict[str, Any] = {}
    prompt_cache: dict[str, Any] = {}


class _Offered(_Override, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    id: _Id


class _Provider(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    name: str = ""
    base_url: str = ""
    api: str = ""
    api_key: str = ""
    auth_header: bool = False
    headers: dict[str, str] = {}
    compat: dict[str, Any] = {}
    models: tuple[_Offered, ...] = ()
    model_overrides: dict[str, _Override] = {}


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    providers: dict[str, _Provider] = {}
    schema: str = field(default="", name="$schema")
    """Where the schema is, for editors."""


PROVIDER_KEYS, MODEL_KEYS, OVERRIDE_KEYS = (
    frozenset(kind.__struct_encode_fields__) for kind in (_Provider, _Offered, _Override)
)
"""What may be said in pi's form."""
Models: TypeAlias = list[_Listed] | _File
"""What may be in the file."""
Own: TypeAlias = tuple[Mapping[str, ProviderInfo], Sequence[Model]]


def read(path: str, environ: Mapping[str, str]) -> Own:
    """Return all providers that there are, linnet's first, and the models that the file adds or corrects. Headers may
    name variables of `environ`.

    Raises ConfigError, with file, line and key if something in it cannot be used.
    """
    return understood(required(path), path, environ)


def understood(text: bytes, path: str, environ: Mapping[str, str] = NOTHING) -> Own:
    """Return what `read` does, for a file with this text. Pure."""
    file = _Text(text, path, environ)
    if text.lstrip()[:1] == b"[":
        entries = checked(text, list[_Listed], path)
        models = list(file.listed(entries))
        named = {each.provider: PROVIDERS[each.provider] for each in entries if each.headers}
        hiding = {
            name: replace(info, header_variables=tuple(_variables(each for each in entries if each.provider == name)))
            for name, info in named.items()
        }
        return {**PROVIDERS, **hiding}, models
    said = checked(text, _File, path).providers
    own = {name: file.info(name, provider) for name, provider in said.items()}
    models = [model for name, provider in said.items() for model in file.offered(own[name], provider)]
    return {**PROVIDERS, **own}, models


class _Text(Struct, frozen=True):
    """The file, and what its errors are told with."""

    text: bytes
    path: str
    environ: Mapping[str, str]

    def wrong(self, problem: str, *key: str | int) -> ConfigError:
        return misplaced(self.text, key, problem, self.path)

    def listed(self, entries: Sequence[_Listed]) -> Iterator[Model]:
        """Yield the models of a list. Raises ConfigError."""
        for place, each in enumerate(entries):
            info = PROVIDERS.get(each.provider)
            if info is None:
                problem = f'no provider is called "{each.provider}"{near(each.provider, PROVIDERS)}'
                raise self.wrong(problem, place, "provider")
            known = self._known(info, each.id, each, (place,)) or Model(each.id, info.name)
            values = {"max_output": each.max_output, "images": each.images}
            prices = known.prices if each.prices is None else each.prices.over(known.prices or Prices())
            yield replace(self._model(known, info, each, (place,)), prices=prices, **_given(values))

    def offered(self, info: ProviderInfo, said: _Provider) -> Iterator[Model]:
        """Yield the models of a provider, and those that it corrects. Raises ConfigError."""
        for place, each in enumerate(said.models):
            where: Path = ("providers", info.name, "models", place)
            # As pi has it, where nothing is known: one that reads no images, and writes this much.
            unknown = Model(each.id, info.name, max_output=16_384, images=False)
            yield self._offered(self._known(info, each.id, each, where) or unknown, info, each, where)
        for id, over in said.model_overrides.items():
            where = ("providers", info.name, "modelOverrides", id)
            known = find(info.name, id)
            if known is None:
                from linnet.providers.catalog import models

                guess = near(id, [model.id for model in models(info.name)])
                raise self.wrong(f"is no model that linnet lists, and may be added to models{guess}", *where)
            yield self._offered(known, info, over, where)

    def _offered(self, known: Model, info: ProviderInfo, said: _Override, where: Path) -> Model:
        values = {"max_output": said.max_tokens, "images": None if said.input is None else "image" in said.input}
        prices = known.prices if said.cost is None else said.cost.over(known.prices or Prices())
        return replace(self._model(known, info, said, where), prices=prices, **_given(values))

    def _known(self, info: ProviderInfo, id: str, said: _Said, where: Path) -> Model | None:
        """Return what the catalogue says of the model, there or elsewhere; None if it says nothing."""
        return find(info.name, id) or inherited(id, info, self._api(said, info, where))

    def _api(self, said: _Said, info: ProviderInfo, where: Path) -> str:
        """Return the API that the model is asked through. Raises ConfigError."""
        if said.api is None:
            return info.api
        return self._remote(said.api, where)

    def _remote(self, api: str, where: Path) -> str:
        """Return the name of an API that asks a server. Raises ConfigError."""
        try:
            return remote_api(api).name
        except ConfigError as error:
            raise self.wrong(str(error), *where, "api") from None

    def _model(self, known: Model, info: ProviderInfo, said: _Said, where: Path) -> Model:
        """Return the model with all that both forms may say of it. Raises ConfigError."""
        api = self._api(said, info, where)
        self.check_quirks(said.compat, api, (*where, "compat"))
        self.check_url(said.base_url, (*where, "base_url" if isinstance(where[0], int) else "baseUrl"))
        values = {
            "name": said.name,
            "context_window": said.context_window,
            "reasoning": True if said.reasoning is None and said.thinking_level_map else said.reasoning,
            "base_url": said.base_url,
            "ends": None if said.ends is None else str(said.ends),
            "successor": said.successor,
        }
        model = replace(known, **_given(values), api="" if said.api is None else api)
        levels = model.levels
        if said.thinking_level_map is not None:
            over = {**(levels or api_named(api).levels), **said.thinking_level_map}
            levels = {level: told for level, told in over.items() if told is not None}
        headers, _ = self.headers(said.headers, (*where, "headers"))
        return replace(
            model,
            levels=levels,
            quirks={**model.quirks, **said.compat} or NOTHING,
            headers={**model.headers, **headers} or NOTHING,
        )

    def check_url(self, url: str | None, where: Path) -> None:
        """Raise ConfigError if an address that is said is none that can be asked."""
        if url is not None and not url.startswith(("http://", "https://")):
            raise self.wrong(f'must start with http:// or https://, not "{shown(url)}"', *where)

    def check_quirks(self, compat: Mapping[str, Any], api: str, where: Path) -> None:
        """Raise ConfigError if the API knows no such quirks."""
        kind = api_named(api).quirks() if compat else Struct
        try:
            if compat:
                converted(dict(compat), kind)
        except ValidationError as error:
            misfit = explained(encode(compat), kind, error)
            raise self.wrong(misfit.problem, *where, *misfit.path) from None

    def headers(self, said: Mapping[str, str], where: Path) -> tuple[dict[str, str], list[str]]:
        """Return the headers with the values of variables in the place of `$NAME` and `${NAME}`, and these names. One
        whose variable is not set is left out. Raises ConfigError for what cannot be sent.
        """
        filled: dict[str, str] = {}
        variables: list[str] = []
        for header, value in said.items():
            named = [braced or bare for braced, bare in _VARIABLE.findall(value)]
            variables += named
            if all(self.environ.get(name) for name in named):
                value = _VARIABLE.sub(lambda found: self.environ[found[1] or found[2]], value)
                if not (_HEADER.fullmatch(header) and value.isascii() and value.isprintable()):
                    raise self.wrong("has a character that no header can have", *where, header)
                filled[header] = value
        return filled, variables

    def info(self, name: str, said: _Provider) -> ProviderInfo:
        """Return a provider of the file; one that linnet knows keeps what the file does not say. Raises ConfigError."""
        where = ("providers", name)
        known = PROVIDERS.get(name)
        if name == REPLAY or (known is not None and not api_named(known.api).remote):
            raise self.wrong("is linnet's own; choose another name", *where)
        if not name.strip() or "/" in name:
            problem = "a provider's name is not empty and has no slash: it is written before one, as in provider/model"
            raise self.wrong(problem, *where)
        self.check_url(said.base_url or None, (*where, "baseUrl"))
        if known is None and not said.base_url:
            raise self.wrong('the key "baseUrl" is missing', *where)
        if known is None and not said.api and not all(model.api for model in said.models or (said,)):
            raise self.wrong(f'the key "api" is missing; there are {REMOTE}', *where)
        first = said.models[0] if said.models else None
        api = self._remote(said.api or (known.api if known else (first and first.api) or ""), where)
        self.check_quirks(said.compat, api, (*where, "compat"))
        headers, named = self.headers(said.headers, (*where, "headers"))
        named += _variables((*said.models, *said.model_overrides.values()))
        variable, key = _key(said.api_key)
        variables = (variable,) if variable else known.key_variables if known else ()
        base = known or ProviderInfo(name, api, said.base_url, variables, first.id if first else "", own=True)
        quirks = {**base.quirks.get(api, NOTHING), **said.compat}
        return replace(
            base,
            api=api,
            base_url=said.base_url or base.base_url,
            key_variables=variables,
            header_variables=tuple(named),
            key=key,
            auth="bearer" if said.auth_header else base.auth,
            headers={**base.headers, **headers} or NOTHING,
            quirks={**base.quirks, api: quirks} if quirks else base.quirks,
            own=bool(said.base_url),
        )


def _variables(models: Iterable[_Said]) -> list[str]:
    """Return the names of the variables in the headers of these models."""
    values = (value for model in models for value in model.headers.values())
    return [braced or bare for value in values for braced, bare in _VARIABLE.findall(value)]


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _key(word: str) -> tuple[str, str]:
    """Return the variable that has the key, or else the key itself; the other is empty. `$NAME` and `${NAME}` are a
    variable, and so is a name in capitals with an underscore.
    """
    name = word.removeprefix("$").removeprefix("{").removesuffix("}") if word.startswith("$") else word
    plain = name.isascii() and name.isidentifier()
    return (name, "") if plain and (name != word or (name.isupper() and "_" in name)) else ("", word)
