"""The providers that there are: linnet's own, those of models.json, and those that a program, an extension or a
recording brings.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from linnet.core.models import Model
from linnet.errors import ConfigError, UnknownProvider
from linnet.providers.apis import api_named
from linnet.providers.catalog import PROVIDERS, ProviderInfo
from linnet.providers.provider_rows import in_python

if TYPE_CHECKING:
    from linnet.runtime.config.config import ProviderChoice


class KnownProviders:
    """Invariant: models.json is read when it is first needed, and only once."""

    def __init__(self, environ: Mapping[str, str], home: str, pi_home: str | None = None) -> None:
        """`home` may have a models.json, whose headers may name variables of `environ`; and so may `pi_home`, if linnet
        stands in for pi.
        """
        self.environ = environ
        self.home = home
        self.pi_home = pi_home
        self.remarks: list[str] = []  # Sentences on what of pi's file cannot be used.
        self.path = os.path.join(home, "models.json")
        self._all: tuple[Mapping[str, ProviderInfo], Sequence[Model]] | None = None  # What `_read` has read.
        self._given: dict[str, object] = {}  # Those that were added, by their names, with what answers for them.
        self._awaited = ""  # The name of a provider that an extension is to bring.

    @property
    def infos(self) -> Mapping[str, ProviderInfo]:
        """Return all providers by their names, linnet's first. Raises ConfigError if models.json cannot be used."""
        return self._read()[0]

    @property
    def added_models(self) -> Sequence[Model]:
        """Return the models that the catalogue lacks, or has otherwise. Raises ConfigError."""
        return self._read()[1]

    def info(self, provider: str) -> ProviderInfo:
        """Return what is known of a provider. Raises UnknownProvider."""
        try:
            return self.infos[provider]
        except KeyError:
            if provider and provider == self._awaited:
                return in_python(provider)
            raise UnknownProvider(provider, self.infos) from None

    def remote(self, provider: str) -> bool:
        """Return whether the provider is a server, which may want a key. Raises UnknownProvider."""
        return api_named(self.info(provider).api).remote

    def given(self, provider: str) -> object:
        """Return what answers the provider's requests, if it was given; else None. Raises UnknownProvider if nobody has
        brought it.
        """
        if provider not in self.infos:
            raise UnknownProvider(provider, self.infos)
        return self._given.get(provider)

    def add(self, info: ProviderInfo, models: Sequence[Model], given: object = None) -> None:
        """Take up a provider that neither the catalogue nor models.json has. `given` answers its requests, where no
        server does. Raises ConfigError if there is one of that name that was not added so.
        """
        infos, known = self._read()
        if info.name in infos and info.name not in self._given:
            raise ConfigError(f'a provider is called "{info.name}" already; choose another name')
        self._given[info.name] = given
        others = [model for model in known if model.provider != info.name]
        self._all = {**infos, info.name: info}, [*others, *models]

    def remove_added(self, provider: str) -> None:
        """Forget a provider that was added."""
        infos, models = self._read()
        if self._given.pop(provider, self) is not self:
            self._all = (
                {name: info for name, info in infos.items() if name != provider},
                [model for model in models if model.provider != provider],
            )

    def named(self, said: "ProviderChoice | None") -> str | None:
        """Return the name of the provider that was said. One that the program has written is added. Raises
        ConfigError.
        """
        if said is None or isinstance(said, str):
            return said
        from linnet.providers.program.contract import added

        info, models = added(said)
        self.add(info, models, said)
        return info.name

    def expect(self, provider: str) -> None:
        """Let a provider of this name be chosen that nobody knows: an extension is to bring it."""
        self._awaited = provider

    def add_recorded(self, recorded: Sequence[Model]) -> None:
        """Take up the models of a recording, and those of their providers that nobody knows here."""
        infos, models = self._read()
        unknown = {each.provider: each for each in recorded if each.provider not in infos}
        brought = {
            name: ProviderInfo(name, each.api or "program", each.base_url, (), each.id, own=True)
            for name, each in unknown.items()
        }
        self._all = {**infos, **brought}, [*recorded, *models]

    def _read(self) -> tuple[Mapping[str, ProviderInfo], Sequence[Model]]:
        """Return all providers, and the models that models.json adds. Most people have no such file."""
        if self._all is None:
            if os.path.lexists(self.path):
                from linnet.runtime.models.models_file import read

                self._all = read(self.path, self.environ)
            else:
                self._all = PROVIDERS, ()
            if self.pi_home is not None and os.path.lexists(path := os.path.join(self.pi_home, "models.json")):
                from linnet.runtime.models.pi_models_file import below

                self._all = below(self._all, path, self.environ, self.remarks)
        return self._all
