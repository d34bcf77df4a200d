"""Writes changes to a file as coloured lines, from either of two formats: unified hunks, and pi's numbered lines."""

import re

from linnet.export.html.escape import escape

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_UNIFIED = re.compile(r"(?:diff |index |Index: |=== |--- [^\n]*\n\+\+\+ |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)")
_NUMBERED = re.compile(r"([-+ ]) {0,8}(\d{1,9}) (.*)")
_SKIPPED = re.compile(r" {2,}\.\.\.")
_KINDS = {"+": "add", "-": "del", " ": "same"}
_SIGNS = {kind: sign for sign, kind in _KINDS.items()}
_HEADERS = ("diff ", "index ", "--- ", "+++ ", "new file ", "deleted file ", "similarity ", "rename ", "Index: ", "===")


def is_unified(text: str) -> bool:
    """Return whether a text is a unified diff."""
    return bool(_UNIFIED.match(text)) and _HUNK.search(text) is not None


def lines(diff: str) -> list[str]:
    """Return an element for each line of a diff. Its number is that in the new file, or the old if it was removed."""
    rows = diff.removesuffix("\n").split("\n")
    if not is_unified(diff) and all(_NUMBERED.fullmatch(row) or _SKIPPED.fullmatch(row) or not row for row in rows):
        return [_numbered(row) for row in rows]
    return _unified(rows)


def replaced(old: str, new: str) -> list[str]:
    """Return elements for all of `old` as removed and all of `new` as added: for a change that was asked for only."""
    gone, come = (text.removesuffix("\n").split("\n") if text else [] for text in (old, new))
    return [*(_line("del", "", row) for row in gone), *(_line("add", "", row) for row in come)]


def _numbered(row: str) -> str:
    found = _NUMBERED.fullmatch(row)
    return _line(_KINDS[found[1]], found[2], found[3]) if found else _line("hunk", "", row.strip())


def _unified(rows: list[str]) -> list[str]:
    out: list[str] = []
    old = new = 0  # The number of the next line in either file.
    old_left = new_left = 0  # So many lines of the hunk are to come.
    for row in rows:
        sign, rest = row[:1], row[1:]
        inside = old_left > 0 or new_left > 0
        if not inside and (found := _HUNK.match(row)):
            old, new = int(found[1]), int(found[3])
            old_left, new_left = int(found[2] or 1), int(found[4] or 1)
            out.append(_line("hunk", "", row))
        elif not inside and row.startswith(_HEADERS):
            out.append(_line("head", "", row))
        elif sign == "\\":
            out.append(_line("hunk", "", row))
        elif sign == "-":
            out.append(_line("del", str(old) if inside else "", rest))
            old, old_left = old + 1, old_left - 1
        elif sign == "+":
            out.append(_line("add", str(new) if inside else "", rest))
            new, new_left = new + 1, new_left - 1
        elif not inside:
            out.append(_line("plain", "", row))
        else:
            out.append(_line("same", str(new), rest))
            old, old_left = old + 1, old_left - 1
            new, new_left = new + 1, new_left - 1
    return out


def _line(kind: str, number: str, text: str) -> str:
    # The sign is text and the number is not: whoever copies the lines wants the one without the other.
    told = f' data-l="{number}"' if number else ""
    words = f"<i>{_SIGNS[kind]}</i>{escape(text)}" if kind in _SIGNS else escape(text) or " "
    return f'<span class="l {kind}"{told}>{words}</span>'
