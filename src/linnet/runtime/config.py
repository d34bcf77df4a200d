"""What may be said about how the agent should be: a layer, in which everything may be left out."""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from linnet.core.events import QueueMode
from linnet.core.models import Reasoning
from linnet.core.permissions import Mode, Rule

if TYPE_CHECKING:
    from linnet.core.messages import ToolCall
    from linnet.tools.function import FunctionTool

Answer: TypeAlias = bool | str | None
Callback: TypeAlias = "Callable[[ToolCall, str], Answer | Awaitable[Answer]]"
"""Given a call and what it is about to do: True if it may run, False or a reason if not. Plain or `async def`."""

DEFAULT_PROVIDER = "anthropic"
Path: TypeAlias = str | os.PathLike[str]
Tools: TypeAlias = "Sequence[str | FunctionTool]"
"""Names, and functions that are tools."""
Amount: TypeAlias = Annotated[int, Meta(ge=0)]
Count: TypeAlias = Annotated[int, Meta(ge=1)]
Dollars: TypeAlias = Annotated[float, Meta(gt=0, lt=1e9)]
Seconds: TypeAlias = Annotated[float, Meta(gt=0, lt=1e9)]
Url: TypeAlias = Annotated[str, Meta(pattern="^https?://")]


class Config(Struct, frozen=True, kw_only=True):
    """One layer: what somebody asked for, or what a protocol is used to. None means that nothing was said.

    What is said here can be said in `settings.json` too, unless `runtime/setting_keys.py` says why not.

    `max_steps`: most model calls of a run; `max_cost`: most US dollars, `max_seconds`: most time, for a prompt with all
    its runs, retries and compactions. `bash_timeout`: seconds for a command that says nothing about that. No limit
    unless said.

    `tools` are the tools the model may use, by name or as functions: an empty list means none at all. `session` is a
    file, or the beginning of a session's id; `resume` goes on with the newest session, and `fork` with a copy of one.
    `save` says whether sessions are kept on disk. `permission` says which tool calls may run where no rule does;
    `permission_callback` is asked instead of the mode, and where a rule says `ask`. `question_timeout`: seconds after
    which no answer to a question is a no.

    `trust`: what the project brings in its `.linnet` folder may be used. `shell` runs commands, each with
    `shell_prefix` as the lines before it.

    `context_files`: the instructions of `AGENTS.md` files are read. `templates` and `skills`: these are looked for in
    the user's and the project's folders; `template_paths` and `skill_paths` name files and folders of them, which are
    used in any case. `stands_in_for`: what the folders of this agent hold is used too.

    `mcp_config` names files with MCP servers, `mcp_servers` has such servers by name, as in the `mcpServers` of a file;
    `mcp_wait`: seconds that the first prompt waits for them; `mcp` false: there are none.

    `extensions` names files and folders of extensions; `find_extensions` false: those that were named are all there
    are; `extension_wait`: seconds that prompts wait for one that was named, without which nothing goes on;
    `extension_flags`: values of flags that they have registered; `hook_timeout`: seconds that an extension has to
    answer.

    `pass_keys`: commands, MCP servers and other children find the providers' keys in their environment; otherwise the
    variables that linnet reads keys from are left out. `sandbox`: commands write only in the working folder and a
    temporary one, see no home and no network, unless `sandbox_network` says so; where that cannot be had, nothing
    starts.

    The last group is what protocols differ in. `needs_key`: nothing starts without a provider's key; otherwise prompts
    are refused for as long as there is none. `sessions`: there is a session, if only in memory. `wording`: in whose
    words tools answer. `retry_runs`: a run that failed for a passing reason is run again, and the client is told;
    otherwise the provider tries its request again, and nobody is. `keep_messages`: a compaction keeps so many;
    otherwise it keeps `compact_keep` tokens' worth. `calls_at_once`: so many tools may run side by side.
    """

    provider: str | None = None
    model: str | None = None
    cwd: Path | None = None
    api_key: str | None = None
    base_url: Url | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    reasoning: Reasoning | None = None
    max_steps: Count | None = None
    max_cost: Dollars | None = None
    max_seconds: Seconds | None = None
    bash_timeout: Seconds | None = None
    tools: "Tools | None" = None
    script: Path | None = None
    timeout: Seconds | None = None
    retries: Amount | None = None
    retry_delay: Seconds | None = None
    compact_reserve: Amount | None = None
    compact_keep: Count | None = None
    session: Path | None = None
    resume: bool | None = None
    fork: Path | None = None
    session_dir: Path | None = None
    save: bool | None = None
    confine: bool | None = None
    permission: Mode | None = None
    rules: Sequence[Rule] | None = None
    permission_callback: "Callback | None" = None
    question_timeout: Seconds | None = None
    trust: bool | None = None
    shell: str | None = None
    shell_prefix: str | None = None
    steering_mode: QueueMode | None = None
    follow_up_mode: QueueMode | None = None
    context_files: bool | None = None
    templates: bool | None = None
    template_paths: Sequence[Path] | None = None
    skills: bool | None = None
    skill_paths: Sequence[Path] | None = None
    stands_in_for: Literal["pi", "zot"] | None = None
    mcp: bool | None = None
    mcp_config: Sequence[Path] | None = None
    mcp_servers: Mapping[str, Any] | None = None
    mcp_wait: Seconds | None = None
    extensions: Sequence[Path] | None = None
    find_extensions: bool | None = None
    extension_wait: Seconds | None = None
    extension_flags: Mapping[str, Any] | None = None
    hook_timeout: Seconds | None = None
    pass_keys: bool | None = None
    sandbox: bool | None = None
    sandbox_network: bool | None = None

    needs_key: bool | None = None
    sessions: bool | None = None
    wording: Literal["zot", "pi"] | None = None
    retry_runs: bool | None = None
    auto_compaction: bool | None = None
    keep_messages: Count | None = None
    calls_at_once: Count | None = None


