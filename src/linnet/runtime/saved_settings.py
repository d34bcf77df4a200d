"""Writing to a `settings.json`: one key at a time, with everything else as its author left it."""

import os
from collections.abc import Mapping
from typing import Any

from msgspec.json import encode

from linnet.core.checked_json import misplaced
from linnet.core.json_edit import put, removed
from linnet.errors import ConfigError
from linnet.runtime.config import DEFAULT_PROVIDER
from linnet.runtime.layers import FILE
from linnet.runtime.setting_keys import keys
from linnet.runtime.settings_text import said
from linnet.runtime.small_file import contents


def user_file(home: str) -> str:
    return os.path.join(home, FILE)


def model_written(home: str, provider: str, model: str) -> None:
    """Say in the user's file which model is used. An address that was meant for another provider is said no longer: it
    would be sent this one's key. Raises ConfigError.
    """
    file = user_file(home)
    before, _ = said(contents(file) or b"", file, home)
    values: dict[str, Any] = {"provider": provider, "model": model}
    if before.base_url is not None and (before.provider or DEFAULT_PROVIDER) != provider:
        values["base_url"] = None
    written(file, values, home)


def written(file: str, values: Mapping[str, Any], folder: str, *, of_project: bool = False) -> None:
    """Say this in the file; a value of None says nothing any more. Relative paths in it start in `folder`.

    Raises ConfigError if that, or what the file says already, cannot be used; then nothing has changed.
    """
    text = contents(file) or b"{}\n"
    if not text.strip():
        text = b"{}\n"
    said(text, file, folder, of_project=of_project)
    for name, value in values.items():
        text = removed(text, name) if value is None else put(text, name, encode(value))
        if of_project and value is not None and not keys()[name].from_project:
            raise misplaced(text, (name,), "a project cannot set this, only you can", file)
    said(text, file, folder, of_project=of_project)
    from linnet.tools.atomic import replace

    try:
        replace(file, text)
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from None
