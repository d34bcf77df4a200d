"""The globs of paths that rules have, matched against absolute paths.

`*` and `?` stay within a name, `**` does not, `{a,b}` is one or the other, and a folder's name means all that is in it.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

_WILD = re.compile(r"[*?{\[]")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_BRACKETS = re.compile(r"\[([!^]?)([^\]/]+)\]")
MOST = 64  # Braces may stand for so many patterns.


class Glob(Struct, frozen=True):
    """A glob below a folder."""

    folder: str
    """An absolute path, in which nothing is special."""
    rest: str = ""
    """The glob below it. Empty for the folder and all that is in it."""
    strict: bool = False
    """Brackets are part of a name, and what is in a folder is meant only if the glob says so. Otherwise brackets may
    also be a choice, and what is in a folder that fits is meant, too.
    """

    def fits(self, path: str) -> bool:
        """Return whether an absolute path fits."""
        below = self.folder.rstrip("/") + "/"
        if not self.rest:
            return path == self.folder or path.startswith(below)
        if not path.startswith(below):
            return False
        inner = path[len(below) :]
        return any(regex.fullmatch(inner) for regex in _compiled(self.rest, self.strict))


def anchored(pattern: str, cwd: str, home: str, *, strict: bool) -> Glob:
    """Return the glob that a pattern means in this working folder, with `~`, `.` and `..` resolved."""
    if pattern == "~" or pattern.startswith("~/"):
        folder, pattern = home, pattern[1:]
    else:
        folder = "/" if pattern.startswith("/") else cwd
    known = [part for part in folder.split("/") if part]
    wild: list[str] = []
    for part in pattern.split("/"):
        parts = wild or known
        if part == "..":
            del parts[-1:]
        elif wild or _WILD.search(part):
            wild.append(part)
        elif part not in ("", "."):
            known.append(part)
    return Glob("/" + "/".join(known), "/".join(wild), strict)


def anywhere(pattern: str, cwd: str) -> Glob | None:
    """Return the glob for a name without a slash wherever it lies in the working folder; None if it is no such name."""
    if "/" in pattern or pattern.startswith("~") or pattern in (".", ".."):
        return None
    return Glob(cwd, f"**/{pattern}")


def alternatives(glob: str) -> list[str]:
    """Return what braces with a comma in them stand for. Raises ValueError if that is too much."""
    return list(_alternatives(glob, [MOST]))


def _alternatives(glob: str, left: list[int]) -> Iterator[str]:
    braces = _BRACES.search(glob)
    if braces is None:
        left[0] -= 1
        if left[0] < 0:
            raise ValueError(f"its braces stand for more than {MOST} patterns")
        yield glob
        return
    for choice in braces[1].split(","):
        yield from _alternatives(glob[: braces.start()] + choice + glob[braces.end() :], left)


@lru_cache(256)
def _compiled(glob: str, strict: bool) -> tuple[re.Pattern[str], ...]:
    readings = (False,) if strict or "[" not in glob else (False, True)
    texts = [_regex(each, strict, brackets=brackets) for each in alternatives(glob) for brackets in readings]
    return tuple(re.compile(text, re.DOTALL) for text in texts)


def _regex(glob: str, strict: bool, *, brackets: bool) -> str:
    out = ""
    at = 0
    while at < len(glob):
        choice = _BRACKETS.match(glob, at) if brackets else None
        if glob.startswith("**/", at):
            out, at = out + "(?:.*/)?", at + 3
        elif glob.startswith("**", at):
            out, at = out + ".*", at + 2
        elif glob[at] == "*":
            out, at = out + "[^/]*", at + 1
        elif glob[at] == "?":
            out, at = out + "[^/]", at + 1
        elif choice is not None:
            out, at = out + _choice(choice[1], choice[2]), choice.end()
        else:
            out, at = out + re.escape(glob[at]), at + 1
    inside = "" if strict and glob.endswith(("*", "?")) else "(?:/.*)?"
    return out.rstrip("/") + inside


def _choice(negated: str, body: str) -> str:
    """Return the regex for a choice of characters in brackets. A range that runs backwards is taken for any character:
    this is about what to forbid.
    """
    signs = re.sub(r"([^A-Za-z0-9-])", r"\\\1", body)
    text = f"[{'^' if negated else ''}{signs}]"
    try:
        re.compile(text)
    except re.error:
        return "[^/]"
    return text
