"""Says with which key and at which address a provider can be used, by flags, variables and files."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from linnet.core.models import NOTHING
from linnet.core.setting_names import Spelling
from linnet.errors import MissingKey
from linnet.providers.apis import api_named
from linnet.providers.catalog import PROVIDERS
from linnet.providers.provider_rows import ProviderInfo, Seen
from linnet.runtime.config.config import flag
from linnet.runtime.models.keys import Key, StoredKeys
from linnet.runtime.models.known_providers import KnownProviders

if TYPE_CHECKING:
    from linnet.runtime.models.pi_keys import PiKeys

_ANYWHERE = ("0.0.0.0", "[::]", "")  # Where a server listens; nobody can be asked there.


class Accounts:
    """The keys and addresses of all providers. Those that were given as flags or keywords belong to the provider that
    is chosen; others can be used if they have a key of their own.

    auth.json is read when it is first needed, and again when it has changed.
    """

    def __init__(
        self,
        providers: KnownProviders,
        api_key: str | None = None,
        base_url: str | None = None,
        api: str | None = None,
        spelled: Spelling = flag,
    ) -> None:
        """`api` is the one through which the chosen provider is asked, if not the one that the catalogue names."""
        self.providers = providers
        self.spelled = spelled
        self.chosen: str | None = None
        """The provider that was chosen, once one is."""
        self.guessed = False
        """Nobody named the provider that was chosen, nor a model of it."""
        self._api_key = api_key
        self._base_url = base_url
        self._api = api
        self._stored = StoredKeys(providers.home)
        self._pis = None if providers.pi_home is None else _keys_of_pi(providers.pi_home, providers.environ)
        self._played: Mapping[str, str] = NOTHING  # The providers of a recording that is played, with their addresses.

    def play(self, addresses: Mapping[str, str]) -> None:
        """Let a recording stand for these providers, which need no key then; they are at these addresses."""
        self._played = addresses

    def played(self, provider: str) -> bool:
        """Return whether a recording stands for the provider."""
        return provider in self._played

    @property
    def key_variables(self) -> list[str]:
        """Return the environment variables in which providers' keys may be, or what else lets a request in."""
        return [
            variable
            for info in self.providers.infos.values()
            for variable in (*info.key_variables, *info.secret_variables, *info.header_variables)
        ]

    def key(self, provider: str) -> Key:
        """Return the provider's key: that of the flag, else of the variable, else of a file; an empty one if there is
        none. In pi's place, pi's own file comes before the variable. Raises ConfigError if a file cannot be used.
        """
        if self.played(provider):
            return Key()
        info = self.providers.info(provider)
        if provider == self.chosen and self._api_key:
            return Key(self._api_key, "flag", self.spelled("api_key"), auth=info.auth)
        theirs = self._pis.key(provider) if self._pis is not None and self.providers.remote(provider) else Key()
        if theirs:
            return replace(theirs, auth=info.auth)
        for variable in info.key_variables:
            if value := self.providers.environ.get(variable):
                return Key(value, "variable", variable, auth=info.auth_of.get(variable, info.auth))
        if info.key:
            return Key(info.key, "file", self.providers.path, auth=info.auth)
        kept = replace(self._stored.key(provider), auth=info.auth) if self.providers.remote(provider) else Key()
        return kept if kept or kept.problem else theirs

    def secrets(self) -> list[str]:
        """Return all that lets requests in, used or not: keys of the flag, of variables and of files, and what headers
        of the user's own have. Raises ConfigError if a file cannot be used.
        """
        from linnet.core.text.known_secrets import of_headers

        infos, environ = self.providers.infos, self.providers.environ
        remote = [name for name in infos if self.providers.remote(name)]
        stored = [each.key(name) for each in (self._stored, self._pis) if each is not None for name in remote]
        written = [Key(info.key) for info in infos.values()]
        return [
            self._api_key or "",
            *(environ.get(variable, "") for variable in self.key_variables),
            *(key.word for key in (*stored, *written) if not key.command),
            *(secret for info in infos.values() for secret in of_headers(info.headers)),
            *(secret for model in self.providers.added_models for secret in of_headers(model.headers)),
        ]

    def seen(self, provider: str) -> Seen:
        """Return whether the provider has credentials that are more than one word, without asking anybody."""
        return self.providers.info(provider).seen(self.providers.environ)

    def base_url(self, provider: str) -> str:
        """Return the address: that of the flag, else of the variable that the vendors' own clients read, else the
        vendor's.
        """
        return self._other_url(provider) or self.providers.info(provider).base_url

    def has_own_server(self, provider: str) -> bool:
        """Return whether somebody gave the provider's address: then it may do without a key."""
        return self.providers.info(provider).own or bool(self._other_url(provider))

    def open_ended(self, provider: str) -> bool:
        """Return whether the provider may have models that nobody has listed. Before one is chosen, an address on the
        command line is taken to be that of any.
        """
        if self.has_own_server(provider) or self.providers.info(provider).open_ended:
            return True
        return self.chosen is None and bool(self._base_url)

    def demanded_api(self, provider: str) -> str:
        """Return the API through which the provider's models have to be asked; empty if nobody demands one."""
        return self._api or "" if provider == self.chosen and self.providers.remote(provider) else ""

    def usable(self, provider: str) -> bool:
        """Return whether the provider has a key, or needs none. One that is no server has to be chosen."""
        if self.played(provider):
            return True
        info = self.providers.info(provider)
        if not self.providers.remote(provider):
            return provider == self.chosen or info.own
        keyed = bool(self.key(provider) or self.has_own_server(provider) or self.seen(provider).place)
        return bool(self.base_url(provider)) and (keyed or info.keyless)

    def require(self, provider: str) -> None:
        """Raise MissingKey if the provider has no key and needs one."""
        info, key = self.providers.info(provider), self.key(provider)
        if self.played(provider) or not self.providers.remote(provider) or self.has_own_server(provider) or key:
            return
        seen = self.seen(provider)
        if not seen.place and not info.keyless:
            known = [each for each in PROVIDERS.values() if each.base_url]  # Others need more than a key.
            variables = [each.key_variable for each in known if each.key_variable and not each.keyless]
            others = [each for each in variables if each != info.key_variable] if self.guessed else []
            why = key.problem or seen.problem
            raise MissingKey(provider, info.key_variable, others, why, self.spelled("api_key"), seen.ways, seen.beside)

    def advice(self, provider: str) -> str:
        """Return the part of a sentence that says where the key came from, for when the provider refuses it."""
        key, login = self.key(provider), f"linnet login {provider}"
        if key.source in ("flag", "variable"):
            return f"the key is that of {key.place}"
        if key and key.place == self._stored.path:
            return f"the key is that of {key.place}; to keep another: {login}"
        if key:
            return f"the key is that of {key.place}"
        if place := self.seen(provider).place:
            return f"the credentials are those of {place}"
        variable = self.providers.info(provider).key_variable
        return f"no key was sent; {f'set {variable}, or keep one: ' if variable else 'to keep one: '}{login}"

    def default_provider(self, *, named: bool = False) -> str:
        """Return the first provider that has a key and a default model: Anthropic, OpenAI, DeepSeek, and so on in the
        order of the table, then those of models.json in their order. If none has, the first whose address somebody
        gave; it needs no default if a model is `named`. A key that was given on the command line is taken to be
        Anthropic's.
        """
        infos = [info for info in self.providers.infos.values() if api_named(info.api).remote]
        if self._api_key:
            return infos[0].name
        keyed = (each for each in infos if self.key(each.name) and each.default_model and self.base_url(each.name))
        keyless = (each for each in infos if self.has_own_server(each.name) and (named or each.default_model))
        return (next(keyed, None) or next(keyless, infos[0])).name

    def _other_url(self, provider: str) -> str:
        """Return the address that a flag or variables give; empty if none does. Raises ConfigError."""
        if self.played(provider):
            return self._played[provider]
        flag = self._base_url if provider == self.chosen else None
        return flag or _said_url(self.providers.info(provider), self.providers.environ)


