"""Finds the files of a working folder that the sandbox makes read-only, such as git's hooks. Changes nothing.

What is there is mounted onto itself, read-only. What is not there cannot be: that would leave an empty file on the
host. So a command may make it, and the agent does not load it; `write` and `edit` are refused in either case.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from linnet.core.project.protected import PROTECTED_NAMES
from linnet.processes.lookup import within

Identity: TypeAlias = tuple[int, int]
"""The device and the number of a file, which tell whether another one is in its place."""
# Of a repository: what git runs, and what tells it to look for that elsewhere.
OF_GIT = ("hooks", "config", "config.worktree", "commondir")
MOST_MODULES = 64
MOST_FOLDERS = 1000
LONGEST_POINTER = 4096


def is_protected(path: str, cwd: str) -> bool:
    """Return whether a path in the working folder has a protected name, or is below one. Git's count at any depth."""
    parts = os.path.relpath(path, cwd).split("/")
    if any(parts[: name.count("/") + 1] == name.split("/") for name in PROTECTED_NAMES):
        return True
    return any(
        part == ".git" and (not below or below[0] in (*OF_GIT, "modules"))
        for part, below in ((part, parts[at + 1 :]) for at, part in enumerate(parts))
    )


def present(cwd: str) -> dict[str, Identity]:
    """Return what is there now of what is protected: the identity of each file or folder by its real path.

    A link cannot be mounted on, so where one leads is protected in its place, if that is in the working folder.
    """
    found: dict[str, Identity] = {}
    for path in _candidates(cwd):
        try:
            real = os.path.realpath(path)  # Fails where a link is replaced in the middle of it.
            if real == cwd or not within(real, cwd):
                continue
            status = os.lstat(real)
        except OSError:
            continue
        if not stat.S_ISLNK(status.st_mode):
            found[real] = status.st_dev, status.st_ino
    return found


# Runs in the sandbox before a command, with what every shell can do by itself. Another agent's command may have put a
# link into the place of what was to be mounted on, or mounted; then nothing is run. $1 is the working folder and $2 the
# places in it, as the kernel writes them; each must be mounted from the same place of the same disk.
CHECK = """
held=0 top=none
while read -r id parent device root place rest; do
  if [ "$place" = "$1" ]; then disk=$device top=${root%/}; continue; fi
  case "$2" in *"
$place
"*) [ "$device $root" = "$disk $top${place#"$1"}" ] && held=$((held + 1)); esac
done < /proc/self/mountinfo
if [ $held != "$3" ]; then
  echo "linnet: something else is in the place of a protected file, so this was not run; try again" >&2
  exit 126
fi
shift 3
exec "$@"
"""


def checking(paths: Iterable[str], cwd: str) -> list[str]:
    """Return the words before a command that make it run only if each of these is mounted, and is what it was."""
    disk = os.lstat(cwd).st_dev
    # What has a disk of its own was mounted by somebody else.
    places = [path for path in paths if _on_disk(path, disk)]
    return ["/bin/sh", "-c", CHECK, "sh", _escaped(cwd), "\n".join(["", *map(_escaped, places), ""]), str(len(places))]


def _on_disk(path: str, disk: int) -> bool:
    """Return whether a path is on this disk, or is not there."""
    try:
        return os.lstat(path).st_dev == disk
    except OSError:
        return True


def _escaped(path: str) -> str:
    """Return a path as the kernel spells it in /proc/self/mountinfo."""
    return "".join(f"\\{ord(char):03o}" if char in " \t\n\\" else char for char in path)


def anchors(paths: Iterable[str], cwd: str) -> list[str]:
    """Return the folders between the working folder and these that are not among them, from the top.

    A folder with something mounted in it could be renamed, and another one put in its place, unless something is
    mounted on it, too.
    """
    given = set(paths)
    found: set[str] = set()
    for path in given:
        while (path := os.path.dirname(path)) != cwd:
            found.add(path)
    return sorted(found - given)


def _candidates(cwd: str) -> Iterator[str]:
    """Yield what is protected, whether it is there or not; a repository may be outside of the working folder."""
    for name in PROTECTED_NAMES:
        yield os.path.join(cwd, name)
    git = os.path.join(cwd, ".git")
    if os.path.isfile(git):
        yield git
        git = os.path.join(cwd, _pointer(git, "gitdir:"))
    for folder in (git, os.path.join(git, _pointer(os.path.join(git, "commondir")))):
        yield from (os.path.join(folder, name) for name in OF_GIT)
        modules = os.path.join(folder, "modules")
        inside = _modules(modules)
        if inside is None:
            yield modules
        else:
            yield from (os.path.join(module, name) for module in inside for name in OF_GIT)


def _modules(folder: str) -> list[str] | None:
    """Return the repositories of submodules, and of theirs; None if there are too many to look at."""
    found: list[str] = []
    for looked, (root, folders, files) in enumerate(os.walk(folder)):
        if "HEAD" in files:
            found.append(root)
            folders[:] = [name for name in folders if name == "modules"]
        if len(found) > MOST_MODULES or looked > MOST_FOLDERS:
            return None
    return found


def _pointer(path: str, word: str = "") -> str:
    """Return the folder that a file names after this word; nothing if it is no such file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        text = os.fsdecode(os.read(fd, LONGEST_POINTER)) if stat.S_ISREG(os.fstat(fd).st_mode) else ""
        return text.removeprefix(word).strip() if text.startswith(word) and "\0" not in text else ""
    except OSError:
        return ""
    finally:
        os.close(fd)
