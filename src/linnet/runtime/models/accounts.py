"""Says which providers can be used, with which key and at which address, and which models they have."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from linnet.core.models import Model, Reasoning
from linnet.core.setting_names import Spelling
from linnet.errors import ConfigError, MissingKey, UnknownModel, UnknownProvider
from linnet.providers import catalog
from linnet.providers.apis import api_named
from linnet.providers.provider_rows import Seen, in_python
from linnet.runtime.config.config import REPLAY, flag
from linnet.runtime.models.addresses import said_url
from linnet.runtime.models.keys import Key, StoredKeys
from linnet.runtime.models.model_choice import Choice, Offer, chosen, default_provider, matching, words

if TYPE_CHECKING:
    from linnet.providers.recorded.recording import Recording
    from linnet.runtime.config.config import ProviderChoice


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
        api: str | None = None,
        scope: Sequence[str] = (),
    ) -> None:
        """`api` is the one through which the chosen provider is asked, if not the one that the catalogue names. `scope`
        are patterns of the models that are offered; none: all that can be used.
        """
        self._environ = environ
        self._home = home
        self._api_key = api_key
        self._base_url = base_url
        self._api = api
        self.spelled = spelled
        self._chosen: str | None = None
        self._named: list[Model] = []  # The model that was chosen, if nobody lists it.
        self._stored = StoredKeys(home)
        self._own: tuple[Mapping[str, catalog.ProviderInfo], Sequence[Model]] | None = None  # What `_read` has read.
        self._given: dict[str, object] = {}  # Those that were added, by their names, with what answers for them.
        self._awaited = ""  # The name of a provider that an extension is to bring.
        self._guessed = False  # Neither a provider nor a model was named.
        self._played: Mapping[str, str] = {}  # The providers of a recording that is played, with their addresses.
        self.scope = tuple(scope)
        self.level: Reasoning | None = None
        """The level of thinking that the name of the model said, once one is chosen."""

    def begin(self, provider: str | None, model: str | None) -> Model:
        """Choose a provider and return the model, by what was said and by which keys there are. Raises ConfigError if
        there is none of that name.
        """
        choice = (self._first_offered(provider) if model is None else None) or chosen(self, provider, model)
        name, id, self.level = choice.provider, choice.id, choice.level
        self._guessed = provider is None and model is None
        self._chosen = name
        anywhere = self.providers if provider is None and model and model.startswith(id) else (name,)
        found = self._found(name, id, anywhere)
        if all(each.id != id for each in self.models(name)):
            self._named = [found]  # So that it can be seen in a list, and chosen again.
        return found

    def settle(self, provider: str) -> None:
        """Choose a provider, and no model of it: to ask it which it has. Raises UnknownProvider."""
        self._chosen = self.info(provider).name

    def play(self, recording: "Recording", model: str | None) -> Model:
        """Let a recording stand for the providers in it, which need no key then. Return the model that it began with,
        or the one of its models that is named. Raises UnknownModel.
        """
        models = recording.models
        self._played = {each.provider: each.base_url for each in reversed(models)}
        known, extra = self._read()
        unknown = {each.provider: each for each in models if each.provider not in known}
        infos = {
            name: catalog.ProviderInfo(name, each.api or "program", each.base_url, (), each.id, own=True)
            for name, each in unknown.items()
        }
        self._own = {**known, **infos}, [*models, *extra]
        self._chosen = models[0].provider
        for each in models if model else models[:1]:
            if model in (None, each.id, f"{each.provider}/{each.id}"):
                return each
        raise UnknownModel(model or "", REPLAY, [each.id for each in models])

    @property
    def providers(self) -> Mapping[str, catalog.ProviderInfo]:
        """Return linnet's providers and those of models.json. Raises ConfigError if that file cannot be used."""
        return self._read()[0]

    def add(self, info: catalog.ProviderInfo, models: Sequence[Model], given: object = None) -> None:
        """Take up a provider that neither the catalogue nor models.json has. `given` answers its requests, where no
        server does. Raises ConfigError if there is one of that name that was not added so.
        """
        providers, known = self._read()
        if info.name in providers and info.name not in self._given:
            raise ConfigError(f'a provider is called "{info.name}" already; choose another name')
        self._given[info.name] = given
        self._named = [model for model in self._named if model.provider != info.name]
        others = [model for model in known if model.provider != info.name]
        self._own = {**providers, info.name: info}, [*others, *models]

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

    def remove_added(self, provider: str) -> None:
        """Forget a provider that was added."""
        providers, models = self._read()
        if self._given.pop(provider, self) is not self:
            self._own = (
                {name: info for name, info in providers.items() if name != provider},
                [model for model in models if model.provider != provider],
            )

    def given(self, provider: str) -> object:
        """Return what answers the provider's requests, if it was given; else None. Raises UnknownProvider if nobody has
        brought it.
        """
        if provider not in self.providers:
            raise UnknownProvider(provider, self.providers)
        return self._given.get(provider)

    def info(self, provider: str) -> catalog.ProviderInfo:
        """Return what is known of a provider. Raises UnknownProvider."""
        try:
            return self.providers[provider]
        except KeyError:
            if provider and provider == self._awaited:
                return in_python(provider)
            raise UnknownProvider(provider, self.providers) from None

    @property
    def key_given(self) -> bool:
        """Return whether a key was given as a flag or a keyword."""
        return bool(self._api_key)

    @property
    def key_variables(self) -> list[str]:
        """Return the environment variables in which providers' keys may be, or what else lets a request in."""
        return [
            variable
            for info in self.providers.values()
            for variable in (*info.key_variables, *info.secret_variables, *info.header_variables)
        ]

    def key(self, provider: str) -> Key:
        """Return the provider's key: that of the flag, else of the variable, else of a file; an empty one if there is
        none. Raises ConfigError if a file cannot be used.
        """
        if provider in self._played:
            return Key()
        info = self.info(provider)
        if provider == self._chosen and self._api_key:
            return Key(self._api_key, "flag", self.spelled("api_key"), auth=info.auth)
        for variable in info.key_variables:
            if value := self._environ.get(variable):
                return Key(value, "variable", variable, auth=info.auth_of.get(variable, info.auth))
        if info.key:
            return Key(info.key, "file", os.path.join(self._home, "models.json"), auth=info.auth)
        return replace(self._stored.key(provider), auth=info.auth) if self._remote(provider) else Key()

    def secrets(self) -> list[str]:
        """Return all that lets requests in, used or not: keys of the flag, of variables and of files, and what headers
        of the user's own have. Raises ConfigError if a file cannot be used.
        """
        from linnet.core.text.known_secrets import of_headers

        providers, models = self._read()
        stored = [self._stored.key(name) for name in providers if self._remote(name)]
        written = [Key(info.key) for info in providers.values()]
        return [
            self._api_key or "",
            *(self._environ.get(variable, "") for variable in self.key_variables),
            *(key.word for key in (*stored, *written) if not key.command),
            *(secret for info in providers.values() for secret in of_headers(info.headers)),
            *(secret for model in models for secret in of_headers(model.headers)),
        ]

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
        if self.has_own_server(provider) or self.info(provider).open_ended:
            return True
        return self._chosen is None and bool(self._base_url)

    def usable(self, provider: str) -> bool:
        """Return whether the provider has a key, or needs none. One that is no server has to be chosen."""
        if provider in self._played:
            return True
        if not self._remote(provider):
            return provider == self._chosen or self.info(provider).own
        keyed = bool(self.key(provider) or self.has_own_server(provider) or self.seen(provider).place)
        return bool(self.base_url(provider)) and (keyed or self.info(provider).keyless)

    def require(self, provider: str) -> None:
        """Raise MissingKey if the provider has no key and needs one."""
        info, key = self.info(provider), self.key(provider)
        if provider in self._played or not self._remote(provider) or self.has_own_server(provider) or key:
            return
        seen = self.seen(provider)
        if not seen.place and not info.keyless:
            known = [each for each in catalog.PROVIDERS.values() if each.base_url]  # Others need more than a key.
            variables = [each.key_variable for each in known if each.key_variable and not each.keyless]
            others = [each for each in variables if each != info.key_variable] if self._guessed else []
            why = key.problem or seen.problem
            raise MissingKey(provider, info.key_variable, others, why, self.spelled("api_key"), seen.ways, seen.beside)

    def advice(self, provider: str) -> str:
        """Return the part of a sentence that says where the key came from, for when the provider refuses it."""
        key, login = self.key(provider), f"linnet login {provider}"
        if key.source in ("flag", "variable"):
            return f"the key is that of {key.place}"
        if key and os.path.basename(key.place) == "auth.json":
            return f"the key is that of {key.place}; to keep another: {login}"
        if key:
            return f"the key is that of {key.place}"
        if place := self.seen(provider).place:
            return f"the credentials are those of {place}"
        variable = self.info(provider).key_variable
        return f"no key was sent; {f'set {variable}, or keep one: ' if variable else 'to keep one: '}{login}"

    def models(self, provider: str) -> list[Model]:
        """Return the provider's models: the catalogue's, and those of models.json, which may correct them."""
        listed = catalog.models(provider, [*self._read()[1], *self._named])
        return [self._completed(model) for model in listed]

    def lists(self, provider: str, id: str) -> bool:
        """Return whether the catalogue or models.json has this model of the provider."""
        return catalog.find(provider, id, self._read()[1]) is not None

    def available(self) -> list[Model]:
        """Return the models of all providers that can be used, the chosen one's first; only those of the scope, in its
        order, if there is one.
        """
        return [offer.model for offer in self.offers()]

    def offers(self) -> list[Offer]:
        """Return the same, with the levels of thinking that the scope says."""
        names = sorted(self.providers, key=lambda name: name != self._chosen)
        usable = [model for name in names if self.usable(name) for model in self.models(name)]
        return matching(usable, self.scope) if self.scope else [Offer(model) for model in usable]

    def unmatched(self) -> list[str]:
        """Return the patterns of the scope that no usable model matches."""
        usable = [model for name in self.providers if self.usable(name) for model in self.models(name)]
        return [pattern for pattern in self.scope if not matching(usable, (pattern,))]

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
        models = self.models(provider)
        for model in models:
            if model.id == id:
                return model
        if dated := catalog.find(provider, id, self._read()[1]):
            return self._completed(dated)
        if unlisted or self.info(provider).open_ended:
            return self._found(provider, id, (provider,))
        raise UnknownModel(id, provider, [model.id for model in models])

    def _first_offered(self, provider: str | None) -> Choice | None:
        """Return the first model of the scope, of this provider if one is named; None if there is no scope, or nothing
        in it.
        """
        if not self.scope or (provider is not None and provider not in self.providers):
            return None
        self._chosen = provider or default_provider(self)
        offered = (offer for offer in self.offers() if provider in (None, offer.model.provider))
        return next((Choice(model.provider, model.id, level) for model, level in offered), None)

    def _read(self) -> tuple[Mapping[str, catalog.ProviderInfo], Sequence[Model]]:
        """Return all providers, and the models that models.json adds. Most people have no such file."""
        if self._own is None:
            path = os.path.join(self._home, "models.json")
            if os.path.lexists(path):
                from linnet.runtime.models.models_file import read

                self._own = read(path, self._environ)
            else:
                self._own = catalog.PROVIDERS, ()
        return self._own

    def _found(self, provider: str, id: str, anywhere: Iterable[str]) -> Model:
        """Return the model, listed or not. `anywhere` names the providers whose models an error suggests. Raises
        UnknownModel.
        """
        api = api_named(self.info(provider).api)
        if self.lists(provider, id):
            return api.checked(self.find(provider, id), listed=True)
        if id.strip() and (self.open_ended(provider) or api.checks):
            return api.checked(self._completed(catalog.unlisted(id, self.info(provider))), listed=False)
        first, _, rest = id.partition("/")
        elsewhere = [name for name in self.providers if self.lists(name, rest if name == first else id)]
        known = [each.id for name in anywhere for each in self.models(name)]
        raise UnknownModel(id, provider, [*known, *words(known)], elsewhere)

    def _completed(self, model: Model) -> Model:
        if model.provider in self._played and model.api:
            return model
        info = self.info(model.provider)
        api = self._api if model.provider == self._chosen and self._remote(model.provider) else None
        return catalog.completed(model, info, model.base_url or self.base_url(model.provider), api or "")

    def seen(self, provider: str) -> Seen:
        """Return whether the provider has credentials that are more than one word, without asking anybody."""
        return self.info(provider).seen(self._environ)

    def _remote(self, provider: str) -> bool:
        """Return whether the provider is a server, which may want a key."""
        return api_named(self.info(provider).api).remote

    def _other_url(self, provider: str) -> str:
        """Return the address that a flag or variables give; empty if none does. Raises ConfigError."""
        if provider in self._played:
            return self._played[provider]
        flag = self._base_url if provider == self._chosen else None
        return flag or said_url(self.info(provider), self._environ)
