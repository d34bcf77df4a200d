"""Which provider and model are meant by what was said, and by what was not."""

from typing import TYPE_CHECKING

from linnet.errors import ConfigError

if TYPE_CHECKING:
    from linnet.runtime.models.accounts import Accounts


def chosen(accounts: "Accounts", provider: str | None, model: str | None) -> tuple[str, str]:
    """Return the names of a provider and of a model, which need not be known there.

    The model may be an id, or `provider/id`; ids may have slashes of their own. Raises ConfigError if provider and
    model contradict each other, or if there is no such provider.
    """
    if provider is not None:
        return provider, _id(accounts, provider, model)
    if model is None:
        name = default_provider(accounts)
        return name, _default_model(accounts, name)
    return _found(accounts, model)


def default_provider(accounts: "Accounts") -> str:
    """The first that has a key: Anthropic, OpenAI, DeepSeek, then those of models.json in the order they have there.
    Else the first that may do without one. A key that was given for no provider is Anthropic's.
    """
    names = [name for name in accounts.providers if name != "scripted"]
    if accounts.key_given:
        return names[0]
    keyed = (name for name in names if accounts.key(name))
    keyless = (name for name in names if accounts.has_own_server(name))
    return next(keyed, None) or next(keyless, names[0])


def _id(accounts: "Accounts", provider: str, model: str | None) -> str:
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
    """Look where it is listed before guessing where it might be known."""
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
    model = accounts.info(provider).default_model
    if not model:
        name = accounts.spelled("model")
        raise ConfigError(f"the provider {provider} lists no models in models.json; name one with {name}")
    return model