_ADDED_UP = (
    "rules",
    "template_paths",
    "skill_paths",
    "extensions",
)  # Of rules, the last that fits wins, whoever said it.


def layered(*layers: Config) -> Config:
    """One layer for all of them: field by field, the last that says something wins.

    Rules, templates, skills and extensions are collected, and servers by name. A layer that names a provider has done
    with the model and the address that were meant for another one.
    """
    said: dict[str, Any] = {}
    for layer in layers:
        values = ((name, getattr(layer, name)) for name in Config.__struct_fields__)
        own = {name: value for name, value in values if value is not None}
        if _other_provider(own, said):
            for name in ("provider", "model", "base_url"):
                said.pop(name, None)
        if "mcp_servers" in own:
            own["mcp_servers"] = {**said.get("mcp_servers", {}), **own["mcp_servers"]}
        said.update(own)
    for name in _ADDED_UP:
        if added := [each for layer in layers for each in getattr(layer, name) or ()]:
            said[name] = added
    return Config(**said)


def _other_provider(own: Mapping[str, Any], below: Mapping[str, Any]) -> bool:
    named = all("provider" in said or "script" in said for said in (own, below))
    return named and provider_of(own) != provider_of(below)


def provider_of(said: Mapping[str, Any]) -> str:
    """A script is a provider, too."""
    return said.get("provider") or ("scripted" if said.get("script") is not None else DEFAULT_PROVIDER)


DEFAULTS = Config(
    reasoning="off",
    timeout=600,
    retries=3,
    retry_delay=2.0,
    compact_reserve=16_384,
    compact_keep=20_000,
    resume=False,
    save=False,
    confine=False,
    permission="auto",
    rules=(),
    steering_mode="one-at-a-time",
    follow_up_mode="one-at-a-time",
    context_files=True,
    templates=True,
    skills=True,
    mcp=True,
    mcp_wait=10,
    find_extensions=True,
    extension_wait=30,
    hook_timeout=10,
    pass_keys=False,
    sandbox=False,
    sandbox_network=False,
    needs_key=True,
    sessions=False,
    wording="zot",
    retry_runs=False,
    auto_compaction=False,
    calls_at_once=1,
)
ZOT = Config(keep_messages=4)
SDK = Config(keep_messages=4, retry_runs=True, auto_compaction=True)
LINNET_ZOT = Config(stands_in_for="zot", skills=False)  # It looks for skills only if it is asked to.
LINNET_PI = Config(stands_in_for="pi")
KEYLESS = Config(needs_key=False)  # pi's rpc mode.
PI = Config(save=True, sessions=True, wording="pi", retry_runs=True, auto_compaction=True)
PI_LEGACY = replace(PI, compact_reserve=20_000)  # As its document says.
