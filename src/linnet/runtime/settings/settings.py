"""Resolves all layers of configuration into Settings, checked and complete, and keeps those that hold."""

import os
from collections.abc import Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from linnet.core.events import QueueMode
from linnet.core.loop.limits import Limits
from linnet.core.models import Model, PromptCache, Reasoning
from linnet.core.setting_names import Spelling
from linnet.errors import ConfigError, MissingKey, UnknownModel, UnknownProvider
from linnet.providers.apis import remote_api
from linnet.runtime.config.config import PLAYERS, REPLAY, ZOT, Callback, Config, Path, flag
from linnet.runtime.config.merged_layers import layered
from linnet.runtime.models.accounts import Accounts
from linnet.runtime.models.known_models import KnownModels
from linnet.runtime.models.known_providers import KnownProviders
from linnet.runtime.project.project import FOLDER, Project
from linnet.runtime.project.resource_folders import ResourceFolders, resource_folders
from linnet.runtime.settings.checks import check_reasoning, check_word, checked_seconds, limits_of
from linnet.runtime.settings.layers import Layers, found
from linnet.runtime.settings.session_options import SessionOptions, session_options

if TYPE_CHECKING:
    from linnet.core.permissions.rule import Mode, Rule
    from linnet.extensions.mcp.config import ServerConfig
    from linnet.providers.recorded.difference import Match
    from linnet.providers.recorded.recording import Recording
    from linnet.providers.scripted.script import Script
    from linnet.tools.functions.function import FunctionTool

_ABOUT_SANDBOX = ("sandbox", "sandbox_network", "sandbox_hosts", "sandbox_files", "sandbox_extensions")


class _AsSaid(Struct, frozen=True, kw_only=True):
    """Settings whose value is taken from the layers as it is. Defaults are a layer, so that none is missing."""

    system_prompt: str | None
    append_system_prompt: str | None
    reasoning: Reasoning
    bash_timeout: float | None
    max_reply: int
    prompt_cache: PromptCache
    recording_match: "Match"
    recording_paced: bool
    timeout: float
    connect_timeout: float
    first_byte_timeout: float | None
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
    permission: "Mode"
    permission_callback: "Callback | None"
    question_timeout: float | None
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    mcp_wait: float
    find_extensions: bool
    extension_wait: float
    hook_timeout: float
    pass_keys: bool
    sandbox: bool
    sandbox_network: bool
    sandbox_files: bool
    sandbox_extensions: bool


class Settings(_AsSaid, frozen=True, kw_only=True):
    """All settings, checked and complete. The rows of Config say what most of them mean."""

    asked: Config
    """What whoever started this said, and nothing else: it wins over what a session remembers."""
    environ: Mapping[str, str]
    below: tuple[Config, ...]
    """The layers that `asked` wins over, besides files and variables."""
    client_tools: bool
    """Clients may bring tools."""
    remarks: tuple[str, ...]
    """Sentences for whoever started this."""
    model: Model
    known_providers: KnownProviders
    accounts: Accounts
    known_models: KnownModels
    cwd: str
    project: Project
    resource_folders: ResourceFolders
    limits: Limits
    tools: tuple[str, ...] | None
    functions: "tuple[FunctionTool, ...]"
    script: "Script | None"
    record: str | None
    recording: "Recording | None"
    sessions: SessionOptions
    rules: "tuple[Rule, ...]"
    unheard_tools: tuple[str, ...]
    """Tools that rules name and that nobody has so far."""
    shell: str | None
    shell_prefix: str
    mcp: "tuple[ServerConfig, ...]"
    mcp_tools: tuple[str, ...] | None
    extensions: tuple[str, ...]
    extension_flags: Mapping[str, Any]
    sandbox_hosts: tuple[str, ...]
    edition: int = field(default_factory=count(1).__next__)
    """A number that no other settings have: what is built by these keeps it, to know whether they still hold."""

    def again(self) -> "Settings":
        """Return the settings that follow from the same words after something else was decided about the project. Files
        are read anew; the sandbox stays as it was built. Raises ConfigError.
        """
        spelled = self.sessions.spelled
        project, bring = self.project, self.client_tools
        found = resolve(self.asked, self.environ, *self.below, spelled=spelled, project=project, client_tools=bring)
        return replace(found, **{name: getattr(self, name) for name in _ABOUT_SANDBOX})

    @property
    def zot_home(self) -> str | None:
        """Return the folder in which zot keeps what is the user's own; None if linnet does not stand in for zot."""
        return self.resource_folders.peer_home if self.resource_folders.peer == "zot" else None

    @property
    def has_extensions(self) -> bool:
        """Return whether extensions are named, or a folder exists in which they are looked for."""
        if self.extensions:
            return True
        project = self.project.resources
        zots = () if self.zot_home is None else (self.zot_home, os.path.join(self.cwd, ".zot"))
        folders = (self.sessions.home, *([project] if project else ()), *zots)
        return self.find_extensions and any(os.path.isdir(os.path.join(folder, "extensions")) for folder in folders)

    @property
    def hidden_variables(self) -> list[str]:
        """Return the variables that children do not get: those in which keys may be."""
        return [] if self.pass_keys else self.accounts.key_variables

    @property
    def may_have_extensions(self) -> bool:
        """Return whether there may be extensions, in folders or in installed packages. Loads none."""
        if self.has_extensions or not self.find_extensions:
            return self.has_extensions
        from linnet.runtime.settings.packages import EXTENSIONS, entry_points

        return bool(entry_points(EXTENSIONS))


