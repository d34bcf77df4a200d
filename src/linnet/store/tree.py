"""Entries as the tree they form: which follows which, and which is the leaf. Pure; no entry is read here."""

from collections.abc import Iterator

from msgspec import Struct


class Node(Struct, frozen=True, gc=False):
    """`index` counts entries in the order of the file. `role` is that of the message it carries, if any; `failed` that
    this is a reply which ended with an error.
    """

    id: str
    parent: str | None
    time: str
    type: str
    role: str
    failed: bool
    index: int


class Tree:
    """Invariant: `leaf` is the entry that the next one will follow; None if the next one will be a root."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.leaf: str | None = None
        self._by_id: dict[str, Node] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, id: str) -> bool:
        return id in self._by_id

    def add(self, id: str, parent: str | None, time: str, type: str, role: str = "", failed: bool = False) -> None:
        node = Node(id, parent, time, type, role, failed, len(self.nodes))
        self.nodes.append(node)
        self._by_id[id] = node
        self.leaf = id

    def find(self, id: str) -> Node | None:
        """If several entries have that id, return the last."""
        return self._by_id.get(id)

    def path(self, leaf: str | None) -> list[Node]:
        """Return the nodes from the root to `leaf`. One whose parent is missing is a root; a circle is cut."""
        path = list(self._upwards(leaf))
        path.reverse()
        return path

    def _upwards(self, leaf: str | None) -> Iterator[Node]:
        seen: set[str] = set()
        while leaf is not None and leaf not in seen:
            node = self._by_id.get(leaf)
            if node is None:
                return
            yield node
            seen.add(leaf)
            leaf = node.parent
