"""Reads pi's own `settings.json` as a layer of configuration, as far as linnet has the same settings. It was written
for another program, so that what cannot be used is remarked on, and never stops a start.
"""

import os
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from linnet.core.events import QueueMode
from linnet.core.json.checked import checked
from linnet.core.models import Reasoning
from linnet.runtime.config.config import Config
from linnet.runtime.config.setting_keys import Amount, Count


class _Compaction(Struct, frozen=True, rename="camel"):
    enabled: bool | UnsetType = UNSET
    reserve_tokens: Amount | UnsetType = UNSET
    keep_recent_tokens: Count | UnsetType = UNSET


class _Retry(Struct, frozen=True, rename="camel"):
    enabled: bool | UnsetType = UNSET
    max_retries: Amount | UnsetType = UNSET
    base_delay_ms: Count | UnsetType = UNSET


class _PiSettings(Struct, frozen=True, rename="camel"):
    default_provider: str | UnsetType = UNSET
    default_model: str | UnsetType = UNSET
    default_thinking_level: Reasoning | UnsetType = UNSET
    queue_mode: QueueMode | UnsetType = UNSET
    steering_mode: QueueMode | UnsetType = UNSET
    follow_up_mode: QueueMode | UnsetType = UNSET
    compaction: _Compaction = _Compaction()
    retry: _Retry = _Retry()
    shell_path: str | UnsetType = UNSET
    shell_command_prefix: str | UnsetType = UNSET
    session_dir: str | UnsetType = UNSET
    enabled_models: list[str] | UnsetType = UNSET
    default_tools: list[str] | UnsetType = UNSET
    skills: list[str] | dict[str, Any] | UnsetType = UNSET
    """A list of paths; pi 0.37 had an object here."""
    prompts: list[str] | UnsetType = UNSET
    default_project_trust: str | UnsetType = UNSET


_TRUST = {"always": True, "never": False}


def said(text: bytes, file: str, folder: str, cwd: str, *, of_project: bool) -> Config:
    """Return what the file says as a layer. Relative paths start in `folder`, but for
    that of sessions, which starts in `cwd`. A project has no say in whether it is trusted. Raises ConfigError if it is
    not JSON, or has values of another kind.
    """
    if not text.strip():
        return Config()
    pi = checked(text, _PiSettings, file)
    compaction, retry = pi.compaction, pi.retry
    told: dict[str, Any] = {
        "provider": pi.default_provider,
        "model": pi.default_model,
        "reasoning": pi.default_thinking_level,
        "steering_mode": pi.queue_mode if pi.steering_mode is UNSET else pi.steering_mode,
        "follow_up_mode": pi.follow_up_mode,
        "auto_compaction": compaction.enabled,
        "compact_reserve": compaction.reserve_tokens,
        "compact_keep": compaction.keep_recent_tokens,
        "retry_runs": retry.enabled,
        "retries": retry.max_retries,
        "retry_delay": UNSET if retry.base_delay_ms is UNSET else retry.base_delay_ms / 1000,
        "shell": pi.shell_path if pi.shell_path is UNSET else os.path.expanduser(pi.shell_path),
        "shell_prefix": pi.shell_command_prefix,
        "session_dir": UNSET if pi.session_dir is UNSET else os.path.join(cwd, os.path.expanduser(pi.session_dir)),
        "models": pi.enabled_models or UNSET,
        "tools": pi.default_tools,
        "skill_paths": _paths(pi.skills, folder),
        "template_paths": _paths(pi.prompts, folder),
        "trust": _TRUST.get(str(pi.default_project_trust), UNSET) if not of_project else UNSET,
    }
    told = {name: value for name, value in told.items() if value is not UNSET}
    return Config(**told)


def without_model(config: Config) -> Config:
    """Return what a file says but for provider and model."""
    return replace(config, provider=None, model=None, reasoning=None)


def _paths(said: list[str] | dict[str, Any] | UnsetType, folder: str) -> list[str] | UnsetType:
    """Return the paths of a list that are there. Patterns that take something from what was found mean nothing here."""
    if not isinstance(said, list):
        return UNSET
    plain = [os.path.expanduser(each.removeprefix("+")) for each in said if each and each[0] not in "!-"]
    return [path for each in plain if os.path.exists(path := os.path.join(folder, each))] or UNSET
