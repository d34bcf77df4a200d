"""What holds, for as long as the runtime lives: all layers of configuration, resolved once."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from msgspec import Struct

from linnet.core.models import Model, Reasoning
from linnet.core.permissions import Mode, Rule
from linnet.errors import ConfigError, Contradiction, UnknownProvider
from linnet.providers import catalog
from linnet.runtime.accounts import Accounts
from linnet.runtime.config import DEFAULTS, ZOT, Callback, Config, Path, layered
from linnet.runtime.project import Project

if TYPE_CHECKING:
    from linnet.extensions.mcp.config import ServerConfig
    from linnet.providers.script import Script
    from linnet.tools.function import FunctionTool

T = TypeVar("T")


class SessionOptions(Struct, frozen=True, kw_only=True):
    """How sessions are kept. `wanted`: there is one, if only in memory. `saves`: it is kept on disk; `insists`: or else
    nothing is started, since somebody asked for that.
    """

    wanted: bool
    insists: bool
    saves: bool
    home: str
    folder: str | None
    session: str | None
    resume: bool
    fork: str | None
    confine: bool

    @property
    def remembers(self) -> bool:
        """Whether it begins with a session that was there before."""
        return self.session is not None or self.resume or self.fork is not None


class Settings(Struct, frozen=True, kw_only=True):
    """Checked, with every blank filled in; see Config for what most of it means.

    `asked` is what whoever started this said, and nothing else: it wins over what a session remembers.
    """

    asked: Config
    model: Model
    accounts: Accounts
    cwd: str
    project: Project
    system_prompt: str | None
    append_system_prompt: str | None
    reasoning: Reasoning
    max_steps: int
    tools: tuple[str, ...] | None
    functions: "tuple[FunctionTool, ...]"
    script: "Script | None"
    timeout: float
    retries: int
    retry_delay: float
    retry_runs: bool
    auto_compaction: bool
    compact_reserve: int
    compact_keep: int
    keep_messages: int | None
    calls_at_once: int
    wording: Literal["zot", "pi"]
    sessions: SessionOptions
    permission: Mode
    rules: tuple[Rule, ...]
    permission_callback: "Callback | None"
    question_timeout: float | None
    mcp: "tuple[ServerConfig, ...]"
    mcp_tools: tuple[str, ...] | None
    mcp_wait: float
    extensions: tuple[str, ...]
    find_extensions: bool
    extension_flags: Mapping[str, Any]
    hook_timeout: float
    zot_home: str | None

    @property
    def has_extensions(self) -> bool:
        """Whether there may be any. No more is looked at than where they would be."""
        if self.extensions:
            return True
        project = self.project.resources
        zots = () if self.zot_home is None else (self.zot_home, os.path.join(self.cwd, ".zot"))
        folders = (self.sessions.home, *([project] if project else ()), *zots)
        return self.find_extensions and any(os.path.isdir(os.path.join(folder, "extensions")) for folder in folders)


def resolve(asked: Config, environ: Mapping[str, str], *below: Config) -> Settings:
    """`below` are layers that `asked` wins over, the weakest first; without any, zot's habits.

    Raises ConfigError with a sentence that says what to do.
    """
    config = layered(DEFAULTS, *(below or (ZOT,)), asked)
    if config.script is not None and config.provider not in (None, "scripted"):
        raise ConfigError(f"--script plays on the scripted provider, not on {config.provider}; leave out --provider")
    name = config.provider or ("scripted" if config.script is not None else "anthropic")
    provider = catalog.PROVIDERS.get(name)
    if provider is None:
        raise UnknownProvider(name, catalog.PROVIDERS)
    reasoning: Reasoning = _given(config.reasoning)
    check_reasoning(reasoning)
    max_steps = _given(config.max_steps)
    if max_steps < 1:
        raise ConfigError("--max-steps must be at least 1")
    if config.base_url and not config.base_url.startswith(("http://", "https://")):
        raise ConfigError(f'--base-url must start with http:// or https://, not "{config.base_url}"')
    home = home_folder(environ)
    accounts = Accounts(environ, home, provider, config.api_key, config.base_url)
    model = accounts.find(name, config.model or provider.default_model)
    cwd = work_folder(config.cwd)
    sessions = _session_options(config, asked, home)
    if config.provider is not None or not sessions.remembers:
        accounts.require(name)  # Or else the session's own provider may be another.
    return Settings(
        asked=asked,
        model=model,
        accounts=accounts,
        cwd=cwd,
        project=Project(cwd, trusted=_given(config.trust)),
        system_prompt=config.system_prompt,
        append_system_prompt=config.append_system_prompt,
        reasoning=reasoning,
        max_steps=max_steps,
        tools=_tools(config.tools),
        functions=_functions(config.tools),
        script=_script(config.script),
        timeout=_given(config.timeout),
        retries=_given(config.retries),
        retry_delay=_given(config.retry_delay),
        retry_runs=_given(config.retry_runs),
        auto_compaction=_given(config.auto_compaction),
        compact_reserve=_given(config.compact_reserve),
        compact_keep=_given(config.compact_keep),
        keep_messages=config.keep_messages,
        calls_at_once=_given(config.calls_at_once),
        wording=_given(config.wording),
        sessions=sessions,
        permission=_given(config.permission),
        rules=tuple(config.rules or ()),
        permission_callback=config.permission_callback,
        question_timeout=config.question_timeout,
        mcp=_mcp(config, environ, home),
        mcp_tools=None if config.tools is None else tuple(_mcp_names(config.tools)),
        mcp_wait=_given(config.mcp_wait),
        extensions=tuple(os.path.abspath(os.path.expanduser(path)) for path in config.extensions or ()),
        find_extensions=_given(config.find_extensions),
        extension_flags=dict(config.extension_flags or {}),
        hook_timeout=_given(config.hook_timeout),
        zot_home=_zot_home(environ) if config.zot_folders else None,
    )


def _given(value: T | None) -> T:
    """What DEFAULTS say something about is never left out."""
    assert value is not None
    return value


def _session_options(config: Config, asked: Config, home: str) -> SessionOptions:
    flags = [
        ("--session", config.session is not None),
        ("--continue", config.resume),
        ("--fork", config.fork is not None),
    ]
    named = [flag for flag, given in flags if given]
    if len(named) > 1:
        raise Contradiction(*named)
    if asked.save is False and (config.session is not None or config.resume):
        raise Contradiction("--no-session", *named)
    for flag, word in (("--session", config.session), ("--fork", config.fork)):
        if word is not None and not os.fspath(word).strip():
            raise ConfigError(f"{flag} must name a file, or the beginning of a session's id")
    saves = asked.save if asked.save is not None else bool(config.save or named)
    return SessionOptions(
        insists=asked.save is True or bool(named),
        wanted=bool(saves or config.sessions or named),
        saves=saves,
        home=home,
        folder=os.path.abspath(os.path.expanduser(config.session_dir)) if config.session_dir else None,
        session=None if config.session is None else os.fspath(config.session),
        resume=_given(config.resume),
        fork=None if config.fork is None else os.fspath(config.fork),
        confine=_given(config.confine),
    )


def check_reasoning(level: str) -> None:
    if level not in get_args(Reasoning):
        raise ConfigError(f'unknown reasoning level "{level}"; choose one of {", ".join(get_args(Reasoning))}')


def home_folder(environ: Mapping[str, str]) -> str:
    """Where linnet keeps what is the user's own. Nothing is created here by looking."""
    given = environ.get("LINNET_HOME") or os.path.join("~", ".linnet")
    return os.path.abspath(os.path.expanduser(given))


