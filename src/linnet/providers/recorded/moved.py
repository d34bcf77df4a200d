"""Maps the folders of a recorded run to those of the run that plays it, in all texts of the recording. Pure."""

import json
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct

from linnet.core.deltas import Delta
from linnet.providers.recorded.pieces import Change, changed, retold

T = TypeVar("T", bound=Struct)
_AFTER = r"(?![\w\-]|\.\w)"
_RUN_UP = re.compile(r"(?:\\[nrt]|-[A-Z])?([\w.\-/]*)$")  # Before it, an escape of JSON or a compiler's flag may stand.
_LONGEST = 300  # Characters of a path that are looked at.


class Moved:
    """Folders that are elsewhere by now."""

    def __init__(self, *folders: tuple[str, str]) -> None:
        """`folders` are pairs: where a folder was, and where it is."""
        elsewhere = [pair for pair in folders if pair[0] != pair[1] and len(pair[0]) > 1]  # Every path has the root.
        self._plain = _Forms(elsewhere, (str, _escaped, _ascii))
        self._in_json = _Forms(elsewhere, (_escaped, _ascii))
        self._nowhere = not elsewhere

    def text(self, text: str) -> str:
        """Return a text with the folders as they are now."""
        return self._plain.sub(text)

    def struct(self, said: T) -> T:
        """Return the same, with the folders as they are now in all of its texts."""
        return said if self._nowhere else retold(said, self.text)

    def reply(self, batches: Sequence[list[Delta]]) -> Sequence[list[Delta]]:
        """Return the batches of a reply, with the folders as they are now."""
        return batches if self._nowhere else changed(batches, self._changes)

    def _changes(self, text: str, in_json: bool) -> list[Change]:
        return (self._in_json if in_json else self._plain).changes(text)


class _Forms:
    """Folders that are elsewhere, in each of some spellings; of two spellings that are the same, the first counts."""

    def __init__(self, folders: Sequence[tuple[str, str]], spellings: Sequence[Callable[[str], str]]) -> None:
        self._forms: dict[str, str] = {}
        for was, now in folders:
            for spelled in spellings:
                self._forms.setdefault(spelled(was), spelled(now))
        either = "|".join(map(re.escape, sorted(self._forms, key=len, reverse=True)))
        self._pattern = re.compile(f"(?:{either}){_AFTER}") if either else None

    def sub(self, text: str) -> str:
        """Return a text with the folders as they are now."""
        out, at = [], 0
        for change in self.changes(text):
            out += [text[at : change.start], change.text]
            at = change.end
        return "".join([*out, text[at:]])

    def changes(self, text: str) -> list[Change]:
        """Return what has to change in a text."""
        found = self._pattern.finditer(text) if self._pattern else ()
        changes = (Change(each.start(), each.end(), self._forms[each[0]]) for each in found)
        return [change for change in changes if _begins(text, change.start, text[change.start : change.end])]


def _begins(text: str, start: int, folder: str) -> bool:
    """Return whether a path begins here, and does not go on. A word may stand right before a folder that is known by
    more than one name.
    """
    found = _RUN_UP.search(text[max(0, start - _LONGEST) : start])
    before = found[1].strip("/") if found else ""
    if not before:
        return True
    return folder.count("/") > 1 and found is not None and "/" not in found[1] and not before.endswith(".")


def _escaped(path: str) -> str:
    return json.dumps(path, ensure_ascii=False)[1:-1]


def _ascii(path: str) -> str:
    return json.dumps(path)[1:-1]
