"""Walks a folder and all below it in the order of the paths, leaving out what is ignored."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from linnet.tools.search.ignore import Folder, folders_above, users_own


class WalkedEntry(NamedTuple):
    """Something in the folder that is walked. A link is neither a folder nor a file, wherever it leads."""

    path: bytes  # Starts below that folder.
    is_folder: bool
    is_file: bool


def walk(root: bytes) -> Iterator[WalkedEntry]:
    """Yield what is in a folder and below it: a folder before what is in it, and entries of one folder in the order of
    the bytes of their names.

    Links are not followed, so there are no loops. Folders that cannot be read are empty. `.git` is left out.
    """
    start = os.path.realpath(root)
    everywhere = users_own()
    pending = list(_entries(root, start, b"", folders_above(start)))
    while pending:
        entry, absolute, above = pending.pop()
        ignored = above.ignores(absolute, entry.is_folder)
        if ignored is None:
            ignored = everywhere.ignores(entry.path, entry.is_folder)
        if ignored:
            continue
        yield entry
        if entry.is_folder:
            pending += _entries(os.path.join(root, entry.path), absolute, entry.path + b"/", above)


def _entries(
    folder: bytes, absolute: bytes, prefix: bytes, above: Folder | None
) -> list[tuple[WalkedEntry, bytes, Folder]]:
    """Return what is in one folder, each with its absolute path and the rules for it.

    The last one comes first, to be taken from the end.
    """
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name, reverse=True)
    except OSError:
        return []
    rules = Folder(absolute, above, (entry.name for entry in entries))
    absolute = absolute.rstrip(b"/") + b"/"
    return [
        (
            WalkedEntry(prefix + entry.name, entry.is_dir(follow_symlinks=False), entry.is_file(follow_symlinks=False)),
            absolute + entry.name,
            rules,
        )
        for entry in entries
        if entry.name != b".git"
    ]
