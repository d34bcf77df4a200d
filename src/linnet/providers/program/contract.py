"""What a provider is that somebody else writes: a name, and one generator of deltas. docs/providers.md has more."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from linnet.core.cancel import Cancel
from linnet.core.deltas import Delta
from linnet.core.models import Model
from linnet.errors import ConfigError
from linnet.providers.base import Request
from linnet.providers.provider_rows import ProviderInfo, in_python

Streamed: TypeAlias = "Delta | str | Sequence[Delta | str]"
"""A piece of a reply; a string is text. Several at once are told in one go."""


@runtime_checkable
class ModelProvider(Protocol):
    """Answers requests.

    It may also have `models`, a list of Model or of ids, of which the first is the default; without it there is one
    model, of the provider's own name. And it may have `close()`, which is called at the end.
    """

    name: str

    def stream(self, request: Request, cancel: Cancel) -> Iterable[Streamed]:
        """Yield the pieces of one reply. It is called in a thread of its own, and no longer asked for more after an
        abort, which `cancel` tells of. It need not say that the reply begins or stops.

        Raise ProviderUnavailable for what may pass, and ProviderRejected for what will not; anything else counts as
        that.
        """


def checked(given: Any) -> ModelProvider:
    """Return what was given, if it is a provider. Raises ConfigError."""
    from inspect import isasyncgenfunction, iscoroutinefunction

    name, stream = getattr(given, "name", None), getattr(given, "stream", None)
    if not isinstance(name, str) or not name.strip() or "/" in name:
        raise ConfigError(f"a provider has a name, without a slash: {name!r} cannot be one")
    if not callable(stream):
        raise ConfigError(f"the provider {name} has no method stream(request, cancel)")
    if isasyncgenfunction(stream) or iscoroutinefunction(stream):
        raise ConfigError(f"the stream of the provider {name} is async; it has to be an ordinary generator")
    provider: ModelProvider = given
    return provider


def added(given: Any) -> tuple[ProviderInfo, list[Model]]:
    """Return the row of such a provider, and its models. Raises ConfigError."""
    provider = checked(given)
    models = _models(provider)
    return in_python(provider.name, models[0].id), models


def _models(provider: ModelProvider) -> list[Model]:
    """Return the provider's models, the default first. Raises ConfigError."""
    said: Any = getattr(provider, "models", None) or (provider.name,)
    found = [Model(each, provider.name) if isinstance(each, str) else each for each in said]
    for each in found:
        if not isinstance(each, Model) or each.provider != provider.name:
            raise ConfigError(
                f"the models of the provider {provider.name} are ids, or Models of that provider: {each!r}"
            )
    return found
