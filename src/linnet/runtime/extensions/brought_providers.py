"""The providers of models that extensions bring, added to those that a session can use."""

from collections.abc import Sequence

from linnet.core.events import ModelSet
from linnet.core.models import Model
from linnet.errors import LinnetError
from linnet.extensions.extension import AddedProvider, Extension
from linnet.providers.apis import remote_api
from linnet.providers.catalog import ProviderInfo
from linnet.runtime.broadcast import Broadcast
from linnet.runtime.models.known_models import KnownModels
from linnet.runtime.models.known_providers import KnownProviders


class BroughtProviders:
    """Invariant: what was added is what the extensions that are loaded bring, but for what could not be added."""

    def __init__(self, broadcast: Broadcast) -> None:
        self._broadcast = broadcast
        self._names: list[str] = []

    def renew(self, extensions: Sequence[Extension], models: KnownModels) -> list[tuple[str, str]]:
        """Add what these extensions bring, and remove what others brought before. If the model in use is one of them,
        what is known about it now is told. Returns the paths of those that bring what cannot be added, and why.
        """
        for name in self._names:
            models.providers.remove_added(name)
        self._names, failures = [], []
        for extension in extensions:
            for provider in extension.providers:
                try:
                    _add(provider, models.providers)
                    self._names.append(provider.name)
                except LinnetError as error:
                    failures.append((extension.path, str(error)))
        with self._broadcast.lock:
            used = self._broadcast.state.model
            if used.provider in self._names:
                self._broadcast.publish_locked([ModelSet(models.find(used.provider, used.id, unlisted=True))])
        return failures


def _add(provider: AddedProvider, providers: KnownProviders) -> None:
    """Add one provider. Raises ConfigError if it makes no sense."""
    if provider.stream is not None:
        from linnet.providers.program.contract import added

        info, models = added(provider)
        providers.add(info, models, provider)
        return
    api = remote_api(provider.api)
    models = [Model(each, provider.name) if isinstance(each, str) else each for each in provider.models]
    variables = (provider.key_variable,) if provider.key_variable else ()
    first = models[0].id if models else ""
    headers, key = provider.headers, provider.key
    info = ProviderInfo(provider.name, api.name, provider.base_url, variables, first, headers, key=key, own=True)
    providers.add(info, models)