def _zot_home(environ: Mapping[str, str]) -> str:
    state = environ.get("XDG_STATE_HOME") or os.path.join("~", ".local", "state")
    return os.path.abspath(os.path.expanduser(environ.get("ZOT_HOME") or os.path.join(state, "zot")))


def work_folder(cwd: Path | None) -> str:
    """What is worked on has one name, whichever link led there."""
    try:
        path = os.path.realpath(cwd or os.getcwd())
    except FileNotFoundError:
        raise ConfigError("the current folder no longer exists; pass --cwd") from None
    if not os.path.isdir(path):
        raise ConfigError(f"--cwd {path} is not a folder")
    return path


def _tools(given: "Sequence[str | FunctionTool] | None") -> tuple[str, ...] | None:
    """The names of linnet's own tools; None for those that are there unless somebody says otherwise."""
    if given is None:
        return None
    names = [each for each in given if isinstance(each, str)]
    if not names:
        return ()
    from linnet.tools.standard import standard_tools  # Costs a few milliseconds, for those who choose.

    return tuple(tool.spec.name for tool in standard_tools(name for name in names if not _is_mcp(name)))


def _is_mcp(name: str) -> bool:
    return name.startswith("mcp__")


def _mcp_names(given: "Sequence[str | FunctionTool]") -> list[str]:
    return [each for each in given if isinstance(each, str) and _is_mcp(each)]


def _mcp(config: Config, environ: Mapping[str, str], home: str) -> "tuple[ServerConfig, ...]":
    """Nothing is imported, and one file is looked for, where there are no servers."""
    files = [os.path.abspath(os.path.expanduser(path)) for path in config.mcp_config or ()]
    if os.path.exists(own := os.path.join(home, "mcp.json")):
        files.insert(0, own)
    unwanted = not config.mcp or (config.tools is not None and not _mcp_names(config.tools))
    if unwanted or not (files or config.mcp_servers):
        return ()
    from linnet.extensions.mcp.files import load

    return load(files, config.mcp_servers, environ)


def _functions(given: "Sequence[str | FunctionTool] | None") -> "tuple[FunctionTool, ...]":
    """Raises ConfigError if two tools have one name."""
    functions = tuple(each for each in given or () if not isinstance(each, str))
    owners = {name: "linnet itself" for name in given or () if isinstance(name, str)}
    for each in functions:
        name = each.spec.name
        if name in owners:
            raise ConfigError(f'the tool "{name}" is there twice: from {owners[name]} and from a function')
        owners[name] = "a function"
    return functions


def _script(path: Path | None) -> "Script | None":
    if path is None:
        return None
    from linnet.providers.script import load

    return load(os.fspath(path))
