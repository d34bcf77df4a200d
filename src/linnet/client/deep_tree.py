"""Reads a session's tree that is nested more deeply than a decoder goes: one level for each entry. Pure."""

import re
from json import JSONDecoder
from typing import Any

from msgspec import DecodeError
from msgspec.structs import replace

from linnet.decoding import converted, decoder_of
from linnet.wire.pi.reading.results import Tree, TreeBranch
from linnet.wire.shallow import known, members

_spaces = re.compile(r"[ \t\n\r]*+")
_value = JSONDecoder().raw_decode
_tree = decoder_of(Tree)


def tree(data: bytes) -> Tree:
    """Return the tree that an answer has, however deep. Raises DecodeError, ValueError."""
    try:
        return _tree.decode(data or b"{}")
    except RecursionError:
        found = members(data)
        if "tree" not in found:
            raise DecodeError("no tree in it") from None
        text = found.pop("tree").decode()
        return replace(converted(known(found), Tree), tree=_branches(text))


def _branches(text: str) -> list[TreeBranch]:
    """Return the branches that a list has. Those that are open are on a list of our own, so nothing recurses."""
    roots: list[TreeBranch] = []
    begun: list[tuple[dict[str, Any], list[TreeBranch]]] = []  # The other members and the children of each.
    in_list, at = True, _past(text, 0, "[")
    while True:
        sign = text[at : at + 1]
        if sign == ",":
            at = _past(text, at, ",")
        elif in_list and sign == "{":
            begun.append(({}, []))
            in_list, at = False, _past(text, at, "{")
        elif in_list and sign == "]":
            if not begun:
                return roots
            in_list, at = False, _past(text, at, "]")
        elif not in_list and sign == "}":
            others, children = begun.pop()
            branch = replace(converted(others, TreeBranch), children=children)
            (begun[-1][1] if begun else roots).append(branch)
            in_list, at = True, _past(text, at, "}")
        elif not in_list:
            name, at = _value(text, at)
            at = _past(text, _past(text, at), ":")
            if name == "children":
                in_list, at = True, _past(text, at, "[")
            else:
                begun[-1][0][name], at = _value(text, at)
                at = _past(text, at)
        else:
            raise DecodeError(f"no tree at character {at}")


def _past(text: str, at: int, sign: str = "") -> int:
    """Return where what follows a sign and white space begins. Raises DecodeError if there is another sign."""
    if not text.startswith(sign, at):
        raise DecodeError(f"no {sign} at character {at}")
    found = _spaces.match(text, at + len(sign))
    return found.end() if found else at
