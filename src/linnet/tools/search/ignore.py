"""Decides which files are ignored, by the rules that ripgrep has for that.

They are in the files `.rgignore`, `.ignore` and `.gitignore` of a folder and of all folders above it, in
`.git/info/exclude`, and in the excludes file of the user's git configuration, and count in this order; within one file
the last line that matches counts. Those of git hold up to the root of their repository.
"""

import os
import re
from collections.abc import Iterable, Iterator

from linnet.files.reading import read
from linnet.tools.search.globs import BadGlob, regex_of

MOST = 16 << 20  # Bytes of one such file.
# Rules of the first two hold whether or not there is a repository.
NAMES = (b".rgignore", b".ignore", b".gitignore")
_EXCLUDES_FILE = re.compile(rb"^\s*excludesfile\s*=\s*(.+?)\s*$", re.IGNORECASE | re.MULTILINE)


class Rules:
    """The rules in the lines of one ignore file. False if there are none."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._rules: list[tuple[re.Pattern[bytes], bool, bool]] = []
        sources: list[str] = []
        for line in lines:
            rule = _rule(line)
            if rule is None:
                continue
            source, is_exception, only_folders = rule
            try:
                self._rules.insert(0, (re.compile(source.encode("latin-1")), is_exception, only_folders))
            except re.error:
                continue
            sources.append(source)
        # Most paths match no rule, and one look tells.
        self._any = re.compile("|".join(sources).encode("latin-1")) if sources else None

    def __bool__(self) -> bool:
        return self._any is not None

    def ignores(self, path: bytes, is_folder: bool) -> bool | None:
        """Return whether a path, which starts where the file is, is ignored; None if no line says anything about it."""
        if self._any is None or not self._any.match(path):
            return None
        for regex, is_exception, only_folders in self._rules:
            if (is_folder or not only_folders) and regex.match(path):
                return not is_exception
        return None


def _rule(line: str) -> tuple[str, bool, bool] | None:
    """Return a line as a regular expression, whether it takes back what others say, and whether it is about folders
    only; None for a line that is no rule.
    """
    if line.startswith("#"):
        return None
    if not line.endswith("\\ "):
        line = line.rstrip()
    if not line:
        return None
    is_exception = is_rooted = False
    if line.startswith(("\\!", "\\#")):
        line = line[1:]
    else:
        if line.startswith("!"):
            is_exception, line = True, line[1:]
        if line.startswith("/"):
            is_rooted, line = True, line[1:]
    only_folders = line.endswith("/")
    line = line.removesuffix("/")
    if not is_rooted and "/" not in line and line != "**":
        line = f"**/{line}"
    if line.endswith("/**"):
        line += "/*"  # What is in the folder, and not the folder itself.
    try:
        return regex_of(line), is_exception, only_folders
    except BadGlob:
        return None  # Such a line is not a reason to find nothing.


class Folder:
    """What the ignore files of a folder, whose path is absolute, and of those above it say about the paths below it."""

    def __init__(self, path: bytes, above: "Folder | None", names: Iterable[bytes]) -> None:
        present = set(names)
        self._start = len(path.rstrip(b"/")) + 1
        self._is_repository = b".git" in present
        self._own = [_read(os.path.join(path, name)) if name in present else None for name in NAMES]
        self._own.append(_read(_exclude_file(path)) if self._is_repository else None)
        says_nothing = not self._is_repository and not any(self._own)
        # Folders that have nothing to say are left out of the chain, so that it is short for all that is below them.
        self._nearest: Folder | None = above._nearest if says_nothing and above else self
        self._above = above._nearest if above else None

    def ignores(self, path: bytes, is_folder: bool) -> bool | None:
        """Return whether an absolute path below the folder is ignored; None if nothing is said about it."""
        verdicts: list[bool | None] = [None] * 4
        folder = self._nearest
        kinds = 4
        while folder:
            below = path[folder._start :]
            for kind in range(kinds):
                rules = folder._own[kind]
                if rules is not None and verdicts[kind] is None:
                    verdicts[kind] = rules.ignores(below, is_folder)
            if folder._is_repository:
                kinds = 2
            folder = folder._above
        return next((verdict for verdict in verdicts if verdict is not None), None)


def folders_above(path: bytes) -> Folder | None:
    """Return the folder above an absolute path, with all that are above it; None for the root."""
    parent = os.path.dirname(path)
    if parent == path:
        return None
    names = [name for name in (*NAMES, b".git") if os.path.exists(os.path.join(parent, name))]
    return Folder(parent, folders_above(parent), names)


def users_own() -> Rules:
    """Return the rules of the excludes file that the user's git configuration names, or of the default one."""
    home = os.path.expanduser(b"~")
    config = os.environb.get(b"XDG_CONFIG_HOME") or os.path.join(home, b".config")
    for file in (os.path.join(home, b".gitconfig"), os.path.join(config, b"git", b"config")):
        found = _EXCLUDES_FILE.search(_bytes(file))
        if found:
            path = found[1]
            return _read(home + path[1:] if path.startswith(b"~") else path)
    return _read(os.path.join(config, b"git", b"ignore"))


def _read(path: bytes) -> Rules:
    """Return the rules of a file; none if it cannot be read."""
    return Rules(_lines(_bytes(path)))


def _lines(data: bytes) -> Iterator[str]:
    """Yield the lines up to the first that is not UTF-8."""
    for line in data.split(b"\n"):
        try:
            yield line.removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            return


def _bytes(path: bytes) -> bytes:
    """Return what is in a file; nothing if it cannot be read."""
    try:
        return read(os.fsdecode(path), MOST).data
    except OSError:
        return b""


def _exclude_file(folder: bytes) -> bytes:
    """Return the path of `info/exclude` of the repository whose work tree is this folder."""
    git = os.path.join(folder, b".git")
    if os.path.isfile(git):  # A work tree, whose repository is elsewhere.
        git = _bytes(git).split(b"\n")[0].removeprefix(b"gitdir: ").strip()
        git = os.path.join(git, _bytes(os.path.join(git, b"commondir")).split(b"\n")[0].strip())
    return os.path.join(git, b"info", b"exclude")
