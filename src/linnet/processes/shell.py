"""Finds the shell that commands are run with, and makes its command lines."""

import os
from collections.abc import Mapping

from msgspec import Struct

from linnet.errors import ConfigError
from linnet.processes.lookup import installed

SHELLS = ("/bin/bash", "/bin/sh")


class Shell(Struct, frozen=True):
    """Which shell runs commands, and what it runs before each of them."""

    path: str | None = None
    """None is the first of SHELLS that is there."""
    prefix: str = ""
    """Lines that come before each command."""

    def argv(self, command: str) -> list[str]:
        """Return the words to start so that the shell runs this command."""
        path = self.path or next((shell for shell in SHELLS if os.access(shell, os.X_OK)), SHELLS[-1])
        return [path, "-c", "--", f"{self.prefix}\n{command}" if self.prefix else command]


def found(name: str, environ: Mapping[str, str], cwd: str) -> str:
    """Return the path of a shell that is named by an absolute path, or by a name that is in PATH.

    Raises ConfigError, also if that name leads into the working folder.
    """
    path = os.path.expanduser(name)
    if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
        return path
    if path and os.sep not in path and (place := installed(path, environ.get("PATH", os.defpath), cwd)):
        return place
    raise ConfigError(
        f'the shell "{name}" is not there; give the absolute path of one, or a name that is found in PATH'
    )
