"""Which providers can be used, with which key, at which address, and which models they have."""

import os
from collections.abc import Mapping
from typing import TypeVar

from msgspec import MsgspecError
from msgspec.json import decode
from msgspec.structs import replace

from linnet.core.models import Model
from linnet.core.spelling import Spelling, flag
from linnet.errors import ConfigError, MissingKey, UnknownModel
from linnet.providers import catalog

T = TypeVar("T")


class Accounts:
    """The provider that was chosen, with what was said about it on the command line, and whatever others have a key.

    Files are read when they are first needed, and only once.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        home: str,
        chosen: catalog.ProviderInfo,
        api_key: str | None,
        base_url: str | None,
        spelled: Spelling = flag,
    ) -> None:
        self._environ = environ
        self._home = home
        self._chosen = chosen.name
        self._api_key = api_key
        self._base_url = base_url
        self._spelled = spelled
        self._stored: dict[str, str] | None = None
        self._own: list[Model] | None = None

    def key(self, provider: str) -> str:
        """Empty if there is none. Raises ConfigError if the file that might hold it cannot be used."""
        if provider == self._chosen and self._api_key:
            return self._api_key
        variable = catalog.PROVIDERS[provider].key_variable
        return self._environ.get(variable) or self._stored_keys().get(provider, "") if variable else ""

    def base_url(self, provider: str) -> str:
        """The flag, or the variable that the vendors' own clients read, or the vendor itself."""
        info = catalog.PROVIDERS[provider]
        flag = self._base_url if provider == self._chosen else None
        return flag or self._environ.get(f"{provider.upper()}_BASE_URL") or info.base_url

    def require(self, provider: str) -> None:
        """A server of one's own may do without a key."""
        info = catalog.PROVIDERS[provider]
        variable = info.key_variable
        if variable and not self.key(provider) and self.base_url(provider) == info.base_url:
            raise MissingKey(provider, variable, self._spelled("api_key"))

    def models(self, provider: str) -> list[Model]:
        """The catalogue's, and the user's own, which may correct them."""
        api = catalog.API_NAMES[catalog.PROVIDERS[provider].api]
        return [
            replace(model, api=api, base_url=self.base_url(provider))
            for model in catalog.models(provider, self._own_models())
        ]

    def available(self) -> list[Model]:
        """Of every provider that can be used, the chosen one's first."""
        names = [self._chosen, *(name for name in catalog.PROVIDERS if name != self._chosen)]
        return [model for name in names if name == self._chosen or self.key(name) for model in self.models(name)]

    def choose(self, provider: str, id: str) -> Model:
        """As `find`, but only what can be used: another provider's models need its key."""
        if provider in catalog.PROVIDERS and provider != self._chosen and not self.key(provider):
            raise UnknownModel(id, provider, ())
        return self.find(provider, id)

    def find(self, provider: str, id: str) -> Model:
        if provider not in catalog.PROVIDERS:
            raise UnknownModel(id, provider, ())
        models = self.models(provider)
        for model in models:
            if model.id == id:
                return model
        raise UnknownModel(id, provider, [model.id for model in models])

    def _stored_keys(self) -> dict[str, str]:
        """auth.json holds {"anthropic": "sk-…"}. A file that others can read is refused, as ssh does."""
        if self._stored is None:
            path = os.path.join(self._home, "auth.json")
            try:
                with open(path, "rb") as file:
                    mode = os.fstat(file.fileno()).st_mode & 0o777
                    text = file.read()
            except FileNotFoundError:
                self._stored = {}
                return self._stored
            except OSError as error:
                raise ConfigError(f"cannot read {path}: {error.strerror}") from None
            if mode & 0o077:
                raise ConfigError(f"{path} can be read by others; run: chmod 600 {path}")
            self._stored = _decoded(text, dict[str, str], path)
        return self._stored

    def _own_models(self) -> list[Model]:
        """models.json holds a list of models that the catalogue does not know."""
        if self._own is None:
            path = os.path.join(self._home, "models.json")
            try:
                with open(path, "rb") as file:
                    text = file.read()
            except FileNotFoundError:
                text = b"[]"
            except OSError as error:
                raise ConfigError(f"cannot read {path}: {error.strerror}") from None
            self._own = _decoded(text, list[Model], path)
        return self._own


def _decoded(text: bytes, type: type[T], path: str) -> T:
    try:
        return decode(text, type=type)
    except (MsgspecError, UnicodeError) as error:
        raise ConfigError(f"{path} cannot be used: {error}") from None
