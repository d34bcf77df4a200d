"""Entry points of installed packages. `importlib.metadata` says the same, fifty milliseconds later."""

import os
import sys
from functools import cache

EXTENSIONS = "linnet.extensions"  # The group of entry points.


@cache
def entry_points(group: str) -> tuple[str, ...]:
    """The texts of all files of entry points on the path that name this group, looked up once in the life of the
    process.
    """
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
    """Empty if there is none that can be read."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeError):
        return ""
