"""Says which providers can be used, with which key and at which address, and which models they have."""

import os
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from linnet.core.models import Model
from linnet.core.setting_names import Spelling
from linnet.errors import MissingKey, UnknownModel, UnknownProvider
from linnet.providers import catalog
from linnet.runtime.config.config import flag
from linnet.runtime.models.keys import Key, StoredKeys
from linnet.runtime.models.model_choice import chosen


class Accounts:
    """All providers. `begin` chooses one of them, to which the key and the address of the command line belong; others
    can be used if they have a key of their own.

    models.json is read when it is first needed, and only once; auth.json again when it has changed.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        home: str,
        api_key: str | None = None,
        base_url: str | None = None,
        spelled: Spelling = flag,
    ) -> None:
        self._environ = environ
        self._home = home
        self._api_key = api_key
        self._base_url = base_url
        self.spelled = spelled
        self._chosen: str | None = None
        self._named: list[Model] = []  # The model that was chosen, if nobody lists it.
        self._stored = StoredKeys(home)
        self._own: tuple[Mapping[str, catalog.ProviderInfo], Sequence[Model]] | None = None  # What `_read` has read.
        self._guessed = False  # Neither a provider nor a model was named.

    def begin(self, provider: str | None, model: str | None) -> Model:
        """Choose a provider and return the model, by what was said and by which keys there are. Raises ConfigError if
        there is none of that name.
        """
        name, id = chosen(self, provider, model)
        self._guessed = provider is None and model is None
        self._chosen = name
        anywhere = self.providers if provider is None and model == id else (name,)
        found = self._found(name, id, anywhere)
        if not self.lists(name, id):
            self._named = [found]  # So that it can be seen in a list, and chosen again.
        return found

    @property
    def providers(self) -> Mapping[str, catalog.ProviderInfo]:
        """Return linnet's providers and those of models.json. Raises ConfigError if that file cannot be used."""
        return self._read()[0]

    def info(self, provider: str) -> catalog.ProviderInfo:
        """Return what is known of a provider. Raises UnknownProvider."""
        try:
            return self.providers[provider]
        except KeyError:
            raise UnknownProvider(provider, self.providers) from None

    @property
    def key_given(self) -> bool:
        """Return whether a key was given as a flag or a keyword."""
        return bool(self._api_key)

    @property
    def key_variables(self) -> list[str]:
        """Return the environment variables in which providers' keys may be."""
        return [info.key_variable for info in self.providers.values() if info.key_variable]

    def key(self, provider: str) -> Key:
        """Return the provider's key: that of the flag, else of the variable, else of a file; an empty one if there is
        none. Raises ConfigError if a file cannot be used.
        """
        if provider == self._chosen and self._api_key:
            return Key(self._api_key, "flag", self.spelled("api_key"))
        info = self.info(provider)
        if info.key_variable and (value := self._environ.get(info.key_variable)):
            return Key(value, "variable", info.key_variable)
        if info.key:
            return Key(info.key, "file", os.path.join(self._home, "models.json"))
        return self._stored.key(provider) if provider != "scripted" else Key()

    def base_url(self, provider: str) -> str:
        """Return the address: that of the flag, else of the variable that the vendors' own clients read, else the
        vendor's.
        """
        return self._other_url(provider) or self.info(provider).base_url

    def has_own_server(self, provider: str) -> bool:
        """Return whether somebody gave the provider's address: then it may do without a key."""
        return self.info(provider).own or bool(self._other_url(provider))

    def open_ended(self, provider: str) -> bool:
        """Return whether the provider may have models that nobody has listed. Before one is chosen, an address on the
        command line is taken to be that of any.
        """
        return self.has_own_server(provider) or (self._chosen is None and bool(self._base_url))

    def usable(self, provider: str) -> bool:
        """Return whether the provider has a key, or needs none. The scripted one has to be chosen."""
        chosen_script = provider == self._chosen == "scripted"
        return chosen_script or bool(self.key(provider)) or self.has_own_server(provider)

    def require(self, provider: str) -> None:
        """Raise MissingKey if the provider has no key and needs one."""
        info, key = self.info(provider), self.key(provider)
        if provider != "scripted" and not self.has_own_server(provider) and not key:
            variables = [each.key_variable for each in catalog.PROVIDERS.values() if each.key_variable]
            others = [each for each in variables if each != info.key_variable] if self._guessed else []
            raise MissingKey(provider, info.key_variable, others, key.problem, self.spelled("api_key"))

    def advice(self, provider: str) -> str:
        """Return the part of a sentence that says where the key came from, for when the provider refuses it."""
        key, login = self.key(provider), f"linnet login {provider}"
        if key.source in ("flag", "variable"):
            return f"the key is that of {key.place}"
        if key and os.path.basename(key.place) == "auth.json":
            return f"the key is that of {key.place}; to keep another: {login}"
        if key:
            return f"the key is that of {key.place}"
        variable = self.info(provider).key_variable
        return f"no key was sent; {f'set {variable}, or keep one: ' if variable else 'to keep one: '}{login}"

    def models(self, provider: str) -> list[Model]:
        """Return the provider's models: the catalogue's, and those of models.json, which may correct them."""
        api, url = catalog.API_NAMES[self.info(provider).api], self.base_url(provider)
        listed = catalog.models(provider, [*self._read()[1], *self._named])
        return [replace(model, api=api, base_url=url) for model in listed]

    def lists(self, provider: str, id: str) -> bool:
        """Return whether the catalogue or models.json has this model of the provider."""
        return catalog.find(provider, id, self._read()[1]) is not None

    def available(self) -> list[Model]:
        """Return the models of all providers that can be used, the chosen one's first."""
        names = sorted(self.providers, key=lambda name: name != self._chosen)
        return [model for name in names if self.usable(name) for model in self.models(name)]

    def choose(self, provider: str, id: str, *, unlisted: bool = False) -> Model:
        """Return the model as `find` does, but raise UnknownModel if its provider cannot be used."""
        if provider in self.providers and not self.usable(provider):
            raise UnknownModel(id, provider, ())
        return self.find(provider, id, unlisted=unlisted)

    def find(self, provider: str, id: str, *, unlisted: bool = False) -> Model:
        """Return the model. `unlisted`: it may be one that nobody lists, if the provider may have such. Raises
        UnknownModel.
        """
        if provider not in self.providers:
            raise UnknownModel(id, provider, ())
        if unlisted:
            return self._found(provider, id, (provider,))
        models = self.models(provider)
        for model in models:
            if model.id == id:
                return model
        raise UnknownModel(id, provider, [model.id for model in models])

    def _read(self) -> tuple[Mapping[str, catalog.ProviderInfo], Sequence[Model]]:
        """Return all providers, and the models that models.json adds. Most people have no such file."""
        if self._own is None:
            path = os.path.join(self._home, "models.json")
            if os.path.lexists(path):
                from linnet.runtime.models.models_file import read

                self._own = read(path)
            else:
                self._own = catalog.PROVIDERS, ()
        return self._own

    def _found(self, provider: str, id: str, anywhere: Iterable[str]) -> Model:
        """Return the model, listed or not. `anywhere` names the providers whose models an error suggests. Raises
        UnknownModel.
        """
        if self.lists(provider, id):
            return self.find(provider, id)
        if id.strip() and self.open_ended(provider):
            api = catalog.API_NAMES[self.info(provider).api]
            return Model(id, provider, api=api, base_url=self.base_url(provider))
        elsewhere = [name for name in self.providers if self.lists(name, id)]
        raise UnknownModel(id, provider, [each.id for name in anywhere for each in self.models(name)], elsewhere)

    def _other_url(self, provider: str) -> str:
        """Return the address that a flag or a variable gives; empty if none does."""
        flag = self._base_url if provider == self._chosen else None
        return flag or self._environ.get(base_url_variable(provider), "")


def base_url_variable(provider: str) -> str:
    """Return the variable with the provider's address, such as ANTHROPIC_BASE_URL, which the vendors' clients read."""
    return "".join(each if each.isalnum() else "_" for each in provider.upper()) + "_BASE_URL"
