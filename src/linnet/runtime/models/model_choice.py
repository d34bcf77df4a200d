"""Finds out which provider and model somebody means who has named a model, and which models patterns mean."""

import re
from collections.abc import Iterable, Sequence
from typing import get_args

from msgspec import Struct

from linnet.core.models import Model, Reasoning
from linnet.errors import UnknownModel
from linnet.providers.apis import api_named
from linnet.runtime.models.known_models import KnownModels, Offer

_SEPARATORS = r"[-./:_ ]"


class Choice(Struct, frozen=True):
    """A provider, the id of one of its models, and the level of thinking if the name said one."""

    provider: str
    id: str
    level: Reasoning | None = None


def chosen(models: KnownModels, provider: str | None, model: str, suggested: str | None = None) -> Choice:
    """Return the provider and the id of the model that are meant. The provider need not have such a model, unless it
    was only `suggested`.

    `model` may be an id, `provider/id`, or a word of a listed model's id or name, each with `:level` behind it. Raises
    UnknownProvider, or UnknownModel if nobody lists what may be any provider's.
    """
    if provider is None:
        return _anywhere(models, model, suggested)
    models.providers.info(provider)
    return _within(models, provider, model)


def matching(models: Iterable[Model], patterns: Sequence[str]) -> list[Offer]:
    """Return the models that one of the patterns means, in the order of the patterns: `*`, `?` and `[…]` stand for what
    they do in a shell, in an id or in `provider/id`; anything else is an id, `provider/id`, or a word of one. Each may
    have `:level` behind it; of several that mean one model, the first counts.
    """
    from fnmatch import fnmatchcase

    left = list(models)
    found: dict[tuple[str, str], Offer] = {}
    for pattern in patterns:
        word, level = pattern.lower(), None
        if not any(word in _names(m) for m in left):
            word, level = _split(word)
        if any(each in word for each in "*?["):
            meant = [m for m in left if any(fnmatchcase(name, word) for name in _names(m))]
        else:
            meant = [m for m in left if word in _names(m)] or [m for m in left if _has_word(m, word)]
        for each in meant:
            found.setdefault((each.provider, each.id), Offer(each, level))
    return list(found.values())


def _names(model: Model) -> tuple[str, str]:
    return model.id.lower(), f"{model.provider}/{model.id}".lower()


def _within(models: KnownModels, provider: str, model: str) -> Choice:
    """Return the model of this provider that is meant. `provider/` before its id is dropped, once."""
    first, _, rest = model.partition("/")
    if first == provider and rest and not models.lists(provider, model):
        return _at(models, provider, rest)
    return _at(models, provider, model)


def _at(models: KnownModels, provider: str, model: str) -> Choice:
    """Return the model of this provider that is meant, by its id or a word of it."""
    if models.lists(provider, model):
        return Choice(provider, model)
    id, level = _split(model)
    if level and models.lists(provider, id):
        return Choice(provider, id, level)
    searched = models.lenient or not models.accounts.has_own_server(provider)
    if searched and (found := _by_word(models, provider, id)):
        return Choice(provider, found, level)
    return Choice(provider, id, level)


def _anywhere(models: KnownModels, model: str, suggested: str | None) -> Choice:
    """Return the choice for a model whose provider was not said: one that lists it, before one that may have it
    unlisted.
    """
    default = suggested or models.accounts.default_provider(named=True)
    first, _, rest = model.partition("/")
    named = bool(rest) and first in models.providers.infos
    id, level = _split(model)
    for name, said in ((model, None), (id, level)):
        if models.lists(default, name):
            return Choice(default, name, said)
        if named and models.lists(first, name.partition("/")[2]):
            return Choice(first, name.partition("/")[2], said)
        listing = [each for each in models.providers.infos if models.lists(each, name)]
        for each in sorted(listing, key=lambda each: not models.accounts.usable(each)):
            return Choice(each, name, said)
    if named:
        return _at(models, first, rest)
    own = models.accounts.open_ended(default) and models.accounts.has_own_server(default)
    if own and not models.lenient:
        return Choice(default, id, level)
    names = [default, *(each for each in models.providers.infos if each != default and models.accounts.usable(each))]
    listed_only = models.lenient and (suggested is not None or models.providers.info(default).own)
    if listed_only or not models.accounts.open_ended(default):
        names += [each for each in models.providers.infos if each not in names]
    for each in names:
        if found := _by_word(models, each, id):
            return Choice(each, found, level)
    if listed_only:
        known = [each.id for each in models.available()]
        raise UnknownModel(model, default, [*known, *words(known)])
    return Choice(default, id, level)


def _split(model: str) -> tuple[str, Reasoning | None]:
    """Return the name without a level of thinking behind a colon, and the level."""
    name, colon, word = model.rpartition(":")
    if colon and name:
        for level in get_args(Reasoning):
            if level == word:
                return name, level
    return model, None


def words(ids: Iterable[str]) -> list[str]:
    """Return the words of ids that a model can be named by: those made of letters, each once."""
    return list(dict.fromkeys(word for id in ids for word in re.split(_SEPARATORS, id) if word.isalpha()))


def _by_word(models: KnownModels, provider: str, word: str) -> str:
    """Return the id of the provider's first model that has this in its id or its name, one that does not end before one
    that does; empty if none has. Where any id may be right, what has a digit or a slash is taken for one. As pi has it,
    a part of a word will do if no model has it whole: of an id rather than of a name.
    """
    if not word.strip() or not api_named(models.providers.info(provider).api).remote:
        return ""
    if models.accounts.open_ended(provider) and any(each.isdigit() or each == "/" for each in word):
        return ""
    listed, part = models.of(provider), word.lower()
    found = [each for each in listed if _has_word(each, part)]
    if models.lenient and not found:
        found = [each for each in listed if part in each.id.lower()]
        found = found or [each for each in listed if part in each.name.lower()]
    return next((each.id for each in sorted(found, key=lambda each: bool(each.ends))), "")


def _has_word(model: Model, word: str) -> bool:
    """Return whether the word, in lower case, is in the model's id or name, whole: `opus-4` is in `claude-opus-4-8`,
    and not in `claude-opus-45`.
    """
    whole = re.compile(rf"(?:^|{_SEPARATORS}){re.escape(word)}(?:$|{_SEPARATORS})")
    return bool(whole.search(model.id.lower()) or whole.search(model.name.lower()))
