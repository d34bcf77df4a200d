"""Defines every setting, in one row each.

Flags, keys of `settings.json`, its schema, variables, keywords of the SDK, defaults and the page in `docs` are read off
these rows. Flags are read before anything else is, so that nothing slow is imported here; types are text until needed.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct

from linnet.core.setting_names import Row, collecting

if TYPE_CHECKING:
    from linnet.core.events import QueueMode
    from linnet.core.messages import ToolCall
    from linnet.core.models import PromptCache, Reasoning
    from linnet.core.permissions.rule import Mode, Rule
    from linnet.core.session_info import SessionFormat
    from linnet.providers.program.contract import ModelProvider
    from linnet.providers.recorded.difference import Match
    from linnet.runtime.config.setting_keys import Amount, Count, Dollars, Seconds, Url
    from linnet.tools.functions.function import FunctionTool

Answer: TypeAlias = bool | str | None
Callback: TypeAlias = "Callable[[ToolCall, str], Answer | Awaitable[Answer]]"
"""Is given a call and a preview of it. Returns True if it may run; False or a reason if not. May be async."""

DEFAULT_PROVIDER = "anthropic"
REPLAY = "replay"
PLAYERS = {"script": "scripted", "recording": REPLAY}
"""The settings that name what is played instead of asking a model, and the providers that play it."""
Path: TypeAlias = str | os.PathLike[str]
ProviderChoice: TypeAlias = "str | ModelProvider"
"""The name of a provider, or one that the program has written."""
Tools: TypeAlias = "Sequence[str | FunctionTool]"
"""Names of linnet's tools, and functions of the program that are tools."""

_START = "belongs to one start"
_PROTOCOL = "belongs to the protocol"
_SDK_AND_PI = {"sdk": True, "pi": True}
_WORDINGS = {"pi": "pi", "pi_073": "pi-0.73", "pi_1": "pi-0.73"}
_rows: list[Row] = []
_row = collecting(Row, _rows)


