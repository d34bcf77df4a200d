"""The weaker sandbox of `--sandbox-files`, for where bubblewrap cannot work: confines only the use of files.

The kernel's Landlock checks files that are opened, made, removed and renamed. It does not check who changes the mode,
owner or times of a file, nor what is looked at without being opened; and the network, other processes' command lines,
and what is protected inside of the working folder are as they are without it.
"""

import marshal
import os
from collections.abc import Mapping, Sequence

from linnet.errors import ConfigError
from linnet.processes.lookup import own_program
from linnet.processes.sandbox import landlock
from linnet.processes.sandbox.bubblewrap import Confinement, IfAlone, calls, git_identity, private_folder, written
from linnet.processes.sandbox.view import SYSTEM, ours, view

ENGINE = "landlock"
FLAG = "--sandbox-files"


class FilesOnly(Confinement):
    """A Confinement by Landlock. It has the same members as a Sandbox."""

    engine = ENGINE
    network = True
    hosts: tuple[str, ...] = ()

    def __init__(self, cwd: str, own: str, environ: Mapping[str, str]) -> None:
        """Make its folders, and try it once. `own` is linnet's home folder. Raises ConfigError where commands cannot be
        confined.
        """
        version = landlock.version()
        if version < landlock.LEAST:
            raise ConfigError(f"{FLAG} needs Landlock as in Linux 6.2 or later, and {lacking(version)}")
        self.opened: dict[int, str] = {}
        home = os.path.realpath(environ.get("HOME") or os.path.expanduser("~"))
        self._folder = private_folder(cwd, FLAG)
        try:
            self.temporary, self._home = (os.path.join(self._folder, name) for name in ("tmp", "home"))
            for folder in (self.temporary, self._home):
                os.mkdir(folder, 0o700)
            written(os.path.join(self._home, ".gitconfig"), git_identity(home))
            self.view = view(cwd, self.temporary, home, os.path.realpath(own), environ, ours(), FLAG)
            read = dict.fromkeys((*(os.path.realpath(path) for path in SYSTEM), *self.view.shown))
            wanted = landlock.rules((cwd, self.temporary, self._home), read, self.view.veiled, version)
            said = marshal.dumps((list(wanted), version, calls(FLAG)))
            self._before = own_program("processes.sandbox.landlock", written(os.path.join(self._folder, "rules"), said))
            self._try()
        except BaseException:
            self.close()
            raise

    def _prefix(self, cwd: str | os.PathLike[str], if_alone: IfAlone, shown: Sequence[str]) -> list[str]:
        """Return the words before a command that confine it: it may read what is `shown`."""
        return [*self._before, os.pathsep.join(shown)]

    @property
    def variables(self) -> dict[bytes, bytes]:
        """What replaces the same variables of the environment outside."""
        return {b"HOME": os.fsencode(self._home), b"TMPDIR": os.fsencode(self.temporary)}

    @property
    def described(self) -> str:
        """What the model is told of the sandbox."""
        return (
            f"Commands can write only in the working folder and in $TMPDIR ({self.temporary}), not in /tmp, and they "
            "cannot read the user's home."
        )

    def _try(self) -> None:
        """Run a command that tries to get out. Raises ConfigError if the sandbox does not work."""
        from linnet.processes.sandbox import trial

        outside = os.path.join(self._folder, "outside")
        command = self.wrapped(trial.argv(outside, self.temporary), self.view.cwd)
        trial.check(command, [], outside, self.temporary, alone=False, flag=FLAG)


def lacking(version: int) -> str:
    """Say what is wrong with a kernel whose Landlock is of this version."""
    return f"the kernel has version {version} of it, which lets files be cut off" if version else "the kernel has none"
