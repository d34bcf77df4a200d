"""The sidebar's lines: the tree as an outline. What follows in a row stays flat, and a side branch is set in."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import assert_never

from linnet.core import messages
from linnet.export.escape import LINE_END, escape, short
from linnet.export.tool import headline
from linnet.export.tree import Node, Tree
from linnet.store import entries

LONGEST = 90
DEEPEST = 8  # Beyond this, what is set in further would leave no room for words.
_MARKS = re.compile(r"^\s*(?:#{1,6}|[-*+>]|\d+[.)])\s+|(?<!\w)[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}(?!\w)", re.MULTILINE)


class Outline:
    """One line an entry. A reply that is nothing but calls has none: its results stand for it."""

    def __init__(self, tree: Tree, labels: dict[str, str]) -> None:
        self._tree = tree
        self._labels = labels
        self._answers: dict[int, list[Node]] = defaultdict(list)
        for node in tree.nodes:
            if node.owner is not None:
                self._answers[node.owner].append(node)

    def pieces(self) -> Iterator[str]:
        stands_for: dict[int, int] = {}
        for node in self._tree.nodes:
            if self._is_silent(node):
                stands_for[min(answer.index for answer in self._answers[node.index])] = node.index
            else:
                yield self._line(node, stands_for.pop(node.index, None))

    def _is_silent(self, node: Node) -> bool:
        content = node.entry.content
        if not isinstance(content, entries.Said) or not isinstance(content.message, messages.AssistantMessage):
            return False
        said = content.message
        return (
            bool(self._answers.get(node.index))
            and not said.text.strip()
            and said.stop not in ("error", "aborted")
            and node.entry.id not in self._labels
        )

    def _line(self, node: Node, also: int | None) -> str:
        kind, text = self._words(node)
        label = self._labels.get(node.entry.id)
        side = node.depth > (0 if node.parent is None else self._tree.nodes[node.parent].depth)
        names = [kind, f"d{min(node.depth, DEEPEST)}" if node.depth else "", "side" if side else ""]
        names += ["tagged" if label else "", "on" if node.current else ""]
        tag = f'<span class="tag">{escape(short(label, 30))}</span>' if label else ""
        more = f' data-also="{also}"' if also is not None else ""
        return (
            f'<li class="{" ".join(filter(None, names))}" data-r="{node.index}"{more}>'
            f'<a href="#{escape(node.anchor)}">{tag}{escape(short(text, LONGEST)) or "…"}</a></li>\n'
        )

    def _words(self, node: Node) -> tuple[str, str]:
        """Return the class of the line and its text, which is not escaped."""
        content = node.entry.content
        match content:
            case entries.Said(said):
                return self._message(node, said)
            case entries.Compacted():
                return "s", "Compacted"
            case entries.ModelChanged(_, model):
                return "m", f"Model: {model}"
            case entries.ThinkingChanged(level):
                return "m", f"Thinking: {level}"
            case entries.Named(name):
                return "m", f"Named {name}" if name.strip() else "Name removed"
            case entries.Custom(kind):
                return "m", kind
            case entries.Unknown() | entries.Labelled() | entries.Moved() | entries.Ran() | entries.Spent():
                return "m", node.entry.type
            case _:
                assert_never(content)

    def _message(self, node: Node, said: messages.Message) -> tuple[str, str]:
        match said:
            case messages.UserMessage(content):
                return "u", messages.texts(content) or "(image)"
            case messages.AssistantMessage():
                return _reply(said)
            case messages.ToolResult(call_id, name):
                bad = " bad" if said.is_error else ""
                return f"t{bad}", f"{name} {self._argument(node, call_id)}"
            case messages.BashRun(command, _, exit_code):
                return "t" if exit_code == 0 else "t bad", f"$ {short(command, LONGEST, end=LINE_END)}"
            case messages.Summary():
                return "s", "Compacted"
            case messages.BranchSummary(text):
                return "s", f"Left a branch: {_bare(text)}"
            case messages.Note(kind, content):
                return "o", f"{kind}: {messages.texts(content)}" if kind else messages.texts(content)
            case _:
                assert_never(said)

    def _argument(self, node: Node, call_id: str) -> str:
        owner = self._tree.nodes[node.owner].entry.content if node.owner is not None else None
        if not isinstance(owner, entries.Said) or not isinstance(owner.message, messages.AssistantMessage):
            return ""
        return next((headline(call) for call in owner.message.calls if call.id == call_id), "")


def _reply(reply: messages.AssistantMessage) -> tuple[str, str]:
    bad = " bad" if reply.stop in ("error", "aborted") else ""
    if text := _bare(reply.text[: LONGEST * 8]).strip():
        return f"a{bad}", text
    if bad:
        return "a bad", reply.error or ("Failed" if reply.stop == "error" else "Aborted")
    if reply.calls:
        return "t", f"{reply.calls[0].name} {headline(reply.calls[0])}"
    return "a", "Thinking" if reply.content else "(nothing)"


def _bare(text: str) -> str:
    """Return the text without most of its Markdown."""
    return _MARKS.sub("", text[: LONGEST * 8])