class Keywords(Struct, frozen=True, kw_only=True):
    """All settings that a layer may say something about; None means that it says nothing.

    To add a setting, add a row here. If it is more than a value, `settings.py` checks it.
    """

    provider: ProviderChoice | None = _row(
        "the provider whose models are used",
        {"--provider NAME": "anthropic, openai, google, … (see linnet auth), local, scripted, or your own"},
        project=True,
    )
    model: str | None = _row(
        "a model: ID, PROVIDER/ID or a word of its name, and :LEVEL if it is to think (see linnet models)",
        "--model ID",
        project=True,
    )
    models: Sequence[str] | None = _row(
        "the models that are offered and that cycle_model goes round: ids, words of names, or globs",
        {"--models LIST": "the models to choose among, such as claude-*,openai/gpt-6* (default: all)"},
        otherwise="all that can be used",
        project=True,
    )
    cwd: Path | None = _row("the working directory", "--cwd DIR", otherwise="this one", no_key=_START)
    api_key: str | None = _row(
        "the key, if it is not in the environment or auth.json",
        "--api-key KEY",
        no_key="is a secret, which has a file of its own: auth.json",
    )
    base_url: Url | None = _row("another server that speaks the provider's protocol", "--base-url URL")
    api: str | None = _row(
        "the API through which the provider's models are asked, if not the usual one",
        {"--api NAME": "openai-responses, openai-completions, …: ask the provider's models through this API"},
    )
    system_prompt: str | None = _row(
        "say this instead of linnet's own system prompt", "--system-prompt TEXT", project=True
    )
    append_system_prompt: str | None = _row(
        "say this after the system prompt",
        {"--append-system-prompt TEXT": "say this after the system prompt; repeatable"},
        project=True,
        repeatable=True,
    )
    reasoning: Reasoning | None = _row(
        "how much the model thinks before it answers",
        {"--reasoning, --thinking LEVEL": "off, minimal, low, medium, high, xhigh or max"},
        "off",
        habits={"linnet-pi-today": "medium"},
        project=True,
    )
    max_steps: Count | None = _row(
        "maximum number of model calls in one run", "--max-steps N", otherwise="no limit", project=True
    )
    max_cost: Dollars | None = _row("maximum cost of one prompt, in US dollars", "--max-cost USD", otherwise="no limit")
    max_seconds: Seconds | None = _row("maximum time of a prompt, in seconds", "--max-seconds S", otherwise="no limit")
    bash_timeout: Seconds | None = _row("timeout in seconds for commands that set none themselves", "--bash-timeout S")
    max_reply: Count | None = _row("maximum size of one reply of a model, in bytes", "--max-reply N", 64 << 20)
    tools: Tools | None = _row(
        "the tools the model may use",
        {
            "--tools LIST": "the tools the model may use, such as read,bash (default: all)",
            "--no-tools": "the model may use no tools",
        },
        project=True,
    )
    exclude_tools: Sequence[str] | None = _row(
        "tools the model may not use, such as mcp__*", "--exclude-tools LIST", project=True, guards=True, collected=True
    )
    builtin_tools: bool | None = _row(
        "offer linnet's own tools",
        {"--no-builtin-tools": "only tools that others bring: extensions, MCP servers"},
        True,
    )
    script: Path | None = _row("play this script on the scripted provider", "--script FILE", no_key=_START)
    record: Path | None = _row("record in this new file what models stream", "--record FILE", no_key=_START)
    recording: Path | None = _row("play this recording, instead of asking a model", "--recording FILE", no_key=_START)
    recording_match: Match | None = _row(
        "with --recording: how far it must be asked what was recorded",
        {"--recording-match WORD": "with --recording, what must be as it was recorded: strict, loose or none"},
        "strict",
        no_key=_START,
    )
    recording_paced: bool | None = _row(
        "with --recording: replies take the time that they took", "--recording-paced", False, no_key=_START
    )
    timeout: Seconds | None = _row(
        "timeout: seconds that a model may stay silent", "--timeout SECONDS", 600, project=True
    )
    prompt_cache: PromptCache | None = _row(
        "how long a vendor is asked to keep what it has read",
        {"--prompt-cache TIME": "off, short or long: how long the vendor keeps prompts (long: an hour, at a price)"},
        "short",
        project=True,
    )
    connect_timeout: Seconds | None = _row(
        "timeout for connecting to a model's server, in seconds", "--connect-timeout S", 30, project=True
    )
    first_byte_timeout: Seconds | None = _row(
        "timeout: seconds until a model's server begins to answer",
        "--first-byte-timeout S",
        otherwise="as --timeout",
        project=True,
    )
    retries: Amount | None = _row("retries after a transient failure", "--retries N", 3, project=True)
    retry_delay: Seconds | None = _row("pi protocol: seconds until a first retry", "--retry-delay S", 2.0, project=True)
    compact_reserve: Amount | None = _row(
        "tokens to keep free before compacting",
        "--compact-reserve N",
        16_384,
        habits={"pi_legacy": 20_000},
        project=True,
    )
    compact_keep: Count | None = _row("tokens' worth to keep when compacting", "--compact-keep N", 20_000, project=True)
    session: Path | None = _row("resume this session, or begin one in this file", "--session FILE|ID", no_key=_START)
    resume: bool | None = _row("resume the newest session of this folder", "--continue", False, no_key=_START)
    fork: Path | None = _row("continue in a copy of this session", "--fork FILE|ID", no_key=_START)
    session_id: str | None = _row(
        "use the session of this folder that has this id, or begin one with it", "--session-id ID", no_key=_START
    )
    session_name: str | None = _row("the name of the session", "--name NAME", no_key=_START)
    session_dir: Path | None = _row(
        "where sessions are kept", "--session-dir DIR", otherwise="in LINNET_HOME", project=True
    )
    save: bool | None = _row(
        "whether conversations are kept on disk",
        {
            "--save": "keep a session where the others of this folder are",
            "--no-session": "keep nothing on disk (the zot protocol does not, unless asked)",
        },
        False,
        habits={"pi": True},
        project=True,
    )
    confine: bool | None = _row(
        "paths that a client sends must stay in the session folder or the working directory",
        "--confine",
        False,
        guards=True,
    )
    permission: Mode | Callback | None = _row(
        "what happens to tool calls that no rule matches",
        {"--permission MODE": "for tool calls that no rule matches: auto, ask, read-only or deny"},
        "auto",
        habits={"acp": "ask"},
        guards=True,
    )
    rules: Sequence[Rule | str] | None = _row(
        'which tool calls may run, such as "allow bash:git status": the last rule that matches wins',
        {
            "--allow RULE": "let this run: TOOL, TOOL:PATTERN or TOOL(PATTERN); repeatable, the last rule wins",
            "--ask RULE": "ask before this runs; repeatable",
            "--deny RULE": "never run this; repeatable",
        },
        (),
        project=True,
        guards=True,
        collected=True,
        repeatable=True,
    )
    question_timeout: Seconds | None = _row(
        "timeout for questions, in seconds: no answer counts as a no", "--question-timeout S", otherwise="none"
    )
    trust: bool | None = _row(
        "for projects you have not decided about: true trusts what they bring, false does not, and nobody is asked",
        {
            "--trust": "use what this project brings in its .linnet folder",
            "--no-trust": "use nothing that this project brings",
        },
    )
    shell: str | None = _row(
        "run commands with this shell", "--shell FILE", otherwise="/bin/bash, or else /bin/sh", project=True
    )
    shell_prefix: str | None = _row("lines of shell to put before each command", "--shell-prefix TEXT", project=True)
    steering_mode: QueueMode | None = _row(
        "pi protocol: how steering messages are taken",
        {"--steering-mode MODE": "pi protocol: how steering messages are taken: all or one-at-a-time (default)"},
        "one-at-a-time",
        project=True,
    )
    follow_up_mode: QueueMode | None = _row(
        "pi protocol: the same for follow-up messages", "--follow-up-mode MODE", "one-at-a-time", project=True
    )
    context_files: bool | None = _row(
        "read AGENTS.md and CLAUDE.md",
        {"--no-context-files": "do not read AGENTS.md and CLAUDE.md"},
        True,
        project=True,
    )
    templates: bool | None = _row(
        "look for templates in the usual folders, besides those that are named",
        {"--no-prompt-templates": "no templates but those that are named"},
        True,
        project=True,
    )
    template_paths: Sequence[Path] | None = _row(
        "files and folders of templates",
        {"--prompt-template PATH": "a template, or a folder; repeatable"},
        project=True,
        collected=True,
        repeatable=True,
    )
    skills: bool | None = _row(
        "look for skills in the usual folders, besides those that are named",
        {"--no-skills, --no-skill": "no skills but those that are named"},
        True,
        habits={"linnet-zot": False},
        project=True,
    )
    skill_paths: Sequence[Path] | None = _row(
        "skills, and folders of them",
        {"--skill PATH": "a skill, or a folder of them; repeatable"},
        project=True,
        collected=True,
        repeatable=True,
    )
    stands_in_for: Literal["pi", "zot"] | None = _row(
        "the agent whose folders are used, too",
        habits={"linnet-zot": "zot", "linnet-pi": "pi"},
        no_key="belongs to the program's name",
    )
    mcp: bool | None = _row("use MCP servers", {"--no-mcp": "use no MCP servers"}, True, project=True)
    mcp_config: Sequence[Path] | None = _row(
        "files with MCP servers", {"--mcp-config FILE": "MCP servers to use; repeatable"}, project=True, repeatable=True
    )
    mcp_servers: Mapping[str, Any] | None = _row("MCP servers by name, as in the mcpServers of a file", project=True)
    mcp_wait: Seconds | None = _row("seconds the first prompt waits for MCP servers", "--mcp-wait S", 10, project=True)
    extensions: Sequence[Path] | None = _row(
        "files and folders of extensions",
        {"--extension, -e PATH": "use this extension; repeatable"},
        project=True,
        guards=True,
        collected=True,
        repeatable=True,
    )
    find_extensions: bool | None = _row(
        "look for extensions in the usual folders and in installed packages",
        {"--no-extensions": "use no extensions but those that are named"},
        True,
    )
    extension_wait: Seconds | None = _row(
        "seconds that prompts wait for an extension that is named", "--extension-wait S", 30
    )
    extension_flags: Mapping[str, Any] | None = _row(
        "values of flags that extensions have registered, by name", project=True
    )
    hook_timeout: Seconds | None = _row("seconds an extension has to answer", "--hook-timeout S", 10)
    pass_keys: bool | None = _row(
        "give commands and MCP servers the variables that hold providers' keys", "--pass-keys", False
    )
    sandbox: bool | None = _row(
        "run commands so that they can write only in the working directory, without network",
        "--sandbox",
        False,
        guards=True,
    )
    sandbox_network: bool | None = _row("with --sandbox: commands may use the network", "--sandbox-network", False)
    sandbox_hosts: Sequence[str] | None = _row(
        "with --sandbox: commands reach these hosts, such as github.com,*.example.org",
        "--sandbox-hosts NAMES",
        repeatable=True,
    )
    sandbox_files: bool | None = _row(
        "instead of --sandbox, and weaker: only access to files is restricted", "--sandbox-files", False, guards=True
    )
    sandbox_extensions: bool | None = _row(
        "with --sandbox: extensions that are programs run in it, too", default=False, guards=True
    )

    # What protocols differ in.
    needs_key: bool | None = _row(
        "nothing starts without a provider's key, or else prompts are refused for as long as there is none",
        default=True,
        no_key=_PROTOCOL,
    )
    sessions: bool | None = _row(
        "there is a session, if only in memory", default=False, habits={"pi": True}, no_key=_PROTOCOL
    )
    wording: Literal["zot", "pi", "pi-0.73"] | None = _row(
        "in whose words tools answer", "", "zot", habits=_WORDINGS, no_key=_PROTOCOL
    )
    retry_runs: bool | None = _row(
        "retry a run that failed for a passing reason, and tell the client",
        default=False,
        habits=_SDK_AND_PI,
        project=True,
    )
    auto_compaction: bool | None = _row(
        "compact the conversation when it is nearly too long", default=False, habits=_SDK_AND_PI, project=True
    )
    keep_messages: Count | None = _row(
        "how many messages a compaction keeps, instead of compact_keep tokens' worth",
        habits={"zot": 4, "sdk": 4},
        project=True,
    )
    calls_at_once: Count | None = _row(
        "how many tool calls of one reply may run side by side", "", 1, habits={"pi_073": 8, "pi_1": 8}, project=True
    )
    steering_skips: bool | None = _row(
        "skip calls that have not begun when something is said to the agent",
        default=True,
        habits={"pi_073": False, "pi_1": False},
        no_key=_PROTOCOL,
    )
    session_format: SessionFormat | None = _row(
        "the version of pi in whose format sessions are written", "", "0.73", habits={"pi_1": "1.5"}, no_key=_PROTOCOL
    )
    compact_between_steps: bool | None = _row(
        "compact what is nearly too long between two steps, too", "", False, habits={"pi_1": True}, no_key=_PROTOCOL
    )
    compact_tiny: bool | None = _row(
        "compact what a client asks to, however short it is", default=False, habits={"pi_073": True}, no_key=_PROTOCOL
    )


