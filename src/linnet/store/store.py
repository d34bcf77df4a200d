"""One session: its header, its entries as a tree, and the log that they are kept in."""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from os import urandom

from msgspec import Struct

from linnet.core.events import Past
from linnet.core.messages import Cost, Message, Usage
from linnet.errors import SessionError
from linnet.store.entries import (
    MOVED,
    RAN,
    Compacted,
    Content,
    Custom,
    Entry,
    Header,
    Labelled,
    Line,
    Ran,
    Said,
    entry,
    entry_line,
    glance,
)
from linnet.store.log import Log
from linnet.store.resume import Standing, standing
from linnet.store.tree import Node, Tree


class Making(Struct, frozen=True):
    """What new entries are made with: the time in milliseconds since 1970, and ids that are hardly ever taken."""

    clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    new_id: Callable[[], str] = lambda: urandom(4).hex()


DEFAULT = Making()


class Store:
    """Invariants: entries are only ever added; each follows the leaf, and is the leaf from then on, unless it is only
    kept until it is said. What cannot be written to the log is here all the same, so the conversation can go on;
    whoever adds it is told.
    """

    def __init__(self, header: Header, log: Log, glances: Iterable[Line] = (), *, making: Making = DEFAULT) -> None:
        self.header = header
        self.log = log
        self.tree = Tree()
        self.name = ""
        self.labels: dict[str, str] = {}
        self._marks: dict[str, str | None] = {}
        self._unsaid: list[str] = []
        self._making = making
        for seen in glances:
            self._take_in(seen)

    @property
    def path(self) -> str | None:
        """The file, if there is one."""
        return self.log.path

    @property
    def leaf(self) -> str | None:
        """The entry that the conversation stands at."""
        return self.unmarked(self.tree.leaf)

    def is_mark(self, id: str) -> bool:
        """Whether it only says where the conversation went on, or what is going to be said."""
        return id in self._marks

    def unmarked(self, id: str | None) -> str | None:
        """The entry that a mark stands for; any other is itself."""
        seen: set[str] = set()
        while id is not None and id in self._marks and id not in seen:
            seen.add(id)
            id = self._marks[id]
        return id

    def new_id(self) -> str:
        while True:
            id = self._making.new_id()
            if id not in self.tree:
                return id

    def append(self, content: Content, id: str | None = None, *, strict: bool = False) -> None:
        """Raises SessionError if it is only here, and not on disk; with `strict`, if it is not even here."""
        self._append(content, id or self.new_id(), self.tree.leaf, strict=strict)

    def move(self, target: str | None, *, strict: bool = False) -> None:
        """Go on from there. That is written down, too: a session is reopened where it was left. Raises as `append`."""
        target = self.unmarked(target)  # Nothing follows a mark.
        if target != self.leaf:
            self._append(Custom(MOVED, None), self.new_id(), target, strict=strict)

    def say_unsaid(self) -> bool:
        """Say what was kept and then not said any more, since the process ended. Whether there was anything."""
        nodes = [node for node in map(self.tree.find, self._unsaid) if node is not None]
        self._unsaid.clear()
        if not nodes:
            return False
        kept = [each.content.run for each in self.entries(nodes) if isinstance(each.content, Ran)]
        later = self.tree.nodes[nodes[0].index :]
        for each in self.entries(node for node in later if node.role == "bashExecution"):
            if isinstance(each.content, Said) and each.content.message in kept:
                kept.remove(each.content.message)  # Another program may have run some, too: those say nothing of ours.
        for run in kept:
            with suppress(SessionError):  # Whoever adds the next one is told.
                self.append(Said(run))
        return bool(kept)

    def forget_failure(self) -> bool:
        """Go on from before the reply that has just failed, if one has: it is about to be asked for again.

        Whether anything that was set since then stays behind with it. Raises as `append`.
        """
        for node in reversed(self.tree.path(self.tree.leaf)):
            if node.failed:
                left = node.id != self.tree.leaf
                self.move(node.parent)
                return left
            if node.role:
                break
        return False

    def entries(self, nodes: Iterable[Node] | None = None) -> list[Entry]:
        """In the order of the file, unless other nodes are given."""
        return [self._read(node, self._line(node)) for node in (self.tree.nodes if nodes is None else nodes)]

    def lines(self, since: int = 0) -> list[bytes]:
        return [self._line(node) for node in self.tree.nodes[since:]]

    def standing(self) -> Standing:
        return standing(self.tree.path(self.tree.leaf), lambda node: self._read(node, self._line(node)))

    def past(self, standing: Standing, lines: Sequence[bytes] | None = None) -> Past:
        """What a conversation goes on from. `lines` are all there are, for whoever has them at hand."""
        summary, compaction = standing.summary, standing.compaction

        def read() -> list[tuple[str, Message]]:
            out: list[tuple[str, Message]] = []
            if summary is not None and compaction is not None:
                out.append((summary.id, compaction.summary))
            for node in standing.shown:
                content = self._read(node, self._line(node) if lines is None else lines[node.index]).content
                if isinstance(content, Said):
                    out.append((node.id, content.message))
            return out

        ids = [node.id for node in standing.shown]
        return Past(ids if summary is None else [summary.id, *ids], read, compaction, standing.compacted)

    def copied(self, leaf: str | None) -> list[bytes]:
        """The path to `leaf`, word for word, and the labels that were put on it or taken away elsewhere."""
        nodes = self.tree.path(leaf)
        lines = [self._line(node) for node in nodes]
        here = {node.id for node in nodes}
        told = {node.id for node in nodes if node.type == "label"}
        parent = nodes[-1].id if nodes else None
        for target, label in self._labels_outside(here, told):
            id = self.new_id()
            lines.append(entry_line(id, parent, stamp(self._making.clock()), Labelled(target, label)))
            parent = id
        return lines

    def _labels_outside(self, here: set[str], told: set[str]) -> list[tuple[str, str]]:
        on_path = {
            each.content.target: each.content.label
            for each in self.entries(node for node in self.tree.nodes if node.id in told)
            if isinstance(each.content, Labelled)
        }
        changed = [each for each in {**self.labels, **on_path} if self.labels.get(each, "") != on_path.get(each, "")]
        return [(target, self.labels.get(target, "")) for target in changed if target in here]

    def _append(self, content: Content, id: str, parent: str | None, *, strict: bool) -> None:
        time = content.result.summary.time if isinstance(content, Compacted) else self._making.clock()
        line = entry_line(id, parent, stamp(time), content)
        seen = glance(line)
        assert seen is not None
        try:
            self.log.append(line, strict=strict)
        except SessionError:
            if not strict:
                self._take_in(seen)
            raise
        self._take_in(seen)

    def _take_in(self, seen: Line) -> None:
        message = seen.message
        role, failed = (message.role, message.stop_reason == "error") if message is not None else ("", False)
        leaf = self.tree.leaf
        self.tree.add(seen.id, seen.parent_id, seen.timestamp, seen.type, role, failed)
        if seen.type == "session_info":
            self.name = (seen.name or "").strip()
        elif seen.custom_type == MOVED:
            self._marks[seen.id] = seen.parent_id
        elif seen.custom_type == RAN:
            self._marks[seen.id] = seen.parent_id
            self._unsaid.append(seen.id)
            self.tree.leaf = leaf  # Nothing follows it.
        elif seen.type == "label":
            if seen.label:
                self.labels[seen.target_id] = seen.label
            else:
                self.labels.pop(seen.target_id, None)

    def _line(self, node: Node) -> bytes:
        """Raises SessionError if something else is there by now."""
        line = self.log.line(node.index)
        seen = glance(line)
        if seen is None or seen.id != node.id:
            raise SessionError(f"{self.path} was changed by another program")
        return line

    def _read(self, node: Node, line: bytes) -> Entry:
        return entry(line, Line(node.type, node.id, node.parent, node.time))


def spent(glances: Iterable[Line]) -> Usage:
    """What was paid for all of it, on whatever branch."""
    used = [
        each for seen in glances if (each := seen.usage if seen.message is None else seen.message.usage) is not None
    ]
    paid = [each.cost for each in used if each.cost is not None]
    return Usage(
        sum(each.input or 0 for each in used),
        sum(each.output or 0 for each in used),
        sum(each.cache_read or 0 for each in used),
        sum(each.cache_write or 0 for each in used),
        Cost(
            round(sum(each.input or 0 for each in paid), 10),
            round(sum(each.output or 0 for each in paid), 10),
            round(sum(each.cache_read or 0 for each in paid), 10),
            round(sum(each.cache_write or 0 for each in paid), 10),
        ),
    )


def stamp(milliseconds: int) -> str:
    """As JavaScript writes a time."""
    seconds, rest = divmod(milliseconds, 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{rest:03d}Z"
