"""The shell that commands are run with."""

import os
from collections.abc import Mapping

from msgspec import Struct

from linnet.errors import ConfigError

SHELLS = ("/bin/bash", "/bin/sh")


class Shell(Struct, frozen=True):
    """`path`: None is the first of SHELLS that is there. `prefix` are lines that come before each command."""

    path: str | None = None
    prefix: str = ""

    def argv(self, command: str) -> list[str]:
        """What is to be started so that the command is run."""
        path = self.path or next((shell for shell in SHELLS if os.access(shell, os.X_OK)), SHELLS[-1])
        return [path, "-c", "--", f"{self.prefix}\n{command}" if self.prefix else command]


def found(name: str, environ: Mapping[str, str]) -> str:
    """Return where the program is: an absolute path, or a name that PATH leads to. Raises ConfigError."""
    path = os.path.expanduser(name)
    if os.sep in path:
        places = [path] if os.path.isabs(path) else []
    else:
        folders = environ.get("PATH", os.defpath).split(os.pathsep)
        places = [os.path.join(folder, path) for folder in folders if os.path.isabs(folder) and path]
    for place in places:
        if os.path.isfile(place) and os.access(place, os.X_OK):
            return place
    raise ConfigError(
        f'the shell "{name}" is not there; give the absolute path of one, or a name that is found in PATH'
    )
