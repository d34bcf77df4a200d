"""Reads pi's own `settings.json` as a layer of configuration, as far as linnet has the same settings. It was written
for another program, so that what cannot be used is remarked on, and never stops a start.
"""

import os
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from linnet.core.events import QueueMode
from linnet.core.json.checked import checked
from linnet.core.models import Reasoning
from linnet.errors import ConfigError
from linnet.providers import catalog
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


def said(text: bytes, file: str, folder: str) -> tuple[Config, list[str]]:
    """Return what the file says as a layer, and remarks for whoever wrote it. Relative paths start in `folder`. Never
    raises.
    """
    if not text.strip():
        return Config(), []
    try:
        pi = checked(text, _PiSettings, file)
    except ConfigError as error:
        return Config(), [f"{error}; nothing of this file is used"]
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
        "session_dir": UNSET if pi.session_dir is UNSET else os.path.join(folder, os.path.expanduser(pi.session_dir)),
    }
    told = {name: value for name, value in told.items() if value is not UNSET}
    remarks: list[str] = []
    if told.get("provider", "anthropic") not in catalog.PROVIDERS:
        remarks.append(f"{file}: the provider {told['provider']} is not known here; it is left out, with its model")
        told.pop("provider")
        told.pop("model", None)
    return Config(**told), remarks
