"""One session: its header, its entries as a tree, and the log that new entries are written to."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from os import urandom
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from linnet.core.context.cost import total
from linnet.core.events import Past
from linnet.core.messages import Message, Usage
from linnet.core.session_info import SessionFormat, Tally, TreeEntry
from linnet.core.text.timestamps import stamp
from linnet.errors import SessionError
from linnet.store.entries import Compacted, Content, Custom, Edited, Entry, Labelled, Moved, Ran, Said, Spent
from linnet.store.header import Header
from linnet.store.lines import Glance, calls_in, entry, entry_line, glance
from linnet.store.log import Log
from linnet.store.position import Position, everything, position
from linnet.store.tree import Index, Node, used
from linnet.wire.pi.from_pi import with_content

if TYPE_CHECKING:
    from linnet.store.late_log import LateLog
    from linnet.store.snapshot import Snapshot


class EntrySources(Struct, frozen=True):
    """Where new entries take their time and their ids from, and how they are written."""

    clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000  # In milliseconds since 1970.
    new_id: Callable[[], str] = lambda: urandom(4).hex()
    format: SessionFormat = "0.73"


DEFAULT = EntrySources()
_SETTINGS = {"model_change", "thinking_level_change"}
_ASIDE = (Edited, Custom, Spent)


class Store:
    """A session's entries.

    Invariants: entries are only ever added; each but a `Moved` follows the leaf; each is the leaf from then on, except
    for `Ran`, which nothing follows. What cannot be written to the log is here all the same, so that the conversation
    can go on; whoever adds it is told.
    """

    def __init__(
        self, header: Header, log: Log, entries: Index | Iterable[Glance] = (), *, sources: EntrySources = DEFAULT
    ) -> None:
        """`entries` are those that the log has. An index belongs to the store from now on."""
        self.header = header
        self.log = log
        self._index = entries if isinstance(entries, Index) else Index(entries)
        self.tree = self._index.tree
        self.labels = self._index.labels
        self._sources = sources
        self._asides: list[bytes] = []

    def keep(self) -> None:
        """See that the session is kept, if it was not to be before something is said. Raises SessionError if it cannot
        be made; that is tried again with the next entry.
        """
        if self._late is not None:
            self._late.keep()

    @property
    def is_kept(self) -> bool:
        """Return whether the session is where it is to be kept; also true for one that is kept nowhere."""
        return self._late is None or self._late.is_kept

    @property
    def _late(self) -> "LateLog | None":
        if self.format == "0.73":
            return None
        from linnet.store.late_log import LateLog

        return self.log if isinstance(self.log, LateLog) else None

    def take_asides(self) -> list[bytes]:
        """Return the lines that were added since this was last called and that no event of the conversation tells: what
        was edited, kept by an extension, or paid for. None in the format of 0.73, whose clients are not told.
        """
        taken, self._asides = self._asides, []
        return taken

    @property
    def format(self) -> SessionFormat:
        """Return how new entries are written. Those that are there may have been written otherwise."""
        return self._sources.format

    @property
    def name(self) -> str:
        return self._index.name

    @property
    def path(self) -> str | None:
        """Return the path of the file; None for a session in memory."""
        return self.log.path

    @property
    def is_blank(self) -> bool:
        """Return whether nothing was said, done, named or changed: what is set at the beginning does not count."""
        types = [node.type for node in self.tree.nodes]
        return len(types) == len(set(types)) and set(types) <= _SETTINGS

    @property
    def leaf(self) -> str | None:
        """Return the last entry of the conversation; None at its beginning. It is never a mark."""
        return self.unmarked(self.tree.leaf)

    def is_mark(self, id: str) -> bool:
        """Return whether an entry is a `Moved` or a `Ran`, which are no part of the conversation."""
        return id in self._index.marks

    def unmarked(self, id: str | None) -> str | None:
        """Return the entry itself if it is no mark, or else its nearest ancestor that is none."""
        marks = self._index.marks
        seen: set[str] = set()
        while id is not None and id in marks and id not in seen:
            seen.add(id)
            id = marks[id]
        return id

    def new_id(self) -> str:
        """Return an id that no entry has."""
        while True:
            id = self._sources.new_id()
            if id not in self.tree:
                return id

    def append(self, content: Content, id: str | None = None, *, strict: bool = False) -> None:
        """Add an entry behind the leaf. Raises SessionError if it could not be written; it is in the tree all the same,
        unless `strict`.
        """
        self._append(content, id or self.new_id(), self.tree.leaf, strict=strict)

    def move(self, target: str | None, *, strict: bool = False) -> None:
        """Make `target` the leaf, and add an entry that says so, for when the session is opened again. Raises as
        `append` does.
        """
        target = self.unmarked(target)  # No other entry follows a mark.
        if target != self.leaf:
            self._append(Moved(), self.new_id(), target, strict=strict)

    def add_pending(self) -> bool:
        """Add the commands to the conversation that had run in a process which ended before it could add them. Return
        whether there were any.
        """
        nodes = [node for node in map(self.tree.find, self._index.pending) if node is not None]
        self._index.pending.clear()
        if not nodes:
            return False
        runs = [each.content.run for each in self.entries(nodes) if isinstance(each.content, Ran)]
        later = self.tree.nodes[nodes[0].index :]
        for each in self.entries(node for node in later if node.role == "bashExecution"):
            if isinstance(each.content, Said) and each.content.message in runs:
                runs.remove(each.content.message)  # Another program may have added commands of its own besides.
        for run in runs:
            with suppress(SessionError):  # Whoever adds the next one is told.
                self.append(Said(run))
        return bool(runs)

    def forget_failure(self) -> bool:
        """Leave out the last reply if it failed: it is about to be asked for again. In the format of 0.73 that is to
        move to before it.

        Return whether settings that were changed after that reply are left behind with it. Raises as `append` does.
        """
        last = next((node for node in reversed(self.tree.path(self.tree.leaf)) if node.role), None)
        if last is None or not last.failed:
            return False
        if self.format != "0.73":
            if not self._is_edited(last):
                self.append(Edited(last.id))
            return False
        left = last.id != self.tree.leaf
        self.move(last.parent)
        return left

    def _is_edited(self, said: Node) -> bool:
        """Return whether a later entry changes what the model is shown of this one."""
        later = [node for node in self.tree.nodes[said.index :] if node.type == "context_edit"]
        return any(isinstance(each.content, Edited) and each.content.target == said.id for each in self.entries(later))

    def entries(self, nodes: Iterable[Node] | None = None) -> list[Entry]:
        """Return the entries of these nodes; without any, all in the order of the file. Raises SessionError."""
        return [self._read(node, self._line(node)) for node in (self.tree.nodes if nodes is None else nodes)]

    def snapshot(self) -> "Snapshot":
        """Return the entries that there are now, for another thread to read. Raises SessionError once it is closed."""
        from linnet.store.snapshot import Snapshot

        return Snapshot(self.tree.nodes[:], self.log.snapshot())

    def lines(self, since: int = 0) -> list[bytes]:
        """Return the lines of all entries from this index on. Raises SessionError."""
        return [self._line(node) for node in self.tree.nodes[since:]]

    def tally(self) -> Tally:
        """Count what was said, on all branches, also before compactions. Raises SessionError."""
        nodes = [node for node in self.tree.nodes if node.type == "message"]
        roles = Counter(node.role for node in nodes)
        calls = sum(calls_in(self._line(node)) for node in nodes if node.role == "assistant")
        return Tally(roles["user"], roles["assistant"], calls, roles["toolResult"], len(nodes))

    def tree_entries(self) -> list[TreeEntry]:
        """Return all entries, in the order of the file, with their places in the tree. Raises SessionError."""
        labels: dict[str, tuple[str, str]] = {}
        for each in self.entries(node for node in self.tree.nodes if node.type == "label"):
            if isinstance(each.content, Labelled):
                labels[each.content.target] = each.content.label, each.time
        out: list[TreeEntry] = []
        for node in self.tree.nodes:
            above = None if node.parent is None else self.tree.find(node.parent)
            parent = None if above is None or above.index >= node.index else above.index  # No circle is told.
            label, time = labels.get(node.id, ("", ""))
            out.append(TreeEntry(self._line(node), parent, label, time if label else ""))
        return out

    def custom(self, kind: str) -> Any:
        """Return what was stored last under this kind on the way to the leaf; None if nothing was."""
        for node in reversed(self.tree.path(self.tree.leaf)):
            if node.type == "custom":
                content = self._read(node, self._line(node)).content
                if isinstance(content, Custom) and content.kind == kind:
                    return content.data
        return None

    def position(self) -> Position:
        """Return the position at the leaf. Raises SessionError."""
        return position(self.tree.path(self.tree.leaf), lambda node: self._read(node, self._line(node)))

    def past(self, position: Position, lines: Sequence[bytes] | None = None) -> Past:
        """Return what a conversation goes on from; its messages are read when they are asked for.

        `lines`, if the caller has them, are those of all entries, and spare reading them from the log.
        """
        summary, compaction = position.summary, position.compaction

        def read() -> list[tuple[str, Message]]:
            out: list[tuple[str, Message]] = []
            if summary is not None and compaction is not None:
                if compaction.system is not None:
                    out.append((summary.id, compaction.system))
                out.append((summary.id, compaction.summary))
            for each in self._entries(position.shown, lines):
                if isinstance(each.content, Said):
                    other = edits.get(each.id)
                    said = each.content.message
                    out.append((each.id, said if other is None else with_content(said, other)))
            return out

        edits, ids = position.edits, [node.id for node in position.shown]
        system = sum([node.role == "system" for node in position.shown])
        if summary is not None and compaction is not None:
            told = compaction.system is not None
            ids = [*[summary.id] * (1 + told), *ids]
            system += told
        return Past(ids, read, compaction, position.compacted, system)

    def history(self) -> "Sequence[tuple[str, Message]]":
        """Return all that was said on the path to the leaf, also before compactions, each with its id; read when it is
        asked for, in any thread. Raises SessionError.
        """
        from linnet.store.snapshot import SaidBefore

        shown = everything(self.tree.path(self.tree.leaf), lambda node: self._read(node, self._line(node)))
        return SaidBefore(shown, self.log.snapshot())

    def copied(self, leaf: str | None) -> list[bytes]:
        """Return the lines of the path to `leaf`, byte for byte, then new ones for its labels that were set or removed
        on another branch.
        """
        nodes = self.tree.path(leaf)
        lines = [self._line(node) for node in nodes]
        here = {node.id for node in nodes}
        told = {node.id for node in nodes if node.type == "label"}
        parent = nodes[-1].id if nodes else None
        for target, label in self._labels_outside(here, told):
            id = self.new_id()
            lines.append(entry_line(id, parent, stamp(self._sources.clock()), Labelled(target, label), self.format))
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
        time = content.result.summary.time if isinstance(content, Compacted) else self._sources.clock()
        line = entry_line(id, parent, stamp(time), content, self.format)
        seen = glance(line)
        assert seen is not None
        try:
            self.log.append(line, strict=strict)
        except SessionError:
            if not strict:
                self._take(seen, content, line)
            raise
        self._take(seen, content, line)

    def _take(self, seen: Glance, content: Content, line: bytes) -> None:
        self._index.append(seen)
        if self.format != "0.73" and isinstance(content, _ASIDE):
            self._asides.append(line)

    def _entries(self, nodes: Sequence[Node], lines: Sequence[bytes] | None) -> Iterable[Entry]:
        """Return the entries of many nodes, read when they are asked for. Raises SessionError."""
        from linnet.store.snapshot import LineReader, Snapshot

        return Snapshot(nodes, self.log.snapshot() if lines is None else LineReader(lines))

    def _line(self, node: Node) -> bytes:
        """Return the line of a node. Raises SessionError if something else is there by now."""
        line = self.log.line(node.index)
        seen = glance(line)
        if seen is None or seen.id != node.id:
            raise SessionError(f"{self.path} was changed by another program")
        return line

    def _read(self, node: Node, line: bytes) -> Entry:
        return entry(line, Glance(node.type, node.id, node.parent, node.time))


def spent(glances: Iterable[Glance]) -> Usage:
    """Return what was paid for all entries, on whatever branch."""
    return total(used(glances))
