"""Entries as the tree that a page shows: only what is to be seen, numbered so that every branch reads top to bottom."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from urllib.parse import quote

from msgspec import Struct

from linnet.core.messages import AssistantMessage, Note, ToolResult
from linnet.store.entries import Entry, Labelled, Moved, Ran, Said, Spent


class Node(Struct):
    """`index` is its number on the page, and so are those of others here; `place` is where it is in the file.

    `children` are in the order of the file, and `rank` counts the siblings before it. `newest` is the end of the branch
    below it that was written last. `depth` counts the side branches it is on. A tool's result has an `owner`, the reply
    that asked for it, unless that is not among its ancestors.
    """

    entry: Entry
    anchor: str
    place: int
    index: int
    parent: int | None
    children: list[int]
    newest: int
    depth: int
    rank: int = 0
    owner: int | None = None
    current: bool = False


class Tree:
    """Invariant: a parent's index is smaller than its children's. So in the order of the indices, what remains of the
    page when all but one branch is hidden is that branch from its root to its end.
    """

    def __init__(self, entries: Sequence[Entry], leaf: str | None) -> None:
        shown = [is_shown(entry) for entry in entries]
        order = _downwards(_parents(entries))
        parents = _seen(order, shown)
        children: dict[int | None, list[int]] = defaultdict(list)
        for place in sorted(parents):
            children[parents[place]].append(place)
        newest = _newest([place for place, _ in order if shown[place]], parents)
        end = _end(entries, leaf, order, shown)
        if end is None and children[None]:
            end = max(newest[root] for root in children[None])
        path: set[int] = set()
        while end is not None:
            path.add(end)
            end = parents[end]
        self.nodes = _nodes(entries, parents, children, newest, path)
        self.roots = [node.index for node in sorted(self.nodes, key=_place) if node.parent is None]
        for siblings in (self.roots, *(node.children for node in self.nodes)):
            for rank, index in enumerate(siblings):
                self.nodes[index].rank = rank
        self.end = max((node.index for node in self.nodes if node.current), default=None)

    def siblings(self, node: Node) -> list[int]:
        """Return the indices of its siblings and of itself."""
        return self.roots if node.parent is None else self.nodes[node.parent].children


def is_shown(entry: Entry) -> bool:
    """Marks and bookmarks are no part of what was said, and some notes are for the model alone."""
    match entry.content:
        case Labelled() | Moved() | Ran() | Spent() | Said(Note(display=False)):
            return False
        case _:
            return True


def _place(node: Node) -> int:
    return node.place


def _parents(entries: Sequence[Entry]) -> list[int | None]:
    """Return the place of each entry's parent in the file; None for a root. A circle is cut at its first entry."""
    last = {entry.id: place for place, entry in enumerate(entries)}
    before: dict[str, int] = {}
    parents: list[int | None] = []
    for place, entry in enumerate(entries):
        # Of several with the same id it is the nearest one before it that was meant.
        parents.append(None if entry.parent is None else before.get(entry.parent, last.get(entry.parent)))
        before[entry.id] = place
    done: set[int] = set()
    for place in range(len(entries)):
        walk: list[int] = []
        here: set[int] = set()
        step: int | None = place
        while step is not None and step not in done and step not in here:
            walk.append(step)
            here.add(step)
            step = parents[step]
        if step in here:
            parents[min(walk[walk.index(step) :])] = None
        done |= here
    return parents


def _downwards(parents: Sequence[int | None]) -> list[tuple[int, int | None]]:
    """Return every place with its parent, parents first."""
    children: dict[int | None, list[int]] = defaultdict(list)
    for place, parent in enumerate(parents):
        children[parent].append(place)
    order: list[tuple[int, int | None]] = []
    todo: list[int | None] = [None]
    while todo:
        parent = todo.pop()
        for place in children[parent]:
            order.append((place, parent))
            todo.append(place)
    return order


def _seen(order: Iterable[tuple[int, int | None]], shown: Sequence[bool]) -> dict[int, int | None]:
    """Return the nearest shown ancestor of every place that is shown."""
    nearest: dict[int | None, int | None] = {None: None}
    for place, parent in order:
        nearest[place] = place if shown[place] else nearest[parent]
    return {place: nearest[parent] for place, parent in order if shown[place]}


def _newest(order: Sequence[int], parents: dict[int, int | None]) -> dict[int, int]:
    newest: dict[int, int] = {}
    for place in reversed(order):
        newest.setdefault(place, place)
        parent = parents[place]
        if parent is not None:
            newest[parent] = max(newest.get(parent, 0), newest[place])
    return newest


def _end(
    entries: Sequence[Entry], leaf: str | None, order: Iterable[tuple[int, int | None]], shown: Sequence[bool]
) -> int | None:
    """Return the place of the leaf, or of its nearest ancestor that is shown."""
    wanted = next((place for place in range(len(entries) - 1, -1, -1) if entries[place].id == leaf), None)
    parents = dict(order)
    while wanted is not None and not shown[wanted]:
        wanted = parents[wanted]
    return wanted


def _nodes(
    entries: Sequence[Entry],
    parents: dict[int, int | None],
    children: dict[int | None, list[int]],
    newest: dict[int, int],
    path: set[int],
) -> list[Node]:
    nodes: list[Node] = []
    numbers: dict[int, int] = {}
    anchors: dict[str, int] = {}
    asked: dict[str, list[int]] = defaultdict(list)  # Who asked for what, on the way to where we are.
    roots = _side_branches_first(children[None], newest, path)
    todo = [(place, int(place != roots[-1])) for place in reversed(roots)]
    while todo:
        place, depth = todo.pop()
        if place < 0:  # The branch of this one is done.
            for call in _calls(entries[~place]):
                asked[call].pop()
            continue
        entry, parent = entries[place], parents[place]
        index = numbers[place] = len(nodes)
        above = None if parent is None else numbers[parent]
        anchor = _anchor(entry.id, anchors)
        owner = None
        if isinstance(entry.content, Said) and isinstance(entry.content.message, ToolResult):
            owner = next(reversed(asked[entry.content.message.call_id]), None)
        nodes.append(Node(entry, anchor, place, index, above, [], newest[place], depth, 0, owner, place in path))
        calls = _calls(entry)
        for call in calls:
            asked[call].append(index)
        if calls:
            todo.append((~place, 0))
        below = _side_branches_first(children[place], newest, path)
        todo += [(child, depth + (child != below[-1])) for child in reversed(below)]
    for node in sorted(nodes, key=_place):
        node.newest = numbers[node.newest]
        if node.parent is not None:
            nodes[node.parent].children.append(node.index)
    return nodes


def _side_branches_first(places: list[int], newest: dict[int, int], path: set[int]) -> list[int]:
    """Return the places with the main branch last: the current one, else the newest."""
    if len(places) < 2:
        return places
    main = max(places, key=lambda place: (place in path, newest[place]))
    return [*(place for place in places if place != main), main]


def _calls(entry: Entry) -> list[str]:
    if isinstance(entry.content, Said) and isinstance(entry.content.message, AssistantMessage):
        return [call.id for call in entry.content.message.calls]
    return []


def _anchor(id: str, taken: dict[str, int]) -> str:
    """Return an id for an element, quoted as by JavaScript's encodeURIComponent, so that it is a fragment too."""
    first = anchor = "e-" + quote(id.encode("utf-8", "replace"), safe="!*'()")
    while anchor in taken:
        taken[first] += 1
        anchor = f"{first}~{taken[first]}"
    taken[anchor] = 1
    return anchor
