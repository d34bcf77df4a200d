"""Checks single settings, and says in words what is wrong with one."""

import threading
from typing import Any, get_args

from linnet.core.loop.limits import Limits
from linnet.core.models import Reasoning
from linnet.core.setting_names import Spelling
from linnet.errors import ConfigError
from linnet.runtime.config.config import Config


def limits_of(config: Config, spelled: Spelling) -> Limits:
    """Return the limits of a prompt. Raises ConfigError if one makes no sense."""
    if config.max_reply is not None and config.max_reply < 1:
        raise ConfigError(f"{spelled('max_reply')} must be a number of bytes above 0, not {config.max_reply}")
    if config.max_steps is not None and config.max_steps < 1:
        raise ConfigError(f"{spelled('max_steps')} must be at least 1")
    if config.max_cost is not None and not 0 < config.max_cost < 1e9:
        raise ConfigError(f"{spelled('max_cost')} must be a number of dollars above 0, not {config.max_cost:g}")
    return Limits(config.max_steps, config.max_cost, checked_seconds(config, "max_seconds", spelled), spelled)


def checked_seconds(config: Config, field: str, spelled: Spelling) -> float | None:
    """Return the field. Raises ConfigError if it is no time that a thread can wait for."""
    seconds: float | None = getattr(config, field)
    if seconds is not None and not 0 < seconds <= threading.TIMEOUT_MAX:
        raise ConfigError(f"{spelled(field)} must be a number of seconds above 0, not {seconds:g}")
    return seconds


def check_reasoning(level: str | None) -> None:
    """Raise ConfigError if there is no such level of thinking."""
    if level not in get_args(Reasoning):
        raise ConfigError(f'unknown reasoning level "{level}"; choose one of {", ".join(get_args(Reasoning))}')


def check_word(field: str, word: Any, words: Any, spelled: Spelling) -> None:
    """Raise ConfigError if the word is not one of these: it would be taken for one that lets everything through."""
    if word not in get_args(words):
        raise ConfigError(f"{spelled(field)} must be one of {', '.join(get_args(words))}, not {word!r}")
