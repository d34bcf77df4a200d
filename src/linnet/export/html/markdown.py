"""Writes Markdown as HTML, by markdown-it: CommonMark, tables and strikethrough. HTML in the text stays text."""

import re
from collections.abc import Sequence
from html import escape as escaped

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from linnet.export.html import block
from linnet.export.html.escape import clean, escape
from linnet.export.html.highlight import Highlighter

MOST = 200_000  # A text of more characters is not prose.
_FENCE = re.compile(r"(`{3,}|~{3,})\s*([^\s`]{0,40})[^`]*")
_EMPTY = re.compile(r"\n{2,}")
_INLINE = re.compile(r"(?<!`)`(?!`)([^`\n]+)`(?!`)")
_SIDED = ("bullet_list_open", "ordered_list_open", "blockquote_open")  # Set on the side on which their writing starts.
# Characters that may have a meaning or are stripped. Without them, and with a letter at the beginning of every line,
# all is text.
_BUSY = re.compile(r"[\\`*_~\[\]<&|\x00-\x09\x0b-\x1f\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_BROKEN = re.compile(r" \n|\n(?!\n*[^\W\d_])")
_SAFE = re.compile(r"(?:https?://|mailto:)\S", re.IGNORECASE)


class Markdown:
    """Renders what was said. Links lead to the web or to a mailbox, or they are no links. Images are named, never
    loaded.
    """

    def __init__(self, highlighter: Highlighter) -> None:
        self._parser = _Parser("commonmark", {"html": False, "xhtmlOut": False}, renderer_cls=_Renderer)
        self._parser.enable(["table", "strikethrough"])
        self._highlighter = highlighter
        self._env: EnvType = {"highlighter": highlighter}

    def reply(self, text: str) -> str:
        """Return what the model said, as HTML."""
        text = clean(text)
        if len(text) > MOST:
            return block.block(escape(text).split("\n"))
        if (plain := _plain(text)) is not None:
            return plain
        env = dict(self._env)
        tokens = self._parser.parse(text, env)
        for token in tokens:
            if token.type in _SIDED:
                token.attrSet("dir", "auto")
        rendered: str = self._parser.renderer.render(tokens, self._parser.options, env)
        return rendered

    def prompt(self, text: str) -> str:
        """Return what the user said, as HTML. People do not write Markdown when they ask, except for code: lines and
        lists stay as they typed them.
        """
        text = clean(text)
        if "```" not in text and "~~~" not in text:
            return f'<div class="typed">{_typed(text)}</div>'
        parts: list[str] = []
        fence = language = ""
        lines: list[str] = []
        for line in text.split("\n"):
            if fence and line.rstrip() == fence:
                parts.append(self._code(lines, language))
                fence, lines = "", []
            elif not fence and (found := _FENCE.fullmatch(line)):
                parts.append(_typed("\n".join(lines)))
                fence, language, lines = found[1], found[2], []
            else:
                lines.append(line)
        parts.append(self._code(lines, language) if fence else _typed("\n".join(lines)))
        return f'<div class="typed">{"".join(parts)}</div>'

    def _code(self, lines: list[str], language: str) -> str:
        return block.code(self._highlighter.by_language("\n".join(lines), language), escape(language))


def _typed(text: str) -> str:
    text = text.strip("\n")
    return f"<p>{_INLINE.sub(_inline, escape(text)) if '`' in text else escape(text)}</p>" if text.strip() else ""


def _plain(text: str) -> str | None:
    """Return what the parser would make of a text in which nothing has a meaning in Markdown; None for another."""
    text = text.rstrip(" \n")
    if not text[:1].isalpha() or _BUSY.search(text) or ("\n" in text and _BROKEN.search(text)):
        return None
    words = escaped(text, quote=False).replace('"', "&quot;")
    parts = _EMPTY.split(words) if "\n\n" in words else [words]
    return "".join([f"<p>{part}</p>\n" for part in parts])


def _inline(found: re.Match[str]) -> str:
    return f"<code>{found[1]}</code>"


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - its name there
        return bool(_SAFE.match(url))


class _Renderer(RendererHTML):
    """Renders tokens. Public methods are named for the tokens that they render."""

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        language = (token.info.split() or [""])[0][:40]
        highlighter: Highlighter = env["highlighter"]
        return block.code(highlighter.by_language(token.content.removesuffix("\n"), language), escape(language))

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return self.fence(tokens, idx, options, env)

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        token = tokens[idx]
        told = " · ".join(part for part in (token.content, str(token.attrs.get("src", ""))) if part)
        return f'<span class="picture">{escape(told)}</span>'

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        address = str(tokens[idx].attrs.get("href", ""))
        if not _SAFE.match(address):  # The parser asks about every address but an empty one.
            return "<a>"
        return f'<a href="{escape(address)}" rel="noopener noreferrer nofollow">'

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<{_level(tokens[idx])}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"</{_level(tokens[idx])}>\n"

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return '<div class="table"><table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<th{_side(tokens[idx])}>"

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return f"<td{_side(tokens[idx])}>"


def _level(token: Token) -> str:
    """Return the level of a heading on the page, which has the first two for itself."""
    return f"h{min(6, int(token.tag[1]) + 2)}"


def _side(token: Token) -> str:
    """Return a column's alignment as a class: it comes as a style, which the page's policy does not let pass."""
    style = str(token.attrs.get("style", ""))
    side = style.removeprefix("text-align:")
    return f' class="{side}"' if side in ("left", "center", "right") else ""
