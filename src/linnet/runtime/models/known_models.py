"""The models that there are: lists them, finds one by its id, and chooses the one that is begun with."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from linnet.core.models import Model, Reasoning
from linnet.errors import ConfigError, UnknownModel
from linnet.providers import catalog
from linnet.providers.apis import api_named
from linnet.runtime.config.config import REPLAY
from linnet.runtime.models.accounts import Accounts

if TYPE_CHECKING:
    from linnet.providers.recorded.recording import Recording


class Offer(NamedTuple):
    """A model that is offered, and the level of thinking that it is to have if it is gone round to."""

    model: Model
    level: Reasoning | None = None


class KnownModels:
    """The models of all providers, each as it is asked at its provider's address. `begin` chooses a provider, to which
    the key and the address of the command line belong.
    """

    def __init__(self, accounts: Accounts, scope: Sequence[str] = (), *, lenient: bool = False) -> None:
        """`scope` are patterns of the models that are offered; none: all that can be used. `lenient`: a provider that
        is named may have any model, as pi has it.
        """
        self.accounts = accounts
        self.lenient = lenient
        self.custom = ""
        """The id of the model that was chosen, if nobody lists it."""
        self.providers = accounts.providers
        self.scope = tuple(scope)
        self.level: Reasoning | None = None
        """The level of thinking that the name of the model said, once one is chosen."""
        self._unlisted: tuple[catalog.ProviderInfo, Model] | None = None
        # The model that was chosen, if nobody lists it, and what its provider was then.

    def begin(self, provider: str | None, model: str | None, *, suggested: str | None = None) -> Model:
        """Choose a provider and return the model, by what was said and by which keys there are. `suggested` is a
        provider whose models come first if none is said. Raises ConfigError if there is none of that name.
        """
        if model is None or (provider is not None and not model):
            name, id, self.level = self._default(provider)
        else:
            from linnet.runtime.models.model_choice import chosen

            choice = chosen(self, provider, model, suggested)
            name, id, self.level = choice.provider, choice.id, choice.level
        self.accounts.guessed = provider is None and model is None
        self.accounts.chosen = name
        anywhere = self.providers.infos if provider is None and model and model.startswith(id) else (name,)
        said = provider is not None or (model or "").startswith(f"{name}/")
        found = self._found(name, id, anywhere, lenient=self.lenient and said)
        if all(each.id != id for each in self.of(name)):
            self.custom = "" if self.lists(name, id) else id
            self._unlisted = self.providers.info(name), found  # So that it can be seen in a list, and chosen again.
        return found

    def begin_with_any(self, provider: str) -> None:
        """Choose a provider, and no model of it: to ask it which it has. Raises UnknownProvider."""
        self.accounts.chosen = self.providers.info(provider).name

    def play(self, recording: "Recording", model: str | None) -> Model:
        """Let a recording stand for the providers in it, which need no key then. Return the model that it began with,
        or the one of its models that is named. Raises UnknownModel.
        """
        models = recording.models
        self.providers.add_recorded(models)
        self.accounts.play({each.provider: each.base_url for each in reversed(models)})
        self.accounts.chosen = models[0].provider
        for each in models if model else models[:1]:
            if model in (None, each.id, f"{each.provider}/{each.id}"):
                return each
        raise UnknownModel(model or "", REPLAY, [each.id for each in models])

    def of(self, provider: str) -> list[Model]:
        """Return the provider's models: the catalogue's, and those of models.json, which may correct them."""
        added = list(self.providers.added_models)
        if self._unlisted is not None:
            info, model = self._unlisted
            if provider == info.name and self.providers.info(provider) == info:  # Or else it was brought anew.
                added.append(model)
        return [self._completed(model) for model in catalog.models(provider, added)]

    def lists(self, provider: str, id: str) -> bool:
        """Return whether the catalogue or models.json has this model of the provider."""
        return catalog.find(provider, id, self.providers.added_models) is not None

    def available(self) -> list[Model]:
        """Return the models of all providers that can be used, the chosen one's first; only those of the scope, in its
        order, if there is one.
        """
        return [offer.model for offer in self.offers()]

    def everything(self) -> list[Model]:
        """Return the models of all providers, whether they can be used or not."""
        return [model for name in self.providers.infos for model in self.of(name)]

    def knows(self, provider: str) -> bool:
        """Return whether there is a provider of this name."""
        return provider in self.providers.infos

    def offers(self) -> list[Offer]:
        """Return the same, with the levels of thinking that the scope says."""
        usable = self._usable()
        return _matching(usable, self.scope) if self.scope else [Offer(model) for model in usable]

    def unmatched(self) -> list[str]:
        """Return the patterns of the scope that no usable model matches."""
        usable = self._usable()
        return [pattern for pattern in self.scope if not _matching(usable, (pattern,))]

    def choose(self, provider: str, id: str, *, unlisted: bool = False) -> Model:
        """Return the model as `find` does, but raise UnknownModel if its provider cannot be used."""
        if provider in self.providers.infos and not self.accounts.usable(provider):
            raise UnknownModel(id, provider, ())
        return self.find(provider, id, unlisted=unlisted)

    def find(self, provider: str, id: str, *, unlisted: bool = False) -> Model:
        """Return the model. `unlisted`: it may be one that nobody lists, if the provider may have such. Raises
        UnknownModel.
        """
        if provider not in self.providers.infos:
            raise UnknownModel(id, provider, ())
        models = self.of(provider)
        for model in models:
            if model.id == id:
                return model
        if dated := catalog.find(provider, id, self.providers.added_models):
            return self._completed(dated)
        if unlisted or self.providers.info(provider).open_ended:
            return self._found(provider, id, (provider,))
        raise UnknownModel(id, provider, [model.id for model in models])

    def _default(self, provider: str | None) -> tuple[str, str, Reasoning | None]:
        """Return a provider, this one if it is named, and the id and the level of the model that is used if nobody
        names one: the first of the scope, or else the provider's default. Raises ConfigError if there is none.
        """
        if self.scope and (provider is None or provider in self.providers.infos):
            self.accounts.chosen = provider or self.accounts.default_provider()
            for model, level in self.offers():
                if provider in (None, model.provider):
                    return model.provider, model.id, level
        info = self.providers.info(self.accounts.default_provider() if provider is None else provider)
        if not info.default_model:
            name, ask = self.accounts.spelled("model"), f"linnet models --provider {info.name}"
            has_none = f"has no default model; to see which it has: {ask}"
            why = has_none if info.open_ended else "lists no models in models.json"
            raise ConfigError(f"the provider {info.name} {why}; name one with {name}")
        return info.name, info.default_model, None

    def _usable(self) -> list[Model]:
        """Return the models of all providers that can be used, the chosen one's first."""
        names = sorted(self.providers.infos, key=lambda name: name != self.accounts.chosen)
        return [model for name in names if self.accounts.usable(name) for model in self.of(name)]

    def _found(self, provider: str, id: str, anywhere: Iterable[str], *, lenient: bool = False) -> Model:
        """Return the model, listed or not. `anywhere` names the providers whose models an error suggests. Raises
        UnknownModel, unless it is to be `lenient`.
        """
        info = self.providers.info(provider)
        api = api_named(info.api)
        if self.lists(provider, id):
            return api.checked(self.find(provider, id), listed=True)
        if id.strip() and (lenient or self.accounts.open_ended(provider) or api.checks):
            return api.checked(self._completed(catalog.unlisted(id, info)), listed=False)
        from linnet.runtime.models.model_choice import words

        first, _, rest = id.partition("/")
        elsewhere = [name for name in self.providers.infos if self.lists(name, rest if name == first else id)]
        known = [each.id for name in anywhere for each in self.of(name)]
        raise UnknownModel(id, provider, [*known, *words(known)], elsewhere)

    def _completed(self, model: Model) -> Model:
        """Return the model as it is asked at its provider's address. One that was recorded is as it was."""
        provider = model.provider
        if model.api and self.accounts.played(provider):
            return model
        url = model.base_url or self.accounts.base_url(provider)
        return catalog.completed(model, self.providers.info(provider), url, self.accounts.demanded_api(provider))


def _matching(models: Iterable[Model], patterns: Sequence[str]) -> list[Offer]:
    from linnet.runtime.models.model_choice import matching  # Few runs have any patterns.

    return matching(models, patterns)
