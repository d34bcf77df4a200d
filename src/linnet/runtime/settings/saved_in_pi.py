"""Writes single settings to pi's own `settings.json`, under pi's lock. All else in the file stays as its author wrote
it; a file that cannot be understood is left as it is.
"""

import os
from collections.abc import Mapping
from typing import Any

from msgspec.json import encode

from linnet.core.json.checked import checked
from linnet.core.json.edited import put
from linnet.errors import ConfigError
from linnet.files.pi_files import BOM
from linnet.files.pi_lock import held
from linnet.files.reading import contents
from linnet.files.replacing import replace
from linnet.runtime.settings.layers import FILE

_KEYS: Mapping[str, tuple[str, ...]] = {
    "provider": ("defaultProvider",),
    "model": ("defaultModel",),
    "reasoning": ("defaultThinkingLevel",),
    "steering_mode": ("steeringMode",),
    "follow_up_mode": ("followUpMode",),
    "auto_compaction": ("compaction", "enabled"),
    "retry_runs": ("retry", "enabled"),
}
"""What pi calls the settings that a command can save."""


def written(home: str, values: Mapping[str, Any]) -> None:
    """Write these values. Raises ConfigError if that cannot be done, and then nothing has changed."""
    file = os.path.join(home, FILE)
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        with held(file):
            text = (contents(file) or b"").removeprefix(BOM)
            replace(file, _changed(text if text.strip() else b"{}\n", file, values))
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from None


def _changed(text: bytes, file: str, values: Mapping[str, Any]) -> bytes:
    """Return the text with these values. Raises ConfigError if it is no JSON object."""
    said = checked(text, dict[str, Any], file)
    for name, value in values.items():
        first, *rest = _KEYS[name]
        if rest:
            inner = said.get(first, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"{file}: {first}: expected an object; the file is left as it is")
            value = {**inner, rest[0]: value}
        text = put(text, first, encode(value))
    return text
