"""The tree that a page shows: only entries that are to be seen, numbered so that every branch reads top to bottom."""

from collections import defaultdict
from collections.abc import Sequence
from urllib.parse import quote

from msgspec import Struct

from linnet.export.sketch import Sketch, is_shown, sketch
from linnet.store.entries import Entry

__all__ = ["PageNode", "PageTree", "is_shown"]
_NONE = -1  # In a list of places: there is no such place.


class PageNode(Struct, gc=False):
    """An entry on the page. Other nodes are named by their `index`."""

    entries: Sequence[Entry]
    sketch: Sketch
    anchor: str  # Escaped for HTML.
    place: int  # Where the entry is in the file.
    index: int  # Its number on the page.
    parent: int | None
    newest: int  # The end of the branch below it that was written last.
    depth: int  # So many side branches it is on.
    children: tuple[int, ...] = ()  # In the order of the file.
    rank: int = 0  # So many siblings are before it.
    owner: int | None = None  # For a tool's result, the reply that asked for it, if that is among its ancestors.
    current: bool = False  # It is on the branch that the conversation is on.

    @property
    def entry(self) -> Entry:
        """Return the whole entry. It may have to be read again."""
        return self.entries[self.place]


class PageTree:
    """All nodes of a page.

    Invariant: a parent's index is smaller than its children's. So in the order of the indices, what remains of the page
    when all but one branch is hidden is that branch from its root to its end.
    """

    def __init__(self, entries: Sequence[Entry], leaf: str | None, sketches: Sequence[Sketch] | None = None) -> None:
        """`sketches`, if the caller has them, are those of all entries."""
        sketches = [sketch(entry) for entry in entries] if sketches is None else sketches
        parents = _parents(sketches)
        order = _downwards(parents)
        end = _end(sketches, leaf, parents)
        above = _seen(order, sketches, parents)
        del parents
        order = [place for place in order if sketches[place].shown]
        below = _Below(above, sketches)
        newest = _newest(order, above)
        if end == _NONE and order:
            end = max(newest[root] for root in below.roots)
        path = bytearray(len(above))  # 1 for the places on the branch we are on.
        while end != _NONE:
            path[end] = 1
            end = above[end]
        self.nodes, numbers = _nodes(entries, sketches, above, below, newest, path)
        self.roots = tuple([numbers[place] for place in below.roots])
        for node in self.nodes:
            node.newest = numbers[node.newest]
            if children := below.of(node.place):
                node.children = tuple([numbers[place] for place in children])
        for siblings in (self.roots, *(node.children for node in self.nodes if len(node.children) > 1)):
            for rank, index in enumerate(siblings):
                self.nodes[index].rank = rank
        self.end = max((node.index for node in self.nodes if node.current), default=None)

    def siblings(self, node: PageNode) -> tuple[int, ...]:
        """Return the indices of a node's siblings and of itself."""
        return self.roots if node.parent is None else self.nodes[node.parent].children


class _Below:
    """The places that follow each place, in the order of the file. Most are followed by one, which needs no list."""

    def __init__(self, above: Sequence[int], sketches: Sequence[Sketch]) -> None:
        self.roots: list[int] = []
        self._first = [_NONE] * len(above)
        self._more: dict[int, list[int]] = {}
        for place, parent in enumerate(above):
            if not sketches[place].shown:
                continue
            if parent == _NONE:
                self.roots.append(place)
            elif self._first[parent] == _NONE:
                self._first[parent] = place
            else:
                self._more.setdefault(parent, [self._first[parent]]).append(place)

    def of(self, place: int) -> Sequence[int]:
        first = self._first[place]
        return () if first == _NONE else self._more.get(place) or (first,)


def _parents(sketches: Sequence[Sketch]) -> list[int]:
    """Return the place of each entry's parent in the file, or _NONE. A circle is cut at its first entry."""
    known: dict[str, int] = {}
    parents: list[int] = []
    later: list[int] = []  # Entries that follow one which is not before them.
    for place, each in enumerate(sketches):
        # Of several with the same id it is the nearest one before it that was meant.
        up = known.get(each.parent) if each.parent is not None else _NONE
        if up is None:
            later.append(place)
            up = _NONE
        parents.append(up)
        known[each.id] = place
    for place in later:
        parents[place] = known.get(sketches[place].parent or "", _NONE)
    # An entry that follows an earlier one, as do all above it, is in no circle.
    if all(parent < place for place, parent in enumerate(parents)):
        return parents
    done: set[int] = set()
    for place in range(len(sketches)):
        walk: list[int] = []
        here: set[int] = set()
        step = place
        while step != _NONE and step not in done and step not in here:
            walk.append(step)
            here.add(step)
            step = parents[step]
        if step in here:
            parents[min(walk[walk.index(step) :])] = _NONE
        done |= here
    return parents


