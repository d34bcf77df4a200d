"""The files that say which servers there are."""

import os
from collections.abc import Iterable, Mapping

from linnet.errors import ConfigError
from linnet.extensions.mcp.config import ServerConfig, merged, parse


def load(paths: Iterable[str], environ: Mapping[str, str]) -> tuple[ServerConfig, ...]:
    """Return the servers of all these files. Where two have the same name, the later file wins.

    Raises ConfigError if a file cannot be read or says something that makes no sense.
    """
    return merged([parse(_read(path), path, environ) for path in paths])


def _read(path: str) -> bytes:
    try:
        with open(os.path.expanduser(path), "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(f"{path} cannot be read: {reason}") from None
