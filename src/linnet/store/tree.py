"""The tree that a session's entries form, and an index of what is known of all of them without reading any again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from sys import intern

from msgspec import Struct

from linnet.core.context.cost import Bill
from linnet.core.messages import Usage
from linnet.store.entries import MOVED, RAN
from linnet.store.lines import Glance
from linnet.wire.pi.from_pi import usage

_SAYS_MORE = ("label", "session_info")


class Node(Struct, frozen=True, gc=False):
    """An entry's place in the tree."""

    id: str
    parent: str | None
    time: str
    type: str
    role: str  # That of the message it carries, if any.
    failed: bool  # It is a reply that ended with an error.
    index: int  # Counts entries in the order of the file.


class Tree:
    """A tree that grows. Invariant: `leaf` is the entry that the next one will follow; None if that will be a root."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.leaf: str | None = None
        self._by_id: dict[str, Node] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def __contains__(self, id: str) -> bool:
        return id in self._by_id

    def add(self, id: str, parent: str | None, time: str, type: str, role: str = "", failed: bool = False) -> None:
        """Add a node, which is the leaf from then on. For many, `extend` is faster."""
        node = self._by_id[id] = Node(id, parent, time, type, role, failed, len(self.nodes))
        self.nodes.append(node)
        self.leaf = id

    def extend(self, nodes: Sequence[Node]) -> None:
        """Add nodes, whose indices go on where those of the tree end. There must be at least one; the last is the leaf
        from then on.
        """
        self.nodes += nodes
        self._by_id.update([(node.id, node) for node in nodes])
        self.leaf = nodes[-1].id

    def find(self, id: str) -> Node | None:
        """Return the node with this id, or the last if there are several; None if there is none."""
        return self._by_id.get(id)

    def path(self, leaf: str | None) -> list[Node]:
        """Return the nodes from the root to `leaf`. One whose parent is missing is a root; a circle is cut."""
        path: list[Node] = []
        find: Callable[[str | None], Node | None] = self._by_id.get  # type: ignore[assignment]
        node = find(leaf)
        while node is not None:
            path.append(node)
            above = find(node.parent)
            if above is not None and above.index >= node.index:  # There may be a circle.
                path = list(self._upwards(leaf))
                break
            node = above
        path.reverse()
        return path

    def _upwards(self, leaf: str | None) -> Iterator[Node]:
        """Yield the nodes from `leaf` to the root, and stop where a circle would begin again."""
        seen: set[str] = set()
        while leaf is not None and leaf not in seen:
            node = self._by_id.get(leaf)
            if node is None:
                return
            yield node
            seen.add(leaf)
            leaf = node.parent


class Index:
    """What is known of all entries. Grows as entries are added, and never holds what one says."""

    def __init__(self, glances: Iterable[Glance] = ()) -> None:
        self.tree = Tree()
        self.name = ""
        self.messages = 0  # So many entries carry a message that somebody said.
        self.labels: dict[str, str] = {}  # By the id of the entry that each is on.
        self.marks: dict[str, str | None] = {}  # Entries that are no part of the conversation, with what each follows.
        self.pending: list[str] = []  # Those of the marks that are commands which may not have become part of it.
        self._bill = Bill()
        self.add(list(glances))

    @property
    def spent(self) -> Usage:
        """Return what was paid for all entries, on whatever branch."""
        return self._bill.total

    def add(self, glances: Sequence[Glance]) -> None:
        """Take in entries, each of which is the leaf from then on, unless it is a mark that nothing follows."""
        self._bill.add(used(glances))
        if any(seen.custom_type or seen.type in _SAYS_MORE for seen in glances):
            for seen in glances:
                self._add_node(seen)
        elif glances:
            self.tree.extend(_nodes(glances, self.tree.leaf, len(self.tree)))
        self.messages += sum([seen.message is not None and seen.message.role != "system" for seen in glances])

    def append(self, seen: Glance) -> None:
        """Take in one entry, as `add` does with many: a session that goes on adds one at a time, under its lock."""
        if paid := used([seen]):
            self._bill.add(paid)
        self._add_node(seen)
        self.messages += seen.message is not None and seen.message.role != "system"

    def _add_node(self, seen: Glance) -> None:
        leaf, message = self.tree.leaf, seen.message
        parent = leaf if seen.parent_id == leaf else seen.parent_id  # As in `_nodes`.
        role, failed = ("", False) if message is None else (intern(message.role), message.stop_reason == "error")
        self.tree.add(seen.id, parent, seen.timestamp, intern(seen.type), role, failed)
        if seen.custom_type or seen.type in _SAYS_MORE:
            self._add_word(seen, leaf)

    def _add_word(self, seen: Glance, leaf: str | None) -> None:
        """Take in a name, a label or a mark. `leaf` is what was the leaf before."""
        if seen.type == "session_info":
            self.name = (seen.name or "").strip()
        elif seen.custom_type == MOVED:
            self.marks[seen.id] = seen.parent_id
        elif seen.custom_type == RAN:
            self.marks[seen.id] = seen.parent_id
            self.pending.append(seen.id)
            self.tree.leaf = leaf  # No entry follows it.
        elif seen.type == "label":
            if seen.label:
                self.labels[seen.target_id] = seen.label
            else:
                self.labels.pop(seen.target_id, None)


def _nodes(glances: Sequence[Glance], leaf: str | None, count: int) -> list[Node]:
    """Return the nodes of entries that are added behind `count` others, of which `leaf` is the leaf."""
    before = [leaf, *[seen.id for seen in glances[:-1]]]
    return [
        Node(
            seen.id,
            last if seen.parent_id == last else seen.parent_id,  # So that an id is there once, not twice.
            seen.timestamp,
            intern(seen.type),
            "" if seen.message is None else intern(seen.message.role),
            seen.message is not None and seen.message.stop_reason == "error",
            index,
        )
        for index, (seen, last) in enumerate(zip(glances, before, strict=True), count)
    ]


def used(glances: Iterable[Glance]) -> list[Usage]:
    """Return what was paid for each of these entries, without those for which nothing was."""
    counted = [seen.usage if seen.message is None else seen.message.usage for seen in glances]
    return [each if each.priced else usage(each) for each in counted if each is not None]
