"""Writes the sidebar of a page: the tree as an outline. What follows in a row stays flat; side branches are set in."""

from collections.abc import Iterator

from linnet.export.html.escape import escape, short
from linnet.export.sketch import LONGEST
from linnet.export.tree import PageNode, PageTree

DEEPEST = 8  # What is set in further than this would leave no room for words.


class Outline:
    """An outline with one line for each entry. A reply without words has none where its results stand for it."""

    def __init__(self, tree: PageTree, labels: dict[str, str]) -> None:
        self._tree = tree
        self._labels = labels

    def pieces(self) -> Iterator[str]:
        """Yield the lines, as HTML."""
        answered: dict[int, int] = {}  # By the reply, the first result that is shown with it.
        for node in self._tree.nodes:
            if node.owner is not None:
                answered.setdefault(node.owner, node.index)
        stands_for: dict[int, int] = {}
        for node in self._tree.nodes:
            if node.sketch.silent and node.index in answered and node.sketch.id not in self._labels:
                stands_for[answered[node.index]] = node.index
            else:
                yield self._line(node, stands_for.pop(node.index, None))

    def _line(self, node: PageNode, also: int | None) -> str:
        own = node.sketch
        label = self._labels.get(own.id)
        names = own.kind
        if node.depth:
            names += f" d{min(node.depth, DEEPEST)}"
            if node.depth > (0 if node.parent is None else self._tree.nodes[node.parent].depth):
                names += " side"
        names += (" tagged" if label else "") + (" on" if node.current else "")
        tag = f'<span class="tag">{escape(short(label, 30))}</span>' if label else ""
        more = f' data-also="{also}"' if also is not None else ""
        words = own.words if own.answers is None else short(f"{own.words} {self._argument(node)}", LONGEST)
        return (
            f'<li class="{names}" data-r="{node.index}"{more}>'
            f'<a href="#{node.anchor}">{tag}{escape(words) or "…"}</a></li>\n'
        )

    def _argument(self, node: PageNode) -> str:
        """Return the headline of the call that a tool's result answers; "" if the call is not there."""
        calls = self._tree.nodes[node.owner].sketch.calls if node.owner is not None else ()
        return next((told for id, told in calls if id == node.sketch.answers), "")
