"""Writes one session as one HTML document, which needs nothing but itself: no network, and no script but its own."""

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from linnet.export.html import figures
from linnet.export.html.escape import escape
from linnet.export.html.highlight import Highlighter
from linnet.export.html.palette import Palette
from linnet.export.outline import Outline
from linnet.export.sketch import sketch
from linnet.export.stats import Counting, PageStats
from linnet.export.transcript import Transcript
from linnet.export.tree import PageTree
from linnet.store.entries import Entry
from linnet.store.header import Header

ASSETS = Path(__file__).with_name("assets")
_MARK = re.compile(r"<!--\w+-->\n")


def page(header: Header, entries: Sequence[Entry], leaf: str | None) -> Iterator[str]:
    """Yield the pieces of one self-contained HTML document, in order; joined they are the page.

    Each entry is asked for twice: once to know what there is, and once to write it. None is held in between, so
    `entries` may be read as they are asked for.
    """
    sketches, counting = [], Counting()
    for entry in entries:
        sketches.append(own := sketch(entry))
        counting.add(entry, own.time)
    tree, counted, palette = PageTree(entries, leaf, sketches), counting.stats(header), Palette()
    # The head has a checksum of the colours, so what has any is written beforehand, for the palette to know them.
    for _ in Transcript(tree, counted.labels, palette, Highlighter(0)).coloured_pieces():
        pass
    style = _asset("page.css") + palette.stylesheet()
    script = _asset("page.js")
    start, *rest = _MARK.split(_asset("page.html"))
    before_outline, before_conversation, before_tree, end = rest
    yield start + _head(counted.title, style, script) + before_outline
    yield from Outline(tree, counted.labels).pieces()
    yield before_conversation + _title(header, counted) + '<div id="conversation">\n'
    if not tree.nodes:
        yield '<p class="absent">Nothing was said.</p>\n'
    yield from Transcript(tree, counted.labels, palette, Highlighter()).pieces()
    yield "</div>" + before_tree + _shape(tree) + end


def _head(title: str, style: str, script: str) -> str:
    policy = (
        f"default-src 'none'; img-src data:; style-src '{_checksum(style)}'; script-src '{_checksum(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="generator" content="linnet">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n<script>{script}</script>"
    )


def _title(header: Header, counted: PageStats) -> str:
    said = f"{counted.prompts:,} from the user, {counted.replies:,} from the model, {counted.results:,} results"
    start = counted.start
    facts = [
        ("Date", f"{figures.day(start)}, {start:%H:%M} UTC" if start else "", ""),
        ("Duration", figures.duration(counted.lasted), "from the first entry to the last"),
        ("Folder", header.cwd, ""),
        ("Model" if len(counted.models) < 2 else "Models", ", ".join(counted.models), ""),
        ("Messages", f"{counted.messages:,}", said),
        ("Tokens", _tokens(counted), figures.spent_at_length(counted.usage)),
        ("Cost", figures.paid(counted.usage), ""),
        ("Continues", header.parent_session or "", ""),
        ("Session", header.id, ""),
    ]
    rows = "".join(
        f'<div><dt>{name}</dt><dd title="{escape(more or value)}">{escape(value)}</dd></div>'
        for name, value, more in facts
        if value
    )
    return f'<header id="top"><h1>{escape(counted.title)}</h1><dl>{rows}</dl></header>\n'


def _tokens(counted: PageStats) -> str:
    usage = counted.usage
    parts = (("in", usage.input), ("out", usage.output), ("cached", usage.cache_read + usage.cache_write))
    return " · ".join(f"{figures.count(number)} {name}" for name, number in parts if number)


def _shape(tree: PageTree) -> str:
    """Return what the page's script has to know of the tree: numbers only, so there is nothing to escape."""
    parents = ",".join(str(-1 if node.parent is None else node.parent) for node in tree.nodes)
    newest = ",".join(str(node.newest) for node in tree.nodes)
    end = -1 if tree.end is None else tree.end
    return f'<script type="application/json" id="tree">{{"up":[{parents}],"newest":[{newest}],"end":{end}}}</script>\n'


def _checksum(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


def _asset(name: str) -> str:
    return (ASSETS / name).read_text("utf-8")
