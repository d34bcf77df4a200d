"""Finds the entry points of installed packages. `importlib.metadata` would take fifty milliseconds to be imported."""

import os
import sys
from functools import cache

EXTENSIONS = "linnet.extensions"  # The group of entry points.


@cache
def entry_points(group: str) -> tuple[str, ...]:
    """Return the texts of all `entry_points.txt` on the path that mention this group. Looked up once in a process."""
    found: list[str] = []
    for folder in sys.path:
        try:
            names = sorted(os.listdir(folder or "."))
        except OSError:
            continue
        infos = (name for name in names if name.endswith((".dist-info", ".egg-info")))
        texts = (_text(os.path.join(folder, name, "entry_points.txt")) for name in infos)
        found += [text for text in texts if group in text]
    return tuple(found)


def _text(path: str) -> str:
    """Return the content of the file; empty if it cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeError):
        return ""
