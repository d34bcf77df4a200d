"""The shell that commands are run with."""

import os
from collections.abc import Mapping

from msgspec import Struct

from linnet.errors import ConfigError
from linnet.processes.lookup import installed

SHELLS = ("/bin/bash", "/bin/sh")


class Shell(Struct, frozen=True):
    """`path`: None is the first of SHELLS that is there. `prefix` are lines that come before each command."""

    path: str | None = None
    prefix: str = ""

    def argv(self, command: str) -> list[str]:
        """What is to be started so that the command is run."""
        path = self.path or next((shell for shell in SHELLS if os.access(shell, os.X_OK)), SHELLS[-1])
        return [path, "-c", "--", f"{self.prefix}\n{command}" if self.prefix else command]


def found(name: str, environ: Mapping[str, str], cwd: str) -> str:
    """Return where the program is: an absolute path, or a name that PATH leads to outside of the working folder.
    Raises ConfigError.
    """
    path = os.path.expanduser(name)
    if os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK):
        return path
    if path and os.sep not in path and (place := installed(path, environ.get("PATH", os.defpath), cwd)):
        return place
    raise ConfigError(
        f'the shell "{name}" is not there; give the absolute path of one, or a name that is found in PATH'
    )