def _downwards(parents: Sequence[int]) -> list[int]:
    """Return every place, parents first."""
    if all(parent < place for place, parent in enumerate(parents)):
        return list(range(len(parents)))
    children: dict[int, list[int]] = defaultdict(list)
    for place, parent in enumerate(parents):
        children[parent].append(place)
    order: list[int] = []
    todo = [_NONE]
    while todo:
        below = children[todo.pop()]
        order += below
        todo += below
    return order


def _seen(order: Sequence[int], sketches: Sequence[Sketch], parents: Sequence[int]) -> list[int]:
    """Return the nearest shown ancestor of every place, or _NONE."""
    nearest = list(parents)
    for place in order:
        parent = parents[place]
        if parent != _NONE and not sketches[parent].shown:
            nearest[place] = nearest[parent]
    return nearest


def _newest(order: Sequence[int], above: Sequence[int]) -> list[int]:
    """Return for each place the end of the branch below it that is last in the file; itself if nothing is below."""
    newest = [_NONE] * len(above)
    for place in reversed(order):
        if newest[place] == _NONE:
            newest[place] = place
        parent = above[place]
        if parent != _NONE and newest[place] > newest[parent]:
            newest[parent] = newest[place]
    return newest


def _end(sketches: Sequence[Sketch], leaf: str | None, parents: Sequence[int]) -> int:
    """Return the place of the leaf, or of its nearest ancestor that is shown; _NONE if there is none."""
    wanted = next((place for place in range(len(sketches) - 1, -1, -1) if sketches[place].id == leaf), _NONE)
    while wanted != _NONE and not sketches[wanted].shown:
        wanted = parents[wanted]
    return wanted


def _nodes(
    entries: Sequence[Entry],
    sketches: Sequence[Sketch],
    above: Sequence[int],
    below: _Below,
    newest: Sequence[int],
    path: bytearray,
) -> tuple[list[PageNode], list[int]]:
    """Return the nodes in the order of the page, and for each place that is shown the index of its node."""
    nodes: list[PageNode] = []
    numbers = [_NONE] * len(above)
    anchors: dict[str, int] = {}
    asked: dict[str, list[int]] = defaultdict(list)  # By the id of a call, the replies above that asked for it.
    roots = _side_branches_first(below.roots, newest, path)
    todo = [(place, int(place != roots[-1])) for place in reversed(roots)]
    while todo:
        place, depth = todo.pop()
        if place < 0:  # The branch of this one is done.
            for call, _ in sketches[~place].calls:
                asked[call].pop()
            continue
        own = sketches[place]
        index = numbers[place] = len(nodes)
        up = above[place]
        parent = None if up == _NONE else numbers[up]
        anchor = _anchor(own.id, anchors).replace("'", "&#x27;")  # Nothing else in it has to be escaped.
        owner = next(reversed(asked.get(own.answers, ())), None) if own.answers is not None else None
        current = bool(path[place])
        nodes.append(
            PageNode(entries, own, anchor, place, index, parent, newest[place], depth, owner=owner, current=current)
        )
        if own.calls:
            for call, _ in own.calls:
                asked[call].append(index)
            todo.append((~place, 0))
        children = below.of(place)
        if len(children) == 1:
            todo.append((children[0], depth))
        elif children:
            children = _side_branches_first(children, newest, path)
            todo += [(child, depth + (child != children[-1])) for child in reversed(children)]
    return nodes, numbers


def _side_branches_first(places: Sequence[int], newest: Sequence[int], path: bytearray) -> Sequence[int]:
    """Return the places with the main branch last: the current one, or else the newest."""
    if len(places) < 2:
        return places
    main = max(places, key=lambda place: (path[place], newest[place]))
    return [*(place for place in places if place != main), main]


def _anchor(id: str, taken: dict[str, int]) -> str:
    """Return an id for an element, quoted as by JavaScript's encodeURIComponent, so that it is a fragment too."""
    first = anchor = "e-" + (id if id.isascii() and id.isalnum() else _quoted(id))
    while anchor in taken:
        taken[first] += 1
        anchor = f"{first}~{taken[first]}"
    taken[anchor] = 1
    return anchor


def _quoted(id: str) -> str:
    return quote(id.encode("utf-8", "replace"), safe="!*'()")
