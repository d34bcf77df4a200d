"""What holds, for as long as the runtime lives: all layers of configuration, resolved once."""

import os
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from msgspec import Struct

from linnet.core.events import QueueMode
from linnet.core.limits import Limits
from linnet.core.models import Model, Reasoning
from linnet.core.permissions import Mode, Rule
from linnet.core.spelling import Spelling, flag
from linnet.errors import ConfigError, Contradiction, MissingKey, UnknownModel, UnknownProvider
from linnet.runtime.accounts import Accounts
from linnet.runtime.belongings import Belongings, belongings
from linnet.runtime.config import ZOT, Callback, Config, Path, layered
from linnet.runtime.layers import Layers, found
from linnet.runtime.project import FOLDER, Project

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
    spelled: Spelling

    @property
    def remembers(self) -> bool:
        """Whether it begins with a session that was there before."""
        return self.session is not None or self.resume or self.fork is not None


class Settings(Struct, frozen=True, kw_only=True):
    """Checked, with every blank filled in; see Config for what most of it means.

    `asked` is what whoever started this said, and nothing else: it wins over what a session remembers. `environ` and
    `below` are what else it was resolved from. `remarks`: what whoever started this should know.
    """

    asked: Config
    environ: Mapping[str, str]
    below: tuple[Config, ...]
    remarks: tuple[str, ...]
    model: Model
    accounts: Accounts
    cwd: str
    project: Project
    belongings: Belongings
    system_prompt: str | None
    append_system_prompt: str | None
    reasoning: Reasoning
    limits: Limits
    bash_timeout: float | None
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
    needs_key: bool
    wording: Literal["zot", "pi"]
    sessions: SessionOptions
    permission: Mode
    rules: tuple[Rule, ...]
    permission_callback: "Callback | None"
    question_timeout: float | None
    shell: str | None
    shell_prefix: str
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    mcp: "tuple[ServerConfig, ...]"
    mcp_tools: tuple[str, ...] | None
    mcp_wait: float
    extensions: tuple[str, ...]
    find_extensions: bool
    extension_wait: float
    extension_flags: Mapping[str, Any]
    hook_timeout: float
    pass_keys: bool
    sandbox: bool
    sandbox_network: bool

    def again(self) -> "Settings":
        """What holds now that something else was decided about the project. Raises ConfigError."""
        spelled = self.sessions.spelled
        return resolve(self.asked, self.environ, *self.below, spelled=spelled, project=self.project)

    @property
    def zot_home(self) -> str | None:
        """Where zot keeps what is the user's own; None if linnet does not stand in for it."""
        return self.belongings.peer_home if self.belongings.peer == "zot" else None

    @property
    def has_extensions(self) -> bool:
        """Whether there may be any. No more is looked at than where they would be."""
        if self.extensions:
            return True
        project = self.project.resources
        zots = () if self.zot_home is None else (self.zot_home, os.path.join(self.cwd, ".zot"))
        folders = (self.sessions.home, *([project] if project else ()), *zots)
        return self.find_extensions and any(os.path.isdir(os.path.join(folder, "extensions")) for folder in folders)


def resolve(
    asked: Config,
    environ: Mapping[str, str],
    *below: Config,
    spelled: Spelling = flag,
    project: Project | None = None,
) -> Settings:
    """`below` are layers that `asked` wins over, the weakest first; without any, zot's habits. Files and variables come
    between. `spelled`: what whoever asked calls a field. `project` is one about which something was decided already.

    Raises ConfigError with a sentence that says what to do.
    """
    home = home_folder(environ)
    below = below or (ZOT,)
    said = layered(*below, asked)
    project = project or Project(work_folder(said.cwd, spelled), home, stands_for=said.stands_in_for)
    layers = found(asked, environ, below, home, project)
    try:
        return _resolved(layers, asked, environ, below, home, project, spelled)
    except ConfigError as error:
        others = [layer for layer in layers.all if layer.source != "pi"]
        if len(others) == len(layers.all):
            raise
        remarks = [*layers.remarks, f"pi's settings are not used: {error}"]
        return _resolved(Layers(others, remarks), asked, environ, below, home, project, spelled)


