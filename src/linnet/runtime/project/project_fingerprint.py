"""What a project brings that can run code or speak to the model: found, listed, and fingerprinted.

Nothing of it is used here. What is read is read to be fingerprinted, and never waited for.
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
    """A fingerprint: of each file under what is guarded, by its path. `whole`: it has all of them; otherwise there are
    too many to vouch for.
    """

    files: Mapping[str, str]
    whole: bool = True

    def changes(self, before: Mapping[str, str]) -> tuple[str, ...]:
        """Return the paths that are new, gone or different."""
        return tuple(sorted(p for p in {*self.files, *before} if self.files.get(p) != before.get(p)))


def brought(folders: Sequence[str]) -> tuple[Brought, ...]:
    """Return what would be used of it, by the names it goes by; empty if nothing would."""
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
    """Links are followed: what counts is what would be read. What is no plain file counts by its kind."""
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
    """Return what stands for the file's content, and its length."""
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
    try:
        from _blake2 import blake2b  # What hashlib would give, without the 3 ms that loading OpenSSL takes.
    except ImportError:
        from hashlib import blake2b
    return blake2b(digest_size=16)


def _walk(folders: Sequence[str]) -> Iterator[str]:
    """Every path that is no folder, in order; a folder that was seen already is not entered again."""
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
    """The paths in it, in order; no more than can be vouched for."""
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
    """Return the path as a fingerprint names it."""
    return os.fsencode(os.path.relpath(path, root)).decode(errors="backslashreplace")


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None