class Config(Keywords, frozen=True, kw_only=True):
    """One layer of configuration: what somebody asked for, or the habits of a protocol."""

    permission_callback: Callback | None = _row(
        "asked instead of the mode, and where a rule says ask", no_key="is a function"
    )

    def __post_init__(self) -> None:
        """Move a `permission` that is a function to a field of its own: the other is a mode from here on."""
        if callable(self.permission):
            from msgspec.structs import force_setattr

            force_setattr(self, "permission_callback", self.permission)
            force_setattr(self, "permission", None)


# A class body is carried out from top to bottom, so rows are in the order of the fields that they were assigned to.
ROWS: Mapping[str, Row] = dict(zip((*Keywords.__annotations__, *Config.__annotations__), _rows, strict=True))


def flag(field: str) -> str:
    """Return the flag of a field. What is no field, such as `no_session`, is spelled as a flag as it is."""
    row = ROWS.get(field)
    if row is None:
        return "--" + field.replace("_", "-")
    return next(iter(row.spelled()), field).split()[0].rstrip(",")


def _used_to(*who: str) -> Config:
    """Return the habits of these protocols and programs as a layer; if two have one for a field, the last counts."""
    return Config(**{name: row.habits[each] for name, row in ROWS.items() for each in who if each in row.habits})


DEFAULTS = Config(**{name: row.default for name, row in ROWS.items() if row.default is not None})
ZOT, SDK, PI, ACP, PI_TODAY = map(_used_to, ("zot", "sdk", "pi", "acp", "linnet-pi-today"))
PI_LEGACY, PI_073, PI_1 = _used_to("pi", "pi_legacy"), _used_to("pi", "pi_073"), _used_to("pi", "pi_1")
LINNET_ZOT, LINNET_PI = _used_to("linnet-zot"), _used_to("linnet-pi")
KEYLESS = Config(needs_key=False)  # Of rpc mode, but for zot's.
