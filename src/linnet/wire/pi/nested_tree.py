"""Spells the entries of a session as pi's nested tree, one level of nesting for each entry of a branch."""

from msgspec import Raw
from msgspec.json import encode

from linnet.core.answers import EntryTree


def nested(tree: EntryTree) -> Raw:
    """Return the object. A long branch nests deeper than a recursive encoder can go: the text is put together here."""
    children: list[list[int]] = [[] for _ in tree.entries]
    roots: list[int] = []
    for index, entry in enumerate(tree.entries):
        (roots if entry.parent is None else children[entry.parent]).append(index)
    pieces = [b'{"tree":[']
    todo: list[tuple[int, bool]] = [(index, at == 0) for at, index in reversed([*enumerate(roots)])]
    while todo:
        index, first = todo.pop()
        if index < 0:  # All that follows this one was told.
            pieces.append(_end(tree, ~index))
            continue
        pieces += (b'{"entry":' if first else b',{"entry":', tree.entries[index].line, b',"children":[')
        todo.append((~index, False))
        todo += [(child, at == 0) for at, child in reversed([*enumerate(children[index])])]
    pieces += (b'],"leafId":', encode(tree.leaf), b"}")
    return Raw(b"".join(pieces))


def _end(tree: EntryTree, index: int) -> bytes:
    entry = tree.entries[index]
    if not entry.label:
        return b"]}"
    return b'],"label":' + encode(entry.label) + b',"labelTimestamp":' + encode(entry.label_time) + b"}"
