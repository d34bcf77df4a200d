"""Formats a list of sessions as a table for a terminal."""

from collections.abc import Sequence
from itertools import pairwise
from os.path import commonprefix
from unicodedata import east_asian_width

from linnet.core.session_info import SessionInfo
from linnet.core.text.terminal_text import spelled_out

HEADER = ("LAST USED (UTC)", "ID", "MESSAGES", "COST", "MODEL", "FIRST PROMPT, OR NAME")
WIDEST = 60
WIDEST_MODEL = 32
SHORTEST_ID = 8


def rows(found: Sequence[SessionInfo], *, folders: bool) -> list[str]:
    """Return the lines of the table, with its header; with `folders`, each row says which folder it is of."""
    ids = _short([session.id for session in found])
    table = [HEADER, *(_row(session, id, folders=folders) for session, id in zip(found, ids, strict=True))]
    widths = [max(_width(row[column]) for row in table) for column in range(len(HEADER) - 1)]
    return ["  ".join([*map(_padded, row, widths), row[-1]]).rstrip() for row in table]


def _row(session: SessionInfo, id: str, *, folders: bool) -> tuple[str, ...]:
    said = _cut(_shown(session.name or session.first_message), WIDEST)
    return (
        session.modified[:16].replace("T", " "),
        _shown(id),
        str(session.messages),
        _cost(session),
        _cut(_shown(session.model), WIDEST_MODEL),
        f"{said}  ({_shown(session.cwd)})" if folders else said,
    )


def _cost(session: SessionInfo) -> str:
    """Return what a session has cost, with a question mark for what nobody knows the price of."""
    dollars = f"${session.known_cost:.2f}"
    if session.cost_known:
        return dollars
    return f"{dollars} + ?" if session.known_cost else "?"


def _short(ids: Sequence[str]) -> list[str]:
    """Return as much of each id as tells it from the others, since people will type it. What is no UUID stays whole."""
    ordered = sorted(set(ids))
    needed = dict.fromkeys(ordered, SHORTEST_ID)
    for one, other in pairwise(ordered):
        shared = len(commonprefix([one, other])) + 1  # noqa: RUF071  They are no paths.
        needed[one], needed[other] = max(needed[one], shared), max(needed[other], shared)
    return [id[: needed[id]] if "-" in id else id for id in ids]


def _shown(text: str) -> str:
    """Return a text on one line, with nothing that a terminal would obey: neither codes nor a change of direction."""
    return spelled_out(" ".join(text.split()))


def _width(text: str) -> int:
    """Return the width of a text in columns; some characters take two."""
    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _cut(text: str, widest: int) -> str:
    """Return the beginning of a text, within so many columns."""
    if _width(text) <= widest:
        return text
    while _width(text) >= widest:
        text = text[:-1]
    return text + "…"
