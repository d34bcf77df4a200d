"""Lists and fingerprints the files of a project that can run code or speak to the model, so that a change is noticed.

Nothing of it is used here, and nothing is waited for, whatever kind of file it is.
"""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from linnet.core.events import Brought
from linnet.files.reading import read

if TYPE_CHECKING:
    from hashlib import blake2b

MOST_FILES = 4_000
MOST_BYTES = 32 << 20
DEEPEST = 16
_KINDS = {
    "settings.json": "settings",
    "mcp.json": "mcp",
    "SYSTEM.md": "system_prompt",
    "APPEND_SYSTEM.md": "system_prompt",
    "extensions": "extension",
    "prompts": "template",
    "skills": "skill",
}


class Print(Struct, frozen=True):
    """The fingerprint of all guarded files."""

    files: Mapping[str, str]
    """Digests, by the paths of the files from the project's folder."""
    whole: bool = True
    """All files are in it; otherwise there are too many to vouch for."""

    def changes(self, before: Mapping[str, str]) -> tuple[str, ...]:
        """Return the paths that are new, gone or different."""
        return tuple(sorted(p for p in {*self.files, *before} if self.files.get(p) != before.get(p)))


def brought(folders: Sequence[str]) -> tuple[Brought, ...]:
    """Return what of these folders would be used, with its kind; empty if nothing would."""
    found: list[Brought] = []
    for folder in folders:
        if os.path.basename(folder) == "skills":
            found += [Brought("skill", path) for path in _entries(folder)]
            continue
        for path in _entries(folder):
            kind = _KINDS.get(os.path.basename(path))
            if kind in ("extension", "template", "skill"):
                found += [Brought(kind, each) for each in _entries(path)]
            elif kind is not None:
                found.append(Brought(kind, path))
    return tuple(found)


def fingerprint(root: str, folders: Sequence[str]) -> Print:
    """Return the fingerprint of all files in these folders. Links are followed: what counts is what would be read. What
    is no plain file counts by its kind.
    """
    files: dict[str, str] = {}
    size = 0
    for path in _walk(folders):
        digest, length = digested(path)
        files[relative(path, root)] = digest
        size += length
        if len(files) > MOST_FILES or size > MOST_BYTES:
            return Print(files, whole=False)
    return Print(files)


def digested(path: str) -> tuple[str, int]:
    """Return the digest of a file, and its length: of its content and whether it can be run, or of why it is none."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return f"special: {stat.S_IFMT(status.st_mode):o}", 0
        found = read(path, MOST_BYTES)
    except OSError as error:
        return f"unreadable: {error.errno}", 0
    runs = "x" if found.mode & 0o111 else "-"
    return f"{runs}{digest_of(found.data)}", len(found.data) + found.cut


def digest_of(content: bytes) -> str:
    """Return what `digested` says of a file with this content, without the mark for whether it can be run."""
    hash = _hash()
    hash.update(content)
    return hash.hexdigest()


def _hash() -> "blake2b":
    """Return a new hash."""
    try:
        from _blake2 import blake2b  # What hashlib would give, without the 3 ms that loading OpenSSL takes.
    except ImportError:
        from hashlib import blake2b
    return blake2b(digest_size=16)


def _walk(folders: Sequence[str]) -> Iterator[str]:
    """Yield every path that is no folder, in order. A folder that was seen already, or that is too deep, is not
    entered, and counts as a file.
    """
    seen: set[tuple[int, int]] = set()
    todo = [(folder, 0) for folder in reversed(folders)]
    while todo:
        path, depth = todo.pop()
        status = _stat(path)
        if status is None or not stat.S_ISDIR(status.st_mode):
            yield path
        elif (status.st_dev, status.st_ino) not in seen and depth < DEEPEST:
            seen.add((status.st_dev, status.st_ino))
            todo += [(each, depth + 1) for each in reversed(_entries(path))]
        else:
            yield path


def _entries(folder: str) -> list[str]:
    """Return the paths in a folder, in order, and no more than can be vouched for; none if it cannot be read."""
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                found.append(entry.path)
                if len(found) > MOST_FILES:
                    break
    except OSError:
        return []
    return sorted(found)


def relative(path: str, root: str) -> str:
    """Return the path from the project's folder, as a fingerprint has it: in plain Unicode."""
    return os.fsencode(os.path.relpath(path, root)).decode(errors="backslashreplace")


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