class LiveSettings:
    """The settings that hold for a session. All its parts share this object, and read `now` when they need something.

    Invariant: only Adoption replaces `now`, under the session's lock and while no job is active. So a job finds the
    settings that it began with, to its end, without any lock.
    """

    def __init__(self, settings: Settings) -> None:
        self.now = settings


def resolve(
    asked: Config,
    environ: Mapping[str, str],
    *below: Config,
    spelled: Spelling = flag,
    project: Project | None = None,
    client_tools: bool = False,
) -> Settings:
    """Return the settings that all layers of configuration come to.

    `below` are layers that `asked` wins over, the weakest first; without any, zot's habits. Files and variables come
    between. `spelled` returns what whoever asked calls a field, for errors. `project` is given if something was decided
    about it already. `client_tools`: clients may bring tools.

    Raises ConfigError with a sentence that says what to do.
    """
    home = home_folder(environ)
    below = below or (ZOT,)
    said = layered(*below, asked)
    project = project or Project(work_folder(said.cwd, spelled), home, stands_for=said.stands_in_for)
    layers = found(asked, environ, below, home, project)
    try:
        return _resolved(layers, asked, environ, below, home, project, spelled, client_tools)
    except ConfigError as error:
        others = [layer for layer in layers.all if layer.source != "pi"]
        if len(others) == len(layers.all):
            raise
        remarks = [*layers.remarks, f"pi's settings are not used: {error}"]
        return _resolved(Layers(others, remarks), asked, environ, below, home, project, spelled, client_tools)


