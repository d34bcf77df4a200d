"""Checks what is to be played instead of asking a model, and what is to be recorded; reads scripts and recordings."""

import os
from typing import TYPE_CHECKING, get_args

from linnet.core.setting_names import Spelling
from linnet.errors import ConfigError, Contradiction
from linnet.runtime.config.config import PLAYERS, REPLAY, Config

if TYPE_CHECKING:
    from linnet.providers.recorded.recording import Recording
    from linnet.providers.scripted.script import Script


def played(config: Config, spelled: Spelling) -> "tuple[Script | None, Recording | None]":
    """Return the script or the recording that is to be played, if one is. Raises ConfigError."""
    named = [name for name in ("record", *PLAYERS) if getattr(config, name) is not None]
    if "recording" in named and len(named) > 1:
        raise Contradiction(*(spelled(name) for name in named))
    for name, provider in PLAYERS.items():
        if name in named and config.provider not in (None, provider):
            raise ConfigError(
                f"{spelled(name)} plays on the {provider} provider, not on {config.provider}; "
                f"leave out {spelled('provider')}"
            )
    if config.script is not None:
        from linnet.providers.scripted.script import load as load_script

        return load_script(os.fspath(config.script)), None
    return None, _recording(config, spelled)


def _recording(config: Config, spelled: Spelling) -> "Recording | None":
    if config.recording is None:
        if config.provider == REPLAY:
            raise ConfigError(f"the {REPLAY} provider needs a recording to play; name one with {spelled('recording')}")
        return None
    from linnet.providers.recorded.difference import Match
    from linnet.providers.recorded.replay import load

    if config.recording_match not in get_args(Match):
        words = ", ".join(get_args(Match))
        raise ConfigError(f"{spelled('recording_match')} must be one of {words}, not {config.recording_match!r}")
    return load(os.fspath(config.recording))
