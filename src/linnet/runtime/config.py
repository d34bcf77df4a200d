"""What the user asked for, and what follows from it once flags, environment and files are read together."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, get_args

from msgspec import Struct

from linnet.core.models import Model, Reasoning
from linnet.errors import ConfigError, Contradiction, UnknownProvider
from linnet.providers import catalog
from linnet.runtime.accounts import Accounts
from linnet.runtime.policy import ZOT, Policy

if TYPE_CHECKING:
    from linnet.providers.script import Script

DEFAULT_MAX_STEPS = 100
Path: TypeAlias = str | os.PathLike[str]


class Config(Struct, frozen=True, kw_only=True):
    """What was asked for. Everything may be left out.

    `tools` names the tools the model may use: none given means all of them, an empty list means none at all.
    `session` is a file, or the beginning of a session's id; `resume` goes on with the newest session, and `fork` with a
    copy of one. `save` says whether sessions are kept on disk; a protocol has its own habit where nobody says.
    """

    provider: str | None = None
    model: str | None = None
    cwd: Path | None = None
    api_key: str | None = None
    base_url: str | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    reasoning: Reasoning | None = None
    max_steps: int = DEFAULT_MAX_STEPS
    tools: Sequence[str] | None = None
    script: Path | None = None
    timeout: float = 600
    retries: int = 3
    retry_delay: float | None = None
    compact_reserve: int | None = None
    compact_keep: int | None = None
    session: Path | None = None
    resume: bool = False
    fork: Path | None = None
    session_dir: Path | None = None
    save: bool | None = None
    confine: bool = False


class Keeping(Struct, frozen=True, kw_only=True):
    """How sessions are kept. `wanted`: there is one, if only in memory. `saves`: it is kept on disk; `insists`: or else
    nothing is started, since somebody asked for that.
    """

    wanted: bool = False
    insists: bool = False
    saves: bool = False
    home: str = ""
    folder: str | None = None
    session: str | None = None
    resume: bool = False
    fork: str | None = None
    confine: bool = False

    @property
    def remembers(self) -> bool:
        """Whether it begins with a session that was there before."""
        return self.session is not None or self.resume or self.fork is not None


class Settings(Struct, frozen=True, kw_only=True):
    """What holds, for as long as the runtime lives: checked, with every blank filled in.

    `chosen_…`: somebody asked for it, so that it wins over what a session remembers.
    """

    model: Model
    chosen_provider: bool
    chosen_model: bool
    chosen_reasoning: bool
    keeping: Keeping
    accounts: Accounts
    cwd: str
    system_prompt: str | None
    append_system_prompt: str | None
    reasoning: Reasoning
    max_steps: int
    tools: tuple[str, ...] | None
    script: "Script | None"
    timeout: float
    retries: int
    policy: Policy


def resolve(config: Config, environ: Mapping[str, str], policy: Policy = ZOT) -> Settings:
    """Raises ConfigError with a sentence that says what to do."""
    if config.script is not None and config.provider not in (None, "scripted"):
        raise ConfigError(f"--script plays on the scripted provider, not on {config.provider}; leave out --provider")
    name = config.provider or ("scripted" if config.script is not None else "anthropic")
    provider = catalog.PROVIDERS.get(name)
    if provider is None:
        raise UnknownProvider(name, catalog.PROVIDERS)
    check_reasoning(config.reasoning or "off")
    if config.max_steps < 1:
        raise ConfigError("--max-steps must be at least 1")
    if config.base_url and not config.base_url.startswith(("http://", "https://")):
        raise ConfigError(f'--base-url must start with http:// or https://, not "{config.base_url}"')
    accounts = Accounts(environ, home_folder(environ), provider, config.api_key, config.base_url)
    model = accounts.find(name, config.model or provider.default_model)
    cwd = work_folder(config.cwd)
    keeping = _keeping(config, home_folder(environ), policy)
    if config.provider is not None or not keeping.remembers:
        accounts.require(name)  # Or else the session's own provider may be another.
    return Settings(
        model=model,
        chosen_provider=config.provider is not None or config.script is not None,
        chosen_model=config.model is not None,
        chosen_reasoning=config.reasoning is not None,
        keeping=keeping,
        accounts=accounts,
        cwd=cwd,
        system_prompt=config.system_prompt,
        append_system_prompt=config.append_system_prompt,
        reasoning=config.reasoning or "off",
        max_steps=config.max_steps,
        tools=_tools(config.tools),
        script=_script(config.script),
        timeout=config.timeout,
        retries=config.retries,
        policy=_policy(policy, config),
    )


def _keeping(config: Config, home: str, policy: Policy) -> Keeping:
    asked = [flag for flag, given in _session_flags(config) if given]
    if len(asked) > 1:
        raise Contradiction(*asked)
    if config.save is False and (config.session is not None or config.resume):
        raise Contradiction("--no-session", *asked)
    for flag, word in (("--session", config.session), ("--fork", config.fork)):
        if word is not None and not os.fspath(word).strip():
            raise ConfigError(f"{flag} must name a file, or the beginning of a session's id")
    saves = config.save if config.save is not None else policy.saves or bool(asked)
    return Keeping(
        insists=config.save is True or bool(asked),
        wanted=saves or policy.saves or bool(asked),
        saves=saves,
        home=home,
        folder=os.path.abspath(os.path.expanduser(config.session_dir)) if config.session_dir else None,
        session=None if config.session is None else os.fspath(config.session),
        resume=config.resume,
        fork=None if config.fork is None else os.fspath(config.fork),
        confine=config.confine,
    )


def _session_flags(config: Config) -> list[tuple[str, bool]]:
    return [
        ("--session", config.session is not None),
        ("--continue", config.resume),
        ("--fork", config.fork is not None),
    ]


def check_reasoning(level: str) -> None:
    if level not in get_args(Reasoning):
        raise ConfigError(f'unknown reasoning level "{level}"; choose one of {", ".join(get_args(Reasoning))}')


def home_folder(environ: Mapping[str, str]) -> str:
    """Where linnet keeps what is the user's own. Nothing is created here by looking."""
    given = environ.get("LINNET_HOME") or os.path.join("~", ".linnet")
    return os.path.abspath(os.path.expanduser(given))


def _policy(policy: Policy, config: Config) -> Policy:
    return Policy(
        manner=policy.manner,
        retries_runs=policy.retries_runs,
        max_attempts=config.retries if policy.retries_runs else policy.max_attempts,
        retry_delay=policy.retry_delay if config.retry_delay is None else config.retry_delay,
        auto_compacts=policy.auto_compacts,
        reserve_tokens=policy.reserve_tokens if config.compact_reserve is None else config.compact_reserve,
        keep_tokens=policy.keep_tokens if config.compact_keep is None else config.compact_keep,
        keep_messages=policy.keep_messages,
    )


def work_folder(cwd: Path | None) -> str:
    """What is worked on has one name, whichever link led there."""
    try:
        path = os.path.realpath(cwd or os.getcwd())
    except FileNotFoundError:
        raise ConfigError("the current folder no longer exists; pass --cwd") from None
    if not os.path.isdir(path):
        raise ConfigError(f"--cwd {path} is not a folder")
    return path


def _tools(names: Sequence[str] | None) -> tuple[str, ...] | None:
    if not names:
        return None if names is None else ()
    from linnet.tools.standard import standard_tools  # 9 ms, for those who choose.

    return tuple(tool.spec.name for tool in standard_tools(names))


def _script(path: Path | None) -> "Script | None":
    if path is None:
        return None
    from linnet.providers.script import load

    return load(os.fspath(path))
