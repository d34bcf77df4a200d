"""Sketches of entries: what a page has to know of every entry before it is written, little enough to hold for all."""

import re
from datetime import datetime
from typing import TypeAlias, assert_never

from msgspec import Struct

from linnet.core import messages
from linnet.export.html.escape import LINE_END, short
from linnet.export.html.figures import moment
from linnet.export.html.tool import headline
from linnet.store import entries

FAILED_RESULT = "t bad"
LEFT_OUT = "An entry is not shown to the model any more"
REPLACED = "An entry is shown to the model in other words"
LONGEST = 90  # A line in the outline has so many characters.
_HIDDEN = (entries.Labelled, entries.Moved, entries.Ran, entries.Spent)
_STARTS = re.compile(r"^\s*(?:#{1,6}|[-*+>]|\d+[.)])\s+", re.MULTILINE)
_MARKS = re.compile(rf"{_STARTS.pattern}|(?<!\w)[*_`]{{1,3}}(?=\S)|(?<=\S)[*_`]{{1,3}}(?!\w)", re.MULTILINE)
_COLOUR = ("\x1b", "\x9b")
Call: TypeAlias = tuple[str, str]
"""The id of a call, and its headline."""


class Sketch(Struct, frozen=True, gc=False):
    """What is known of an entry before it is written."""

    id: str
    parent: str | None
    shown: bool = True
    time: datetime | None = None
    kind: str = ""
    """The class of its line in the outline."""
    words: str = ""
    """The words of that line, cut to their length and not escaped. Those of a tool's result lack what the tool was
    asked, which is in the `calls` of the reply.
    """
    calls: tuple[Call, ...] = ()
    answers: str | None = None
    """The id of the call of which this is the result."""
    agents: bool = False
    """It is the model's or a tool's."""
    dated: bool = False
    """It shows its time."""
    silent: bool = False
    """It is a reply without words, which did not fail."""
    coloured: bool = False
    """A command printed colours, which the style sheet has to have."""


def sketch(entry: entries.Entry) -> Sketch:
    """Return the sketch of an entry."""
    content = entry.content
    if not is_shown(entry):
        return Sketch(entry.id, entry.parent, shown=False, time=moment(entry))
    if isinstance(content, entries.Said):
        return _said(entry, content.message)
    kind, words = _words(entry)
    return Sketch(entry.id, entry.parent, time=moment(entry), kind=kind, words=short(words, LONGEST))


def is_shown(entry: entries.Entry) -> bool:
    """Return whether the page shows an entry: not marks and bookmarks, nor notes that are for the model alone."""
    content = entry.content
    if isinstance(content, entries.Said):
        return not isinstance(content.message, messages.Note) or content.message.display
    return not isinstance(content, _HIDDEN)


def _words(entry: entries.Entry) -> tuple[str, str]:
    """Return the kind and the words of an entry that is no message."""
    match entry.content:
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
        case entries.Edited(_, content):
            return "m", LEFT_OUT if content is None else REPLACED
        case _:
            return "m", entry.type


def _said(entry: entries.Entry, said: messages.Message) -> Sketch:
    id, parent, time = entry.id, entry.parent, moment(entry)
    match said:
        case messages.UserMessage(content):
            words = short(messages.texts(content) or "(image)", LONGEST)
            return Sketch(id, parent, True, time, "u", words, dated=True)
        case messages.AssistantMessage():
            return _reply(entry, said, time)
        case messages.ToolResult(call_id, name, content):
            kind, coloured = FAILED_RESULT if said.is_error else "t", _is_coloured(messages.texts(content))
            return Sketch(id, parent, True, time, kind, name, (), call_id, agents=True, dated=True, coloured=coloured)
        case messages.BashRun(command, output, exit_code):
            kind, words = "t" if exit_code == 0 else "t bad", f"$ {short(command, LONGEST, end=LINE_END)}"
            words, coloured = short(words, LONGEST), _is_coloured(output)
            return Sketch(id, parent, True, time, kind, words, dated=True, coloured=coloured)
        case messages.Summary():
            return Sketch(id, parent, True, time, "s", "Compacted")
        case messages.BranchSummary(text):
            return Sketch(id, parent, True, time, "s", short(f"Left a branch: {_bare(text)}", LONGEST))
        case messages.Note(kind, content):
            text = messages.texts(content)
            return Sketch(id, parent, True, time, "o", short(f"{kind}: {text}" if kind else text, LONGEST), dated=True)
        case messages.SystemMessage():
            return Sketch(id, parent, True, time, "o", "System prompt")
        case _:
            assert_never(said)


def _reply(entry: entries.Entry, reply: messages.AssistantMessage, time: datetime | None) -> Sketch:
    text, asked = reply.text, reply.calls
    calls = tuple([(call.id, headline(call)) for call in asked])
    bad = reply.stop in ("error", "aborted")
    kind = "a bad" if bad else "a"
    words = _bare(text).strip()
    if words:
        pass
    elif bad:
        words = reply.error or ("Failed" if reply.stop == "error" else "Aborted")
    elif asked:
        kind, words = "t", f"{asked[0].name} {calls[0][1]}"
    else:
        words = "Thinking" if reply.content else "(nothing)"
    silent = not bad and not text.strip()
    words = short(words, LONGEST)
    return Sketch(entry.id, entry.parent, True, time, kind, words, calls, None, True, True, silent)


def _bare(text: str) -> str:
    """Return the beginning of the text without most of its Markdown."""
    text = text[: LONGEST * 8]
    if "*" in text or "_" in text or "`" in text:
        return _MARKS.sub("", text)
    if "\n" in text:
        return _STARTS.sub("", text)
    found = _STARTS.match(text)
    return text[found.end() :] if found else text


def _is_coloured(text: str) -> bool:
    return _COLOUR[0] in text or _COLOUR[1] in text
