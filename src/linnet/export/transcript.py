"""Writes the entries of a session as HTML, each of them once, in an order in which every branch can be read."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import assert_never

from linnet.core import messages
from linnet.core.events import Compaction
from linnet.export.html import figures
from linnet.export.html.block import block
from linnet.export.html.escape import LINE_END, escape, short
from linnet.export.html.highlight import Highlighter
from linnet.export.html.image import picture
from linnet.export.html.markdown import Markdown
from linnet.export.html.palette import Palette
from linnet.export.html.tool import Tools, headline
from linnet.export.sketch import FAILED_RESULT, LEFT_OUT, REPLACED
from linnet.export.tree import PageNode, PageTree
from linnet.store import entries

_NOTHING = '<p class="absent">(nothing)</p>'


class Transcript:
    """A session's entries. A result is shown with the call it answers; an entry off the current branch is hidden."""

    def __init__(self, tree: PageTree, labels: dict[str, str], palette: Palette, highlighter: Highlighter) -> None:
        self._tree = tree
        self._labels = labels
        self._markdown = Markdown(highlighter)
        self._tools = Tools(highlighter, palette)
        self._anchors: dict[str, str] = {}
        self._answers: dict[int, list[PageNode]] = defaultdict(list)
        for node in tree.nodes:
            if node.owner is not None:
                self._answers[node.owner].append(node)

    def pieces(self) -> Iterator[str]:
        """Yield the HTML of each entry that is not part of another's."""
        for node in self._tree.nodes:
            if node.owner is None:
                yield self._piece(node)

    def coloured_pieces(self) -> Iterator[str]:
        """Yield those of the pieces in which a command printed colours."""
        for node in self._tree.nodes:
            answers = self._answers.get(node.index, ())
            if node.owner is None and (node.sketch.coloured or any(each.sketch.coloured for each in answers)):
                yield self._piece(node)

    def _piece(self, node: PageNode) -> str:
        content = node.entry.content
        match content:
            case entries.Said(said):
                return self._message(node, said)
            case entries.Compacted(result):
                return self._card(node, _compacted(result.summary), self._summary(result))
            case entries.ModelChanged(_, model):
                return self._thin(node, f"Model: <b>{escape(short(model, 80))}</b>")
            case entries.ThinkingChanged(level):
                return self._thin(node, f"Thinking: <b>{escape(short(level, 40))}</b>")
            case entries.Named(name):
                told = f"Named <b>{escape(short(name, 120))}</b>" if name.strip() else "Name removed"
                return self._thin(node, told)
            case entries.Custom(kind, data):
                body = self._tools.value(data) if data is not None else ""
                return self._aside(node, escape(short(kind, 80)) or "Custom entry", body)
            case entries.Edited(target, None):
                return self._thin(node, LEFT_OUT + self._link(target))
            case entries.Edited(target):
                return self._aside(node, REPLACED + self._link(target), self._raw(node))
            case entries.Unknown():
                return self._aside(node, f"Entry of type {escape(short(node.entry.type, 80))}", self._raw(node))
            case entries.Labelled() | entries.Moved() | entries.Ran() | entries.Spent():
                return ""
            case _:
                assert_never(content)

    def _message(self, node: PageNode, said: messages.Message) -> str:
        match said:
            case messages.UserMessage(content):
                return self._article(node, "user", "User", self._parts(content))
            case messages.AssistantMessage():
                return self._article(node, "reply", _who(said), self._reply(node, said), _spent(said.usage))
            case messages.ToolResult():
                verdict = "failed" if said.is_error else "done"
                body = f'<div class="lone {verdict}">{self._tools.result(None, said)}</div>'
                return self._article(node, "orphan", f"Result of {escape(short(said.name, 80))}", body)
            case messages.BashRun():
                return self._article(node, "run", "Command", self._run(said))
            case messages.Summary():
                return self._card(node, _compacted(said), self._prose(said.text))
            case messages.BranchSummary(text, from_id):
                return self._card(node, f"Summary of a branch that was left{self._link(from_id)}", self._prose(text))
            case messages.Note(kind, content):
                return self._article(node, "note", escape(short(kind, 80)) or "Note", self._parts(content))
            case messages.SystemMessage(sections):
                tools = {tool.name: tool.description for tool in said.added}
                told = {**sections, **({"tools added": tools} if tools else {})}
                return self._aside(node, "System prompt", self._tools.value(told))
            case _:
                assert_never(said)

    def _article(self, node: PageNode, kind: str, name: str, body: str, spent: str = "") -> str:
        parent = self._tree.nodes[node.parent].sketch if node.parent is not None else None
        time, before = node.sketch.time, self._before(node)
        day = f'<p class="day">{figures.day(time)}</p>' if time and before and time.date() != before.date() else ""
        follows = " next" if kind == "reply" and parent is not None and parent.agents and not day else ""
        title = f"<h2>{name}</h2>{self._tags(node)}"
        return (
            f'<article class="e {kind}{follows}" {_about(node)} tabindex="-1">{day}{self._fork(node)}'
            f'<header class="by">{title}</header><div class="said">{body}</div>{self._meta(node, spent)}</article>\n'
        )

    def _before(self, node: PageNode) -> datetime | None:
        """Return the time of the nearest message before a node, or of the first entry: others show no time."""
        while node.parent is not None:
            node = self._tree.nodes[node.parent]
            if node.owner is None and node.sketch.dated:
                break
        return node.sketch.time

    def _card(self, node: PageNode, title: str, body: str) -> str:
        return (
            f'<article class="e card" {_about(node)} tabindex="-1">{self._fork(node)}<details class="said">'
            f"<summary><h2>{title}</h2>{self._tags(node)}</summary>{body}</details>{self._meta(node)}</article>\n"
        )

    def _thin(self, node: PageNode, told: str) -> str:
        body = f"{self._fork(node)}<p>{told}{self._tags(node)}</p>"
        return f'<div class="e thin" {_about(node)} tabindex="-1">{body}</div>\n'

    def _aside(self, node: PageNode, told: str, body: str) -> str:
        if not body:
            return self._thin(node, told)
        return (
            f'<div class="e thin" {_about(node)} tabindex="-1">{self._fork(node)}'
            f"<details><summary>{told}{self._tags(node)}</summary>{body}</details></div>\n"
        )

    def _meta(self, node: PageNode, spent: str = "") -> str:
        told = ""
        if time := node.sketch.time:
            stamp, clock = figures.clock(time)
            told = f'<time datetime="{stamp}" title="{figures.day(time)}, {clock} UTC">{clock[:5]}</time>'
        link = f'<a class="link" href="#{node.anchor}" aria-label="Copy a link to this message"></a>'
        return f'<footer class="meta">{told}{link}{self._took(node)}{spent}</footer>'

    def _took(self, node: PageNode) -> str:
        """Return how long the agent was at an entry: since the one that it follows, which was written when it began."""
        if node.parent is None or not node.sketch.agents:
            return ""
        began, ended = self._tree.nodes[node.parent].sketch.time, node.sketch.time
        told = figures.duration((ended - began).total_seconds()) if began and ended else ""
        return f'<span class="took" title="how long it took">{told}</span>' if told else ""

    def _fork(self, node: PageNode) -> str:
        """Return the links to the branches beside this one; "" if there are none."""
        siblings = self._tree.siblings(node)
        if len(siblings) == 1:
            return ""
        place = node.rank
        before = self._way(siblings[place - 1], "prev", "‹", "Previous branch") if place else "<span>‹</span>"
        last = place == len(siblings) - 1
        after = "<span>›</span>" if last else self._way(siblings[place + 1], "next", "›", "Next branch")
        told = f"Branch {place + 1} of {len(siblings)}"
        return f'<nav class="fork" aria-label="{told}">{before}<span>{place + 1} / {len(siblings)}</span>{after}</nav>'

    def _way(self, index: int, rel: str, sign: str, name: str) -> str:
        return f'<a href="#{self._tree.nodes[index].anchor}" rel="{rel}" aria-label="{name}">{sign}</a>'

    def _tags(self, node: PageNode) -> str:
        label = self._labels.get(node.sketch.id) if self._labels else None
        return f'<span class="tag">{escape(short(label, 60))}</span>' if label else ""

    def _link(self, id: str) -> str:
        if not self._anchors:
            self._anchors = {node.sketch.id: node.anchor for node in self._tree.nodes}
        there = self._anchors.get(id)
        return f' <a href="#{there}">show it</a>' if there else ""

    def _reply(self, node: PageNode, reply: messages.AssistantMessage) -> str:
        answers: dict[str, list[PageNode]] = defaultdict(list)  # By the id of the call.
        for answer in self._answers.get(node.index, ()):
            answers[answer.sketch.answers or ""].append(answer)
        parts: list[str] = []
        for part in reply.content:
            match part:
                case messages.Text(text):
                    parts.append(self._prose(text) if text.strip() else "")
                case messages.Thinking(redacted=True):
                    parts.append('<p class="absent">Thinking, redacted by the vendor</p>')
                case messages.Thinking(text):
                    parts.append(self._thinking(text) if text.strip() else "")
                case messages.ToolCall():
                    # If two calls have the same id, the first gets the results.
                    answered = answers.pop(part.id, []) if answers else []
                    parts.append(self._call(part, answered))
                case _:
                    assert_never(part)
        return "".join([*parts, _fault(reply)]) or _NOTHING

    def _thinking(self, text: str) -> str:
        words = len(text.split())
        told = f"Thinking <small>{words:,} word{'s'[: words != 1]}</small>"
        return f'<details class="thinking"><summary>{told}</summary>{self._prose(text)}</details>'

    def _call(self, call: messages.ToolCall, answers: Sequence[PageNode]) -> str:
        verdicts = "".join(
            f'<span data-n="{answer.index}"{_hidden(answer)}>{self._tags(answer)}'
            f'<span class="verdict {_verdict(answer)}">{_verdict(answer)}</span></span>'
            for answer in answers
        )
        body = [self._tools.asked(call), *(self._answer(call, answer) for answer in answers)]
        if not answers:
            verdicts = '<span class="verdict none">no result</span>'
            body.append(self._tools.unanswered(call))
        return (
            f'<details class="call"><summary><b>{escape(short(call.name, 60))}</b>'
            f'<span class="arg">{escape(headline(call))}</span>{verdicts}</summary>{"".join(body)}</details>'
        )

    def _answer(self, call: messages.ToolCall, node: PageNode) -> str:
        body = self._tools.result(call, _answered(node)) or _NOTHING
        return (
            f'<div class="e result {_verdict(node)}" {_about(node)} tabindex="-1">'
            f"{self._fork(node)}{body}{self._meta(node)}</div>"
        )

    def _run(self, run: messages.BashRun) -> str:
        if run.cancelled:
            verdict, told = "failed", "cancelled"
        elif run.exit_code is None:
            verdict, told = "failed", "killed"
        else:
            verdict, told = ("failed", f"exit {run.exit_code}") if run.exit_code else ("done", "done")
        body = self._tools.run(run.command, run.output)
        if run.truncated:
            where = f" The whole of it: {run.full_output_path}" if run.full_output_path else ""
            body += f'<p class="remark">{escape(f"The output was cut.{where}")}</p>'
        if run.private:
            body += '<p class="remark">Not shown to the model.</p>'
        command = short(run.command, 160, end=LINE_END)
        return (
            f'<details class="call"><summary><b>bash</b><span class="arg">{escape(command)}</span>'
            f'<span class="verdict {verdict}">{told}</span></summary>{body}</details>'
        )

    def _parts(self, content: Sequence[messages.UserPart]) -> str:
        return "".join(
            picture(part) if isinstance(part, messages.Image) else self._markdown.prompt(part.text) for part in content
        )

    def _prose(self, text: str) -> str:
        return f'<div class="prose">{self._markdown.reply(text)}</div>'

    def _summary(self, result: Compaction) -> str:
        files = [("Files read", result.read_files), ("Files changed", result.modified_files)]
        lists = "".join(f"<h3>{title}</h3>{block([escape(name) for name in names])}" for title, names in files if names)
        return self._prose(result.summary.text) + lists

    def _raw(self, node: PageNode) -> str:
        line = node.entry.line
        return self._tools.raw(line) if line else ""