def _keys_of_pi(home: str, environ: Mapping[str, str]) -> "PiKeys | None":
    """Return the keys that pi keeps; None if it keeps none, which takes one look."""
    if not os.path.lexists(os.path.join(home, "auth.json")):
        return None
    from linnet.runtime.models.pi_keys import PiKeys

    return PiKeys(home, environ)


def base_url_variable(provider: str) -> str:
    """Return the variable with the provider's address, such as ANTHROPIC_BASE_URL, which the vendors' clients read."""
    return "".join(each if each.isalnum() else "_" for each in provider.upper()) + "_BASE_URL"


def _said_url(info: ProviderInfo, environ: Mapping[str, str]) -> str:
    """Return the address that variables give; empty if none does. Raises ConfigError."""
    if url := environ.get(base_url_variable(info.name), ""):
        return url
    host = environ.get(info.host_variable, "").strip() if info.host_variable else ""
    return _host_url(host, info.base_url) if host else info.found_url(environ)


def _host_url(host: str, usual: str) -> str:
    """Return the address that `HOST`, `HOST:PORT`, `:PORT` or a URL means; what it does not say is as in `usual`, which
    is `http://HOST:PORT/PATH`.
    """
    _, _, rest = usual.partition("://")
    authority, _, path = rest.partition("/")
    here, _, port = authority.rpartition(":")
    if "://" in host:
        scheme, _, said = host.partition("://")
        place, _, own = said.partition("/")
        return host.rstrip("/") if own.strip("/") else f"{scheme}://{place}/{path}"
    place = host.rstrip("/")
    bare = place if place.endswith("]") or ":" not in place else ""
    name, said_port = (bare, port) if bare else (place.rpartition(":")[0], place.rpartition(":")[2])
    return f"http://{here if name in _ANYWHERE else name}:{said_port}/{path}"
