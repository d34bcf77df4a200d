"""What the user asked for, and what follows from it once flags, environment and files are read together."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar, get_args

from msgspec import Struct

from linnet.core.models import Model, Reasoning
from linnet.errors import ConfigError, MissingKey, UnknownModel, UnknownProvider
from linnet.providers import catalog

if TYPE_CHECKING:
    from linnet.providers.script import Script

T = TypeVar("T")
DEFAULT_MAX_STEPS = 100


class Config(Struct, frozen=True, kw_only=True):
    """What was asked for. Everything may be left out.

    `tools` names the tools the model may use: none given means all of them, an empty list means none at all.
    """

    provider: str | None = None
    model: str | None = None
    cwd: str | None = None
    api_key: str | None = None
    base_url: str | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    reasoning: Reasoning = "off"
    max_steps: int = DEFAULT_MAX_STEPS
    tools: Sequence[str] | None = None
    script: str | None = None
    timeout: float = 600
    retries: int = 3


class Settings(Struct, frozen=True, kw_only=True):
    """What holds, for as long as the runtime lives: checked, with every blank filled in."""

    provider: str
    model: Model
    models: tuple[Model, ...]
    cwd: str
    api_key: str
    base_url: str
    system_prompt: str | None
    append_system_prompt: str | None
    reasoning: Reasoning
    max_steps: int
    tools: tuple[str, ...] | None
    script: "Script | None"
    timeout: float
    retries: int

    def find_model(self, id: str) -> Model:
        for model in self.models:
            if model.id == id:
                return model
        raise UnknownModel(id, self.provider, [model.id for model in self.models])


def resolve(config: Config, environ: Mapping[str, str]) -> Settings:
    """Raises ConfigError with a sentence that says what to do."""
    if config.script is not None and config.provider not in (None, "scripted"):
        raise ConfigError(f"--script plays on the scripted provider, not on {config.provider}; leave out --provider")
    name = config.provider or ("scripted" if config.script is not None else "anthropic")
    provider = catalog.PROVIDERS.get(name)
    if provider is None:
        raise UnknownProvider(name, catalog.PROVIDERS)
    if config.reasoning not in get_args(Reasoning):
        raise ConfigError(
            f'unknown reasoning level "{config.reasoning}"; choose one of {", ".join(get_args(Reasoning))}'
        )
    if config.max_steps < 1:
        raise ConfigError("--max-steps must be at least 1")
    home = home_folder(environ)
    models = (*catalog.models(name), *_own_models(home, name))
    known = {model.id: model for model in models}  # A model of one's own may correct a listed one.
    wanted = config.model or provider.default_model
    if wanted not in known:
        raise UnknownModel(wanted, name, known)
    if config.base_url and not config.base_url.startswith(("http://", "https://")):
        raise ConfigError(f'--base-url must start with http:// or https://, not "{config.base_url}"')
    return Settings(
        provider=name,
        model=known[wanted],
        models=tuple(known.values()),
        cwd=_folder(config.cwd),
        api_key=config.api_key or _key(provider, environ, home),
        base_url=config.base_url or provider.base_url,
        system_prompt=config.system_prompt,
        append_system_prompt=config.append_system_prompt,
        reasoning=config.reasoning,
        max_steps=config.max_steps,
        tools=_tools(config.tools),
        script=_script(config.script),
        timeout=config.timeout,
        retries=config.retries,
    )


def _tools(names: Sequence[str] | None) -> tuple[str, ...] | None:
    if not names:
        return None if names is None else ()
    from linnet.tools.standard import standard_tools  # Costs a few milliseconds, for those who choose.

    return tuple(tool.spec.name for tool in standard_tools(names))


def _script(path: str | None) -> "Script | None":
    if path is None:
        return None
    from linnet.providers.script import load

    return load(path)


def home_folder(environ: Mapping[str, str]) -> str:
    """Where linnet keeps what is the user's own. Nothing is created here by looking."""
    return environ.get("LINNET_HOME") or os.path.join(os.path.expanduser("~"), ".linnet")


def _folder(cwd: str | None) -> str:
    try:
        path = os.path.abspath(cwd or os.getcwd())
    except FileNotFoundError:
        raise ConfigError("the current folder no longer exists; pass --cwd") from None
    if not os.path.isdir(path):
        raise ConfigError(f"--cwd {path} is not a folder")
    return path


def _key(provider: catalog.ProviderInfo, environ: Mapping[str, str], home: str) -> str:
    if not provider.key_variable:
        return ""
    key = environ.get(provider.key_variable) or _stored_key(home, provider.name)
    if not key:
        raise MissingKey(provider.name, provider.key_variable)
    return key


def _stored_key(home: str, provider: str) -> str:
    """auth.json holds {"anthropic": "sk-…"}. A file that others can read is refused, as ssh does."""
    path = os.path.join(home, "auth.json")
    try:
        with open(path, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode & 0o777
            text = file.read()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    if mode & 0o077:
        raise ConfigError(f"{path} can be read by others; run: chmod 600 {path}")
    return _decoded(text, dict[str, str], path).get(provider, "")


def _own_models(home: str, provider: str) -> list[Model]:
    """models.json holds a list of models that the catalogue does not know."""
    path = os.path.join(home, "models.json")
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return []
    return [model for model in _decoded(text, list[Model], path) if model.provider == provider]


def _decoded(text: bytes, type: type[T], path: str) -> T:
    from msgspec import MsgspecError
    from msgspec.json import decode

    try:
        return decode(text, type=type)
    except (MsgspecError, UnicodeError) as error:
        raise ConfigError(f"{path} cannot be used: {error}") from None
