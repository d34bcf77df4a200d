"""Changes single keys of a `settings.json`, and leaves everything else as its author wrote it."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from msgspec.json import encode

from linnet.core.json.checked import misplaced
from linnet.core.json.edited import put, removed
from linnet.errors import ConfigError
from linnet.files.lock import changing
from linnet.files.reading import contents
from linnet.files.replacing import replace
from linnet.runtime.config.config import DEFAULT_PROVIDER
from linnet.runtime.config.setting_keys import keys
from linnet.runtime.config.settings_text import said
from linnet.runtime.settings.layers import FILE


def user_file(home: str) -> str:
    """Return the path of the user's own settings."""
    return os.path.join(home, FILE)


def says(home: str, names: Iterable[str]) -> bool:
    """Return whether the user's file says something about one of these settings. Raises ConfigError."""
    file = user_file(home)
    config, _ = said(contents(file) or b"", file, home)
    return any(getattr(config, name) is not None for name in names)


def model_written(home: str, provider: str, model: str) -> None:
    """Write to the user's file which model to use. A `base_url` or `api` that was meant for another provider is
    removed: this provider's key would be sent there. Raises ConfigError.
    """
    file = user_file(home)
    with _changing(file, private=True):
        before, _ = said(contents(file) or b"", file, home)
        values: dict[str, Any] = {"provider": provider, "model": model}
        if (before.provider or DEFAULT_PROVIDER) != provider:
            values |= {name: None for name in ("base_url", "api") if getattr(before, name) is not None}
        replace(file, _changed(file, values, home, of_project=False))


def written(file: str, values: Mapping[str, Any], folder: str, *, of_project: bool = False) -> None:
    """Write these values to the file; a value of None removes its key. Relative paths in it start in `folder`.
    Processes that do this at the same time take turns.

    Raises ConfigError if these values, or what the file says already, cannot be used; then nothing has changed.
    """
    _changed(file, values, folder, of_project=of_project)  # What is refused makes no folder either.
    with _changing(file, private=not of_project):
        replace(file, _changed(file, values, folder, of_project=of_project))


@contextmanager
def _changing(file: str, *, private: bool) -> Iterator[None]:
    """Hold the lock of the file. Raises ConfigError if it cannot be written."""
    try:
        with changing(file, private=private):
            yield
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from None


def _changed(file: str, values: Mapping[str, Any], folder: str, *, of_project: bool) -> bytes:
    """Return the text of the file with these values. Raises ConfigError if it cannot be used, before or after."""
    text = contents(file) or b"{}\n"
    if not text.strip():
        text = b"{}\n"
    said(text, file, folder, of_project=of_project)
    for name, value in values.items():
        text = removed(text, name) if value is None else put(text, name, encode(value))
        if of_project and value is not None and not keys()[name].from_project:
            raise misplaced(text, (name,), "a project cannot set this, only you can", file)
    said(text, file, folder, of_project=of_project)
    return text
