"""The catalogue of known models: a file for each provider, with its source and the day it was checked.

A file is read when its provider is first looked at. Callers add models of their own.
"""

import os
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from linnet.core.models import NOTHING, Model, Prices, Reasoning
from linnet.decoding import decoder_of
from linnet.providers.apis import api_named
from linnet.providers.provider_rows import PROVIDERS, ProviderInfo

__all__ = ["PROVIDERS", "ProviderInfo", "completed", "find", "inherited", "models", "unlisted"]
_FOLDER = os.path.join(os.path.dirname(__file__), "catalogue")


class _PerApi(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What is different about a model where it is asked through one API."""

    thinks_with_tools: bool = True
    quirks: Mapping[str, Any] = NOTHING


class _Row(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    id: str
    name: str
    window: int = 128_000
    output: int = 8_192
    price: tuple[int | float, ...] | None = None
    """Dollars for a million tokens: input, output, read from the cache, written to it, written for an hour. None where
    nobody has said what it is.
    """
    images: bool = True
    thinking: str = ""
    """The name of the levels that the model has, in the same file; empty if it does not think."""
    long_prompt: int = 0
    long_price: tuple[int | float, ...] = ()
    """What longer prompts cost."""
    changes_on: str = ""
    changed_price: tuple[int | float, ...] = ()
    ends: str = ""
    successor: str = ""
    api: str = ""
    """Through which it is asked at the vendor's own address, if not through the provider's."""
    quirks: Mapping[str, Any] = NOTHING
    per_api: Mapping[str, _PerApi] = NOTHING


class _Catalogue(Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    checked: str
    models: list[_Row]
    thinking: dict[str, dict[Reasoning, str | int]] = field(default_factory=dict)
    areas: dict[str, float | None] = field(default_factory=dict)
    """What may stand before an id to say where the model is asked, and what that multiplies prices by; null if nobody
    has said.
    """


def models(provider: str, extra: Iterable[Model] = ()) -> list[Model]:
    """Return the provider's models, the default first; an extra one replaces the catalogue's of the same id."""
    added = {model.id: model for model in extra if model.provider == provider}
    return list((_listed(provider) | added).values())


def find(provider: str, id: str, extra: Iterable[Model] = ()) -> Model | None:
    """Return the provider's model with this id, an extra one before the catalogue's; None if there is none. An id with
    a date behind it is that of the model without, as it was on that day.
    """
    for model in extra:
        if model.provider == provider and model.id == id:
            return model
    listed = _listed(provider)
    if id in listed:
        return listed[id]
    known = listed.get(_undated(id))
    return replace(known, id=id) if known is not None else None


def unlisted(id: str, info: ProviderInfo) -> Model:
    """Return a model of this provider that nobody lists there, with all that may be known of it nevertheless."""
    return _elsewhere(id, info.name) or inherited(id, info) or Model(id, info.name)


def _elsewhere(id: str, provider: str) -> Model | None:
    """Return the model that the provider lists for another area or version: `us.` before the id, the id at the end of
    an ARN, a date or `-v1:0` behind it. None if there is none.
    """
    areas = _read(provider).areas
    if not areas:
        return None
    area, plain = _without_area(id.rpartition("/")[2], areas)
    for known in _listed(provider).values():
        known_area, name = _without_area(known.id, areas)
        if name == plain:
            return replace(known, id=id, prices=_times(known.prices, _ratio(areas, area, known_area)), successor="")
    return None


def completed(model: Model, info: ProviderInfo, base_url: str, api: str = "") -> Model:
    """Return the model as it is asked at this address: with its API, that API's levels if it has no other, and what is
    peculiar to its provider.

    `api` is what somebody demands; a model may say one, too. The one that the catalogue names is for the vendor's own
    address: servers that others run mostly have only the provider's. A model that it does not have is asked there as
    the default one is.
    """
    home, rows = PROVIDERS.get(model.provider), _rows(model.provider)
    row = rows.get(model.id) or rows.get(_undated(model.id))
    at_home = home is not None and (base_url == home.base_url or home.all_apis_anywhere) and info.api == home.api
    usual = row or (rows.get(home.default_model) if home is not None else None)
    asked = api_named(api or model.api or (usual.api if usual is not None and at_home else "") or info.api)
    per = row.per_api.get(asked.name) if row is not None else None
    quirks = {
        **info.quirks_of(model.id, asked.name),
        **(per.quirks if per is not None else NOTHING),
        **model.quirks,
    }
    headers = {**info.headers, **model.headers}
    return replace(
        model,
        api=asked.name,
        base_url=base_url,
        levels=model.levels or (asked.levels if model.reasoning else NOTHING),
        thinks_with_tools=model.thinks_with_tools and (per is None or per.thinks_with_tools),
        quirks=quirks or NOTHING,
        headers=headers or NOTHING,
    )


def inherited(id: str, info: ProviderInfo, api: str = "") -> Model | None:
    """Return a model of this provider that nobody lists there, with what is known of the model of the same name that
    some provider has; None if none has it. What it costs elsewhere is not known to hold here.

    `vendor/NAME` is NAME, and dots in versions may be dashes: `anthropic/claude-opus-4.8` is `claude-opus-4-8`. What is
    said in an API's words, which are the levels of thinking and the quirks, holds only for the same API.
    """
    name = _undated(_plain(id))
    found = _namesake(_plain(id)) or _namesake(name) or _namesake(name.rpartition("/")[2])
    if found is None:
        return None
    theirs = (PROVIDERS[found.provider].api, _rows(found.provider)[found.id].api)
    same = api_named(api or info.api).name in theirs
    return Model(
        id,
        info.name,
        found.name,
        found.context_window,
        found.max_output,
        found.reasoning,
        found.images,
        levels=found.levels if same else NOTHING,
        quirks=found.quirks if same else NOTHING,
    )


def _undated(id: str) -> str:
    """Return the id without a date at its end, as in 20251001 or 2026-04-23."""
    import re

    return re.sub(r"-(\d{8}|\d{4}-\d\d-\d\d)$", "", id)


def _plain(id: str) -> str:
    return id.lower().replace(".", "-")


def _namesake(name: str) -> Model | None:
    """Return the first model of all vendors whose id is this but for dots and capitals."""
    vendors = (info.name for info in PROVIDERS.values() if api_named(info.api).remote)
    return next((each for vendor in vendors for each in _listed(vendor).values() if _plain(each.id) == name), None)


@cache
def _read(provider: str) -> _Catalogue:
    known = PROVIDERS.get(provider)
    name = (known.catalogue if known is not None else "") or provider
    try:
        with open(os.path.join(_FOLDER, f"{name}.json"), "rb") as file:
            return decoder_of(_Catalogue).decode(file.read())
    except FileNotFoundError:
        return _Catalogue("", "", [])


@cache
def _rows(provider: str) -> Mapping[str, _Row]:
    return {row.id: row for row in _read(provider).models}


@cache
def _listed(provider: str) -> dict[str, Model]:
    listed = _read(provider)
    return {row.id: _model(provider, row, listed.thinking) for row in listed.models}


def _model(provider: str, row: _Row, thinking: Mapping[str, Mapping[Reasoning, str | int]]) -> Model:
    return Model(
        row.id,
        provider,
        row.name,
        row.window,
        row.output,
        bool(row.thinking),
        row.images,
        _prices(row),
        levels=thinking[row.thinking] if row.thinking else NOTHING,
        quirks=row.quirks,
        ends=row.ends,
        successor=row.successor,
    )


def _without_area(id: str, areas: Iterable[str]) -> tuple[str, str]:
    """Return the area that an id begins with, and the id without it and without its version."""
    import re

    area = max((each for each in areas if id.startswith(each)), key=len)
    return area, re.sub(r"(-\d{8})?(-v\d+)?(:\d+k?)*$", "", id.removeprefix(area))


def _ratio(areas: Mapping[str, float | None], area: str, other: str) -> float | None:
    one, two = areas[area], areas[other]
    return one / two if one is not None and two is not None else None


def _times(prices: Prices | None, factor: float | None) -> Prices | None:
    if prices is None or factor is None:
        return None
    names = ("input", "output", "cache_read", "cache_write", "cache_write_long")
    return replace(
        prices,
        **{name: round(getattr(prices, name) * factor, 6) for name in names},
        long=_times(prices.long, factor),
        changed=_times(prices.changed, factor),
    )


def _prices(row: _Row) -> Prices | None:
    if row.price is None:
        return None
    return replace(
        _priced(row.price),
        long_prompt=row.long_prompt,
        long=_priced(row.long_price) if row.long_price else None,
        changes_on=row.changes_on,
        changed=_priced(row.changed_price) if row.changed_price else None,
    )


def _priced(dollars: tuple[int | float, ...]) -> Prices:
    input, output, *cached = dollars
    read, written, long = [*cached, 0, 0, 0][:3]
    return Prices(input, output, read, written, long)