def _resolved(
    layers: Layers,
    asked: Config,
    environ: Mapping[str, str],
    below: tuple[Config, ...],
    home: str,
    project: Project,
    spelled: Spelling,
) -> Settings:
    config = layered(*(layer.config for layer in layers.all))
    if config.script is not None and config.provider not in (None, "scripted"):
        raise ConfigError(
            f"{spelled('script')} plays on the scripted provider, not on {config.provider}; "
            f"leave out {spelled('provider')}"
        )
    reasoning: Reasoning = _given(config.reasoning)
    check_reasoning(reasoning)
    limits = _limits(config, spelled)
    bash_timeout = _seconds(config, "bash_timeout", spelled)
    if config.base_url and not config.base_url.startswith(("http://", "https://")):
        raise ConfigError(f'{spelled("base_url")} must start with http:// or https://, not "{config.base_url}"')
    if config.sandbox_network and not config.sandbox:
        raise ConfigError(
            f"{spelled('sandbox_network')} lets commands in the sandbox use the network; "
            f"it goes with {spelled('sandbox')}"
        )
    question_timeout = _seconds(config, "question_timeout", spelled)
    accounts = Accounts(environ, home, config.api_key, config.base_url, spelled)
    with layers.blaming("provider", only=UnknownProvider), layers.blaming("model", only=UnknownModel):
        named = config.provider or ("scripted" if config.script is not None else None)
        model = accounts.begin(named, config.model)
    with layers.blaming("shell"):
        shell = _shell(config.shell, environ)
    with layers.blaming("tools"):
        tools = _tools(config.tools)
    sessions = _session_options(config, asked, home, spelled)
    remarks = list(layers.remarks)
    if config.provider is not None or not sessions.remembers:  # Or else the session's own provider may be another.
        remarks += lacking_key(accounts, model, needed=_given(config.needs_key))
    return Settings(
        asked=asked,
        environ=environ,
        below=below,
        remarks=tuple(remarks),
        model=model,
        accounts=accounts,
        cwd=project.root,
        project=project,
        belongings=belongings(config, asked, environ, home, project, spelled),
        system_prompt=config.system_prompt,
        append_system_prompt=config.append_system_prompt,
        reasoning=reasoning,
        limits=limits,
        bash_timeout=bash_timeout,
        tools=tools,
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
        needs_key=_given(config.needs_key),
        wording=_given(config.wording),
        sessions=sessions,
        permission=_given(config.permission),
        rules=tuple(config.rules or ()),
        permission_callback=config.permission_callback,
        question_timeout=question_timeout,
        shell=shell,
        shell_prefix=config.shell_prefix or "",
        steering_mode=_given(config.steering_mode),
        follow_up_mode=_given(config.follow_up_mode),
        mcp=_mcp(config, environ, home, project, spelled),
        mcp_tools=None if config.tools is None else tuple(_mcp_names(config.tools)),
        mcp_wait=_given(config.mcp_wait),
        extensions=tuple(os.path.abspath(os.path.expanduser(path)) for path in config.extensions or ()),
        find_extensions=_given(config.find_extensions),
        extension_wait=_given(config.extension_wait),
        extension_flags=dict(config.extension_flags or {}),
        hook_timeout=_given(config.hook_timeout),
        pass_keys=_given(config.pass_keys),
        sandbox=_given(config.sandbox),
        sandbox_network=_given(config.sandbox_network),
    )


def lacking_key(accounts: Accounts, model: Model, *, needed: bool) -> list[str]:
    """Return what whoever started this should know about a key that is missing. Raises MissingKey if it is needed."""
    try:
        accounts.require(model.provider)
    except MissingKey as error:
        if needed:
            raise
        return [f"{error}. Prompts are refused until then"]
    return []


def _given(value: T | None) -> T:
    """What DEFAULTS say something about is never left out."""
    assert value is not None
    return value


def _limits(config: Config, spelled: Spelling) -> Limits:
    if config.max_steps is not None and config.max_steps < 1:
        raise ConfigError(f"{spelled('max_steps')} must be at least 1")
    if config.max_cost is not None and not 0 < config.max_cost < 1e9:
        raise ConfigError(f"{spelled('max_cost')} must be a number of dollars above 0, not {config.max_cost:g}")
    return Limits(config.max_steps, config.max_cost, _seconds(config, "max_seconds", spelled), spelled)


