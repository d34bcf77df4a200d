"""Decides what a command in the sandbox sees of the machine, and where it may write. Starts nothing."""

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Literal, TypeAlias

from msgspec import Struct

from linnet.errors import ConfigError
from linnet.processes.lookup import PACKAGE, within

Access: TypeAlias = Literal["hidden", "read", "write"]

# All that is shown of the machine itself. Not /run, /var, /srv, /mnt: sockets of services are there, and other people's
# files; a socket can be spoken to also where nothing can be written.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/libx32", "/lib64", "/etc", "/opt", "/nix")
# Parts of a home that hold what is nobody's business, whatever may be installed there.
PRIVATE = frozenset(
    (".ssh", ".aws", ".gnupg", ".config", ".linnet", ".pi", ".zot", ".kube", ".docker", ".azure", ".password-store")
)
# Where the folder of programs is not the whole of an installation, or its parent is more than that.
TOOLCHAINS = {
    ".cargo/bin": (".cargo/bin", ".cargo/registry", ".cargo/git", ".rustup"),
    ".local/bin": (".local/bin", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv"),
    "bin": ("bin",),
}
PROGRAMS = frozenset(("bin", "sbin", "shims", ".bin"))


class View(Struct, frozen=True):
    """What can be written and what can be read, all by real paths. The rest is not there."""

    cwd: str  # Can be written to.
    home: str  # A fresh folder is in its place.
    temporary: str  # Can be written to.
    shown: tuple[str, ...]  # Can be read, besides SYSTEM.
    veiled: tuple[str, ...]  # Inside of what is shown, and not shown.
    root: bool = False  # Whether the agent is root's, whom the system would show more than others.

    def access(self, path: str) -> Access:
        """Return what may be done with a path without links: the innermost folder that is named here decides."""
        said: dict[str, Access] = {"/": "hidden", self.home: "hidden"}
        said |= dict.fromkeys((*map(os.path.realpath, SYSTEM), *self.shown), "read")
        said |= dict.fromkeys(self.veiled, "hidden")
        said |= dict.fromkeys((self.cwd, self.temporary), "write")
        while path not in said:
            path = os.path.dirname(path)
        return said[path]


def view(
    cwd: str,
    temporary: str,
    home: str,
    own: str,
    environ: Mapping[str, str],
    ours: Iterable[str],
    flag: str = "--sandbox",
) -> View:
    """Return the view of commands in this working folder.

    `own` is linnet's home folder, which nobody sees; `ours` are folders that linnet's own programs need. All but `ours`
    are real paths. Raises ConfigError for a working or temporary folder that would give away what the sandbox is there
    to protect: what can be written to is mounted over all else.
    """
    kept = [home, own, *SYSTEM, "/dev", "/proc", "/run", "/sys", "/var", "/tmp"]
    for kind, folder, others in (("working", cwd, [*kept, temporary]), ("temporary", temporary, [*kept, cwd])):
        for each in others:
            if within(os.path.realpath(each), folder):
                raise ConfigError(f"{flag} needs a {kind} folder that does not hold {each}; {folder} does")
    for system in ("/dev", "/proc", "/sys"):
        if within(cwd, system):
            raise ConfigError(f"{flag} needs a working folder that is not in {system}")
    found: list[str] = []
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        if os.path.isabs(folder):
            found += installation(os.path.realpath(folder), home)
    found += map(os.path.realpath, ours)
    shown = tuple(path for path in dict.fromkeys(found) if _may_be_shown(path, cwd, home, own, temporary))
    veiled = [path for path in (own,) if any(within(path, each) for each in (*SYSTEM, *shown))]
    root = os.geteuid() == 0
    if root:
        veiled += [path for path in unshared("/etc") if not (within(path, cwd) or within(path, temporary))]
    return View(cwd, home, temporary, shown, tuple(veiled), root)


def unshared(folder: str) -> list[str]:
    """Return files and folders in there that not everybody may read, such as passwords.

    Commands of root's agent could: they are root's.
    """
    found: list[str] = []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode) and mode & 0o005:
                found += unshared(entry.path)
            elif stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and not mode & 0o004):
                found.append(entry.path)
    return found


def installation(folder: str, home: str) -> list[str]:
    """Return the folders that programs in a folder of the PATH need to run: most often the folder above."""
    parent, name = os.path.split(folder)
    if within(folder, home):
        inside = os.path.relpath(folder, home)
        if inside in TOOLCHAINS:
            return [os.path.join(home, each) for each in TOOLCHAINS[inside]]
        if inside.split(os.sep)[0] in PRIVATE:
            return []
    far_enough = parent.count("/") > 1 and not within(home, parent)
    return [parent if name in PROGRAMS and far_enough else folder]


def ours() -> tuple[str, ...]:
    """Return the folders of the interpreter that runs linnet, and of linnet itself: searches are run with them."""
    return (sys.prefix, sys.base_prefix, PACKAGE)


def _may_be_shown(path: str, cwd: str, home: str, own: str, temporary: str) -> bool:
    """Return whether a folder with programs may, and need, be shown.

    What is in the system or in a folder that can be written to is seen already. What holds such a folder or the home
    would show more than programs.
    """
    if not os.path.exists(path) or any(within(path, each) for each in (cwd, temporary, *SYSTEM)):
        return False
    return not any(within(kept, path) for kept in (cwd, home, temporary)) and not within(path, own)
