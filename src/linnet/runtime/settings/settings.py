"""Resolves all layers of configuration into Settings, checked and complete, and keeps those that hold."""

import os
from collections.abc import Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from linnet.core.events import QueueMode
from linnet.core.loop.limits import Limits
from linnet.core.models import Model, PromptCache, Reasoning
from linnet.core.session_info import SessionFormat
from linnet.core.setting_names import Spelling
from linnet.errors import ConfigError, MissingKey, UnknownModel, UnknownProvider
from linnet.providers.apis import remote_api
from linnet.runtime.config.config import PLAYERS, REPLAY, ZOT, Callback, Config, flag
from linnet.runtime.config.merged_layers import layered
from linnet.runtime.models.accounts import Accounts
from linnet.runtime.models.known_models import KnownModels
from linnet.runtime.models.known_providers import KnownProviders
from linnet.runtime.project.project import FOLDER, Project
from linnet.runtime.project.resource_folders import ResourceFolders, missing_resources, peer_home, resource_folders
from linnet.runtime.settings.checks import check_reasoning, check_word, checked_seconds, limits_of
from linnet.runtime.settings.folders import home_folder, work_folder
from linnet.runtime.settings.layers import Layers, found, without_pis
from linnet.runtime.settings.session_options import SessionOptions, session_options

if TYPE_CHECKING:
    from linnet.core.permissions.rule import Mode, Rule
    from linnet.core.permissions.tool_selection import ToolSelection
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
    steering_skips: bool
    compact_between_steps: bool
    session_format: SessionFormat
    compact_tiny: bool
    needs_key: bool
    wording: Literal["zot", "pi", "pi-0.73"]
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


class ToolChoice(Struct, frozen=True):
    """Which tools are offered."""

    own: tuple[str, ...] | None = None
    """The names of linnet's own; None: the default ones."""
    functions: "tuple[FunctionTool, ...]" = ()
    of_servers: tuple[str, ...] | None = None
    """Those of MCP servers; None: all."""
    of_others: "ToolSelection | None" = None
    """Those of extensions; None: all."""
    unheard: tuple[str, ...] = ()
    """Names that linnet has no tool of."""


NO_CHOICE = ToolChoice()


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
    """The names of linnet's own tools that are offered; None: the default ones."""
    selection: "ToolSelection | None"
    """Which tools of others are offered; None: all."""
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
        if not self.find_extensions:
            return False
        if any(os.path.isdir(os.path.join(folder, "extensions")) for folder in folders):
            return True
        return self.resource_folders.has_pi_extensions

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
        if isinstance(error, UnknownModel) and asked.model is not None:
            raise  # Whatever the files say.
        reason = error
        for fewer in without_pis(layers, error):
            try:
                return _resolved(fewer, asked, environ, below, home, project, spelled, client_tools)
            except ConfigError as other:
                reason = other  # Which has nothing to do with pi's settings.
        raise reason from None


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
    peers = peer_home("pi", environ) if config.stands_in_for == "pi" else None
    providers = KnownProviders(environ, home, peers)
    accounts = Accounts(providers, config.api_key, config.base_url, config.api, spelled)
    as_pi = config.stands_in_for == "pi"
    models = KnownModels(accounts, config.models or (), lenient=as_pi)
    provider = providers.named(config.provider)
    if provider is not None and config.extensions:
        providers.expect(provider)
    with layers.blaming("provider", only=UnknownProvider), layers.blaming("model", only=UnknownModel):
        named = provider or (PLAYERS["script"] if config.script is not None else None)
        if as_pi and recording is None:
            from linnet.runtime.settings.pis_model import begun

            model = begun(layers, models, named, config.model)
        else:
            model = models.play(recording, asked.model) if recording else models.begin(named, config.model)
    if models.level is not None and asked.reasoning is None:
        config = replace(config, reasoning=models.level)
        asked = asked if asked.model is None else replace(asked, reasoning=models.level)
    with layers.blaming("shell"):
        shell = _shell(config.shell, environ, project.root)
    chosen = NO_CHOICE
    if config.tools is not None or config.exclude_tools or config.builtin_tools is False:
        from linnet.runtime.settings.tool_settings import choice  # For those who choose.

        with layers.blaming("tools"):
            chosen = choice(config, as_pi=as_pi)
    sessions = session_options(config, asked, home, spelled, peers)
    remarks = [*layers.remarks, *providers.remarks]
    if as_pi and models.custom:
        remarks.append(f'Model "{models.custom}" not found for provider "{model.provider}". Using custom model id.')
    if as_pi:
        remarks += missing_resources(asked, spelled)
    if config.models:
        lost = models.unmatched()
        if as_pi:
            remarks += [f'No models match pattern "{pattern}"' for pattern in lost]
        elif lost:
            remarks.append(f"{spelled('models')}: no model that can be used is meant by {', '.join(lost)}")
    if config.provider is not None or not sessions.remembers:  # Or else the session's own provider may be another.
        remarks += lacking_key(accounts, model, needed=bool(config.needs_key))
    if chosen.unheard and not (config.extensions or config.find_extensions or config.mcp_servers):
        remarks.append(f"{spelled('tools')}: there is no tool {', '.join(chosen.unheard)}")
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
        tools=chosen.own,
        selection=chosen.of_others,
        functions=chosen.functions,
        script=script,
        record=None if config.record is None else os.path.abspath(config.record),
        recording=recording,
        sessions=sessions,
        rules=(),
        unheard_tools=(),
        shell=shell,
        shell_prefix=config.shell_prefix or "",
        mcp=() if chosen.of_servers == () else _mcp(config, environ, home, project, spelled),
        mcp_tools=chosen.of_servers,
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


def _shell(given: str | None, environ: Mapping[str, str], cwd: str) -> str | None:
    if not given:
        return None
    from linnet.processes.shell import found

    return found(given, environ, cwd)


def _mcp(
    config: Config, environ: Mapping[str, str], home: str, project: Project, spelled: Spelling
) -> "tuple[ServerConfig, ...]":
    """Return the MCP servers to use. If there are none, that takes a look for one or two files, and no import."""
    folders = [home, *([project.resources] if project.resources else [])]
    files = [path for folder in folders if os.path.exists(path := os.path.join(folder, "mcp.json"))]
    files += [os.path.abspath(os.path.expanduser(path)) for path in config.mcp_config or ()]
    if not config.mcp or not (files or config.mcp_servers):
        return ()
    from linnet.extensions.mcp.files import load

    def read(path: str) -> bytes | None:
        return project.read(path) if path.startswith(os.path.join(project.root, FOLDER, "")) else None

    return load(files, config.mcp_servers, {**environ, "LINNET_CWD": project.root}, spelled, read)
