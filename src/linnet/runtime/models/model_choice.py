"""Finds out which provider and model are meant, by the names that were said, if any, and by the keys there are."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, get_args

from msgspec import Struct

from linnet.core.models import Model, Reasoning
from linnet.errors import ConfigError
from linnet.providers.apis import api_named

if TYPE_CHECKING:
    from linnet.runtime.models.accounts import Accounts

_SEPARATORS = r"[-./:_ ]"


class Choice(Struct, frozen=True):
    """A provider, the id of one of its models, and the level of thinking if the name said one."""

    provider: str
    id: str
    level: Reasoning | None = None


class Offer(NamedTuple):
    """A model that is offered, and the level of thinking that it is to have if it is gone round to."""

    model: Model
    level: Reasoning | None = None


def chosen(accounts: "Accounts", provider: str | None, model: str | None) -> Choice:
    """Return the provider and the id of the model that are meant. The provider need not have such a model.

    `model` may be an id, `provider/id`, or a word of a listed model's id or name, each with `:level` behind it. Raises
    ConfigError if there is no such provider, or if it has no default model and none is named.
    """
    if provider is not None:
        accounts.info(provider)
        return _within(accounts, provider, model) if model else Choice(provider, default_model(accounts, provider))
    if model is not None:
        return _anywhere(accounts, model)
    name = default_provider(accounts)
    return Choice(name, default_model(accounts, name))


def default_provider(accounts: "Accounts", *, named: bool = False) -> str:
    """Return the first provider that has a key and a default model: Anthropic, OpenAI, DeepSeek, and so on in the order
    of the table, then those of models.json in their order. If none has, the first whose address somebody gave; it needs
    no default if a model is `named`. A key that was given on the command line is taken to be Anthropic's.
    """
    names = [name for name, info in accounts.providers.items() if api_named(info.api).remote]
    if accounts.key_given:
        return names[0]
    keyed = (
        name for name in names if accounts.key(name) and accounts.info(name).default_model and accounts.base_url(name)
    )
    keyless = (name for name in names if accounts.has_own_server(name) and (named or accounts.info(name).default_model))
    return next(keyed, None) or next(keyless, names[0])


def default_model(accounts: "Accounts", provider: str) -> str:
    """Return the model of the provider that is used if nobody names one. Raises ConfigError if there is none."""
    info = accounts.info(provider)
    if not info.default_model:
        name, ask = accounts.spelled("model"), f"linnet models --provider {provider}"
        why = (
            f"has no default model; to see which it has: {ask}" if info.open_ended else "lists no models in models.json"
        )
        raise ConfigError(f"the provider {provider} {why}; name one with {name}")
    return info.default_model


def matching(models: Iterable[Model], patterns: Sequence[str]) -> list[Offer]:
    """Return the models that one of the patterns means, in the order of the patterns: `*`, `?` and `[…]` stand for what
    they do in a shell, in an id or in `provider/id`; anything else is an id, `provider/id`, or a word of one. Each may
    have `:level` behind it; of several that mean one model, the first counts.
    """
    from fnmatch import fnmatchcase  # Few runs have any.

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


def _within(accounts: "Accounts", provider: str, model: str) -> Choice:
    """Return the model of this provider that is meant. `provider/` before its id is dropped, once."""
    first, _, rest = model.partition("/")
    if first == provider and rest and not accounts.lists(provider, model):
        return _at(accounts, provider, rest)
    return _at(accounts, provider, model)


def _at(accounts: "Accounts", provider: str, model: str) -> Choice:
    """Return the model of this provider that is meant, by its id or a word of it."""
    if accounts.lists(provider, model):
        return Choice(provider, model)
    id, level = _split(model)
    if level and accounts.lists(provider, id):
        return Choice(provider, id, level)
    if not accounts.has_own_server(provider) and (found := _by_word(accounts, provider, id)):
        return Choice(provider, found, level)
    return Choice(provider, id, level)


def _anywhere(accounts: "Accounts", model: str) -> Choice:
    """Return the choice for a model whose provider was not said: one that lists it, before one that may have it
    unlisted.
    """
    default = default_provider(accounts, named=True)
    first, _, rest = model.partition("/")
    named = bool(rest) and first in accounts.providers
    id, level = _split(model)
    for name, said in ((model, None), (id, level)):
        if accounts.lists(default, name):
            return Choice(default, name, said)
        if named and accounts.lists(first, name.partition("/")[2]):
            return Choice(first, name.partition("/")[2], said)
        listing = [each for each in accounts.providers if accounts.lists(each, name)]
        for each in sorted(listing, key=lambda each: not accounts.usable(each)):
            return Choice(each, name, said)
    if named:
        return _at(accounts, first, rest)
    if accounts.open_ended(default) and accounts.has_own_server(default):
        return Choice(default, id, level)
    names = [default, *(each for each in accounts.providers if each != default and accounts.usable(each))]
    if not accounts.open_ended(default):
        names += [each for each in accounts.providers if each not in names]
    for each in names:
        if found := _by_word(accounts, each, id):
            return Choice(each, found, level)
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


def _by_word(accounts: "Accounts", provider: str, word: str) -> str:
    """Return the id of the provider's first model that has this in its id or its name, one that does not end before one
    that does; empty if none has. Where any id may be right, what has a digit or a slash is taken for one.
    """
    if not word.strip() or not api_named(accounts.info(provider).api).remote:
        return ""
    if accounts.open_ended(provider) and any(each.isdigit() or each == "/" for each in word):
        return ""
    found = [each for each in accounts.models(provider) if _has_word(each, word.lower())]
    return next((each.id for each in sorted(found, key=lambda each: bool(each.ends))), "")


def _has_word(model: Model, word: str) -> bool:
    """Return whether the word, in lower case, is in the model's id or name, whole: `opus-4` is in `claude-opus-4-8`,
    and not in `claude-opus-45`.
    """
    whole = re.compile(rf"(?:^|{_SEPARATORS}){re.escape(word)}(?:$|{_SEPARATORS})")
    return bool(whole.search(model.id.lower()) or whole.search(model.name.lower()))