def _seconds(config: Config, field: str, spelled: Spelling) -> float | None:
    seconds: float | None = getattr(config, field)
    if seconds is not None and not 0 < seconds <= threading.TIMEOUT_MAX:
        raise ConfigError(f"{spelled(field)} must be a number of seconds above 0, not {seconds:g}")
    return seconds


def _session_options(config: Config, asked: Config, home: str, spelled: Spelling) -> SessionOptions:
    given = [
        ("session", config.session is not None),
        ("resume", config.resume),
        ("fork", config.fork is not None),
    ]
    named = [spelled(field) for field, is_given in given if is_given]
    if len(named) > 1:
        raise Contradiction(*named)
    if asked.save is False and (config.session is not None or config.resume):
        raise Contradiction(spelled("no_session"), *named)
    for field, word in (("session", config.session), ("fork", config.fork)):
        if word is not None and not os.fspath(word).strip():
            raise ConfigError(f"{spelled(field)} must name a file, or the beginning of a session's id")
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
        spelled=spelled,
    )


def check_reasoning(level: str) -> None:
    if level not in get_args(Reasoning):
        raise ConfigError(f'unknown reasoning level "{level}"; choose one of {", ".join(get_args(Reasoning))}')


def home_folder(environ: Mapping[str, str]) -> str:
    """Where linnet keeps what is the user's own. Nothing is created here by looking. Raises ConfigError."""
    given = os.path.expanduser(environ.get("LINNET_HOME") or os.path.join("~", FOLDER))
    if not os.path.isabs(given) and FOLDER in os.path.normpath(given).split(os.sep):
        raise ConfigError(f"LINNET_HOME is {given}, which is the folder of whatever project this is; give a whole path")
    return os.path.abspath(given)


def work_folder(cwd: Path | None, spelled: Spelling = flag) -> str:
    """What is worked on has one name, whichever link led there."""
    try:
        path = os.path.realpath(cwd or os.getcwd())
    except FileNotFoundError:
        raise ConfigError(f"the current folder no longer exists; pass {spelled('cwd')}") from None
    if not os.path.isdir(path):
        raise ConfigError(f"{spelled('cwd')} {path} is not a folder")
    return path


def _shell(given: str | None, environ: Mapping[str, str]) -> str | None:
    if not given:
        return None
    from linnet.tools.shell import found

    return found(given, environ)


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


def _mcp(
    config: Config, environ: Mapping[str, str], home: str, project: Project, spelled: Spelling
) -> "tuple[ServerConfig, ...]":
    """Nothing is imported, and one file is looked for, where there are no servers."""
    folders = [home, *([project.resources] if project.resources else [])]
    files = [path for folder in folders if os.path.exists(path := os.path.join(folder, "mcp.json"))]
    files += [os.path.abspath(os.path.expanduser(path)) for path in config.mcp_config or ()]
    unwanted = not config.mcp or (config.tools is not None and not _mcp_names(config.tools))
    if unwanted or not (files or config.mcp_servers):
        return ()
    from linnet.extensions.mcp.files import load

    inside = os.path.join(project.root, FOLDER, "")

    def read(path: str) -> bytes | None:
        return project.read(path) if path.startswith(inside) else None

    return load(files, config.mcp_servers, {**environ, "LINNET_CWD": project.root}, spelled, read)


def _functions(given: "Sequence[str | FunctionTool] | None") -> "tuple[FunctionTool, ...]":
    """Raises ConfigError if two tools have one name."""
    functions = tuple(each for each in given or () if not isinstance(each, str))
    if functions:
        from linnet.tools.toolset import clash

        names = [(name, "linnet itself") for name in _tools(given) or ()]
        if problem := clash([*names, *((each.spec.name, each.owner) for each in functions)]):
            raise ConfigError(problem)
    return functions


def _script(path: Path | None) -> "Script | None":
    if path is None:
        return None
    from linnet.providers.script import load

    return load(os.fspath(path))