def _about(node: PageNode) -> str:
    return f'id="{node.anchor}" data-n="{node.index}"{_hidden(node)}'


def _hidden(node: PageNode) -> str:
    return "" if node.current else " hidden"


def _who(reply: messages.AssistantMessage) -> str:
    return f"Assistant <small>{escape(short(reply.model, 80))}</small>" if reply.model else "Assistant"


def _spent(usage: messages.Usage) -> str:
    told = figures.spent(usage)
    return f'<span class="spent" title="{figures.spent_at_length(usage)}">{told}</span>' if told else ""


def _compacted(summary: messages.Summary) -> str:
    before = f" <small>{figures.count(summary.tokens_before)} tokens before</small>" if summary.tokens_before else ""
    return f"Compacted{before}"


def _answered(node: PageNode) -> messages.ToolResult:
    content = node.entry.content
    assert isinstance(content, entries.Said)
    assert isinstance(content.message, messages.ToolResult)
    return content.message


def _verdict(node: PageNode) -> str:
    return "failed" if node.sketch.kind == FAILED_RESULT else "done"


def _fault(reply: messages.AssistantMessage) -> str:
    match reply.stop:
        case "error":
            told = f"Failed: {reply.error}" if reply.error else "Failed"
        case "aborted":
            told = f"Aborted: {reply.error}" if reply.error else "Aborted"
        case "length":
            told = "Cut off: the reply grew too long"
        case _:
            return ""
    return f'<p class="fault">{escape(told)}</p>'