def _resolved(
    layers: Layers,
    asked: Config,
    environ: Mapping[str, str],
    below: tuple[Config, ...],
    home: str,
    project: Project,
    spelled: Spelling,
    client_tools: bool,
) -> Settings:
    config = layered(*(layer.config for layer in layers.all))
    script, recording = None, None
    said = config.script, config.record, config.recording
    if config.provider == REPLAY or any(each is not None for each in said):
        from linnet.runtime.settings.played import played

        script, recording = played(config, spelled)
    check_reasoning(config.reasoning)
    with layers.blaming("prompt_cache"):
        check_word("prompt_cache", config.prompt_cache, PromptCache, spelled)
    if config.permission != "auto":
        from linnet.core.permissions.rule import Mode

        with layers.blaming("permission"):
            check_word("permission", config.permission, Mode, spelled)
    limits = limits_of(config, spelled)
    for name in ("bash_timeout", "question_timeout", "timeout", "connect_timeout", "first_byte_timeout"):
        checked_seconds(config, name, spelled)
    if config.base_url and not config.base_url.startswith(("http://", "https://")):
        raise ConfigError(f'{spelled("base_url")} must start with http:// or https://, not "{config.base_url}"')
    if any(getattr(config, field) for field in _ABOUT_SANDBOX):
        from linnet.runtime.settings.sandboxing import check

        check(config, spelled)
    if config.api:
        with layers.blaming("api"):
            remote_api(config.api)
    providers = KnownProviders(environ, home)
    accounts = Accounts(providers, config.api_key, config.base_url, config.api, spelled)
    models = KnownModels(accounts, config.models or ())
    provider = providers.named(config.provider)
    if provider is not None and config.extensions:
        providers.expect(provider)
    with layers.blaming("provider", only=UnknownProvider), layers.blaming("model", only=UnknownModel):
        named = provider or (PLAYERS["script"] if config.script is not None else None)
        model = models.play(recording, asked.model) if recording else models.begin(named, config.model)
    if models.level is not None and asked.reasoning is None:
        config = replace(config, reasoning=models.level)
        asked = asked if asked.model is None else replace(asked, reasoning=models.level)
    with layers.blaming("shell"):
        shell = _shell(config.shell, environ, project.root)
    with layers.blaming("tools"):
        tools = _tools(config.tools)
    sessions = session_options(config, asked, home, spelled)
    remarks = list(layers.remarks)
    if config.models:
        lost = ", ".join(models.unmatched())
        remarks += [f"{spelled('models')}: no model that can be used is meant by {lost}"] if lost else []
    if config.provider is not None or not sessions.remembers:  # Or else the session's own provider may be another.
        remarks += lacking_key(accounts, model, needed=bool(config.needs_key))
    settings = Settings(
        **{name: getattr(config, name) for name in _AsSaid.__struct_fields__},
        asked=asked,
        environ=environ,
        below=below,
        client_tools=client_tools,
        remarks=tuple(remarks),
        model=model,
        known_providers=providers,
        accounts=accounts,
        known_models=models,
        cwd=project.root,
        project=project,
        resource_folders=resource_folders(config, asked, environ, home, project, spelled),
        limits=limits,
        tools=tools,
        functions=_functions(config.tools),
        script=script,
        record=None if config.record is None else os.path.abspath(config.record),
        recording=recording,
        sessions=sessions,
        rules=(),
        unheard_tools=(),
        shell=shell,
        shell_prefix=config.shell_prefix or "",
        mcp=_mcp(config, environ, home, project, spelled),
        mcp_tools=None if config.tools is None else tuple(_mcp_names(config.tools)),
        extensions=tuple(os.path.abspath(os.path.expanduser(path)) for path in config.extensions or ()),
        extension_flags=dict(config.extension_flags or {}),
        sandbox_hosts=tuple(config.sandbox_hosts or ()),
    )
    if not config.rules:
        return settings
    from linnet.runtime.settings.rules import ruled  # For those who have any.

    return ruled(settings, layers)


def lacking_key(accounts: Accounts, model: Model, *, needed: bool) -> list[str]:
    """Return a sentence about the model's key if it is missing. Raises MissingKey instead if it is `needed`."""
    try:
        accounts.require(model.provider)
    except MissingKey as error:
        if needed:
            raise
        return [f"{error}. Prompts are refused until then"]
    return []


def home_folder(environ: Mapping[str, str]) -> str:
    """Return the folder in which linnet keeps what is the user's own. It is not created. Raises ConfigError if it would
    be a different one in each project.
    """
    given = os.path.expanduser(environ.get("LINNET_HOME") or os.path.join("~", FOLDER))
    if not os.path.isabs(given) and FOLDER in os.path.normpath(given).split(os.sep):
        raise ConfigError(f"LINNET_HOME is {given}, which is the folder of whatever project this is; give a whole path")
    return os.path.abspath(given)


def work_folder(cwd: Path | None, spelled: Spelling = flag) -> str:
    """Return the folder to work in, with links resolved, so that it has one name. Raises ConfigError if it is none."""
    try:
        path = os.path.realpath(cwd or os.getcwd())
    except FileNotFoundError:
        raise ConfigError(f"the current folder no longer exists; pass {spelled('cwd')}") from None
    except ValueError:
        raise ConfigError(f"{spelled('cwd')} {cwd!r} cannot be the name of a folder") from None
    if not os.path.isdir(path):
        raise ConfigError(f"{spelled('cwd')} {path} is not a folder")
    return path


def _shell(given: str | None, environ: Mapping[str, str], cwd: str) -> str | None:
    if not given:
        return None
    from linnet.processes.shell import found

    return found(given, environ, cwd)


def _tools(given: "Sequence[str | FunctionTool] | None") -> tuple[str, ...] | None:
    """Return the names of those of linnet's own tools that were chosen; None if nobody chose, and all are meant."""
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
    """Return the MCP servers to use. If there are none, that takes a look for one or two files, and no import."""
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
    """Return the functions that are tools. Raises ConfigError if two tools have one name."""
    functions = tuple(each for each in given or () if not isinstance(each, str))
    if functions:
        from linnet.tools.toolset import clash

        names = [(name, "linnet itself") for name in _tools(given) or ()]
        if problem := clash([*names, *((each.spec.name, each.owner) for each in functions)]):
            raise ConfigError(problem)
    return functions
