"""Every key of `settings.json` in words: for `linnet config`, its schema and the page in `docs`."""

from typing import Annotated, Any, Literal, get_args, get_origin

from linnet.flags import TABLE
from linnet.runtime.config import DEFAULTS, PI, ZOT
from linnet.runtime.setting_keys import Key, file_type, keys

ABOUT = {
    "provider": "whose models are asked",
    "reasoning": "how much the model thinks before it answers",
    "append_system_prompt": "say this after the system prompt",
    "permission": "what happens to tool calls that no rule matches",
    "compact_reserve": "tokens to keep free before compacting",
    "compact_keep": "tokens' worth to keep when compacting",
    "follow_up_mode": "pi protocol: the same for follow-up messages",
    "tools": "the tools the model may use",
    "save": "whether conversations are kept on disk",
    "confine": "paths that a client sends must stay in the folders of sessions and of work",
    "rules": 'which tool calls may run, such as "allow bash:git status": the last that fits wins',
    "trust": "what projects bring may be used where nothing else was said: true everywhere, false nowhere, unasked",
    "extensions": "files and folders of extensions",
    "find_extensions": "look for extensions where they are usually found",
    "extension_flags": "values of flags that extensions have registered, by name",
    "context_files": "read AGENTS.md and CLAUDE.md",
    "templates": "look for templates where they are usually found, besides those that are named",
    "template_paths": "files and folders of templates",
    "skills": "look for skills where they are usually found, besides those that are named",
    "skill_paths": "skills, and folders of them",
    "mcp": "use MCP servers",
    "mcp_config": "files with MCP servers",
    "mcp_servers": "MCP servers by name, as in the mcpServers of a file",
    "retry_runs": "a run that failed for a passing reason is run again, and the client is told",
    "auto_compaction": "the conversation is compacted when it is nearly too long",
    "keep_messages": "a compaction keeps so many messages, instead of compact_keep tokens' worth",
    "calls_at_once": "so many tool calls of one reply may run side by side",
    "sandbox_extensions": "with --sandbox: programs of extensions are in it, too",
    "steering_mode": "pi protocol: how steering messages are taken",
}
"""What flags do not say, or say about one run."""


def about(key: Key) -> str:
    """Return one phrase; what its flag says where there is one."""
    said = ABOUT.get(key.name) or next((flag.help for flag in TABLE if flag.field == key.name), "")
    return said.partition(" (default")[0]


def kind(key: Key) -> str:
    """Return what is expected, as the page and people say it."""
    return _kind(key.kind)


def _kind(of: Any) -> str:
    origin, inner = get_origin(of), get_args(of)
    if origin is Annotated:
        return _kind(inner[0]) + _bounds(inner[1])
    if origin is Literal:
        return ", ".join(f"`{word}`" for word in inner)
    if origin is list:
        return f"list of {_kind(inner[0])}s"
    return {str: "string", int: "whole number", float: "number", bool: "`true` or `false`"}.get(of, "object")


def _bounds(meta: Any) -> str:
    if meta.ge is not None:
        return f", {meta.ge} or more"
    return f", more than {meta.gt}" if meta.gt is not None else ""


def default(key: Key) -> str:
    """Return the default as JSON, and those of protocols that differ."""
    from msgspec.json import encode

    values = {"": DEFAULTS, "zot": ZOT, "pi": PI}
    shown = {name: getattr(layer, key.name) for name, layer in values.items()}
    said = [
        f"`{encode(value).decode()}`" + (f" ({name})" if name else "")
        for name, value in shown.items()
        if value not in (None, ()) and (not name or value != shown[""])
    ]
    return ", ".join(said)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a file."""
    from linnet import decoding

    found = decoding.schema(file_type())
    [definition] = found["$defs"].values()
    for name, key in keys().items():
        definition["properties"][name]["description"] = about(key)
    definition["properties"]["$schema"] = {"type": "string"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **definition, "title": "linnet settings"}
