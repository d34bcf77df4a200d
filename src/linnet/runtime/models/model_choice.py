"""Finds out which provider and model are meant, by the names that were said, if any, and by the keys there are."""

from typing import TYPE_CHECKING

from linnet.errors import ConfigError

if TYPE_CHECKING:
    from linnet.runtime.models.accounts import Accounts


def chosen(accounts: "Accounts", provider: str | None, model: str | None) -> tuple[str, str]:
    """Return the provider and the id of the model that are meant. The provider need not have such a model.

    `model` may be an id, or `provider/id`; ids may have slashes of their own. Raises ConfigError if provider and model
    contradict each other, or if there is no such provider.
    """
    if provider is not None:
        return provider, _id(accounts, provider, model)
    if model is None:
        name = default_provider(accounts)
        return name, _default_model(accounts, name)
    return _found(accounts, model)


def default_provider(accounts: "Accounts") -> str:
    """Return the first provider that has a key: Anthropic, OpenAI, DeepSeek, then those of models.json in their order.
    If none has, the first that may do without. A key that was given on the command line is taken to be Anthropic's.
    """
    names = [name for name in accounts.providers if name != "scripted"]
    if accounts.key_given:
        return names[0]
    keyed = (name for name in names if accounts.key(name))
    keyless = (name for name in names if accounts.has_own_server(name))
    return next(keyed, None) or next(keyless, names[0])


def _id(accounts: "Accounts", provider: str, model: str | None) -> str:
    """Return the id of the model of this provider that is meant. Raises ConfigError."""
    accounts.info(provider)
    if not model:
        return _default_model(accounts, provider)
    if accounts.lists(provider, model):
        return model
    first, slash, rest = model.partition("/")
    if slash and first == provider and rest:
        return rest
    if slash and first in accounts.providers and not accounts.open_ended(provider):
        say_provider, say_model = accounts.spelled("provider"), accounts.spelled("model")
        raise ConfigError(
            f"{say_provider} {provider} and {say_model} {model} contradict each other: "
            f"leave out {say_provider}, or name a model of {provider}"
        )
    return model


def _found(accounts: "Accounts", model: str) -> tuple[str, str]:
    """Return the provider and the id for a model whose provider was not said: one that lists it, before one that may
    have it unlisted.
    """
    default = default_provider(accounts)
    first, _, rest = model.partition("/")
    named = bool(rest) and first in accounts.providers
    if accounts.lists(default, model):
        return default, model
    if named and accounts.lists(first, rest):
        return first, rest
    listing = [name for name in accounts.providers if accounts.lists(name, model)]
    for name in sorted(listing, key=lambda name: not accounts.usable(name)):
        return name, model
    if named and (accounts.open_ended(first) or not accounts.open_ended(default)):
        return first, rest
    return default, model


def _default_model(accounts: "Accounts", provider: str) -> str:
    """Return the model of the provider that is used if nobody names one. Raises ConfigError if there is none."""
    model = accounts.info(provider).default_model
    if not model:
        name = accounts.spelled("model")
        raise ConfigError(f"the provider {provider} lists no models in models.json; name one with {name}")
    return model
