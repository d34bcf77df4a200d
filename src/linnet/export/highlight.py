"""Source code as HTML, by Pygments: a few classes of words, lines whole in themselves."""

from functools import cache
from typing import TYPE_CHECKING

from linnet.export.escape import clean, escape

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

MOST_IN_A_BLOCK = 100_000  # Characters.
MOST_IN_A_LINE = 1_000  # Nobody reads what is longer, and some lexers take its square in time, or worse.
MOST_IN_A_PAGE = 2_500_000  # Some four seconds.
# Where a name ends in this, several languages claim it, and the library picks the rarer one.
_KNOWN = {"sql": "sql", "pl": "perl", "mod": "go", "lock": "toml"}
_CLASSES = {
    "Keyword": "k",
    "Keyword.Constant": "n",
    "Keyword.Type": "t",
    "Name.Attribute": "a",
    "Name.Builtin": "t",
    "Name.Class": "t",
    "Name.Constant": "n",
    "Name.Decorator": "a",
    "Name.Exception": "t",
    "Name.Function": "d",
    "Name.Label": "a",
    "Name.Namespace": "t",
    "Name.Tag": "k",
    "Name.Variable": "a",
    "Literal": "n",
    "Literal.String": "s",
    "Literal.String.Doc": "c",
    "Literal.String.Escape": "n",
    "Literal.String.Interpol": "n",
    "Literal.Number": "n",
    "Operator.Word": "k",
    "Comment": "c",
    "Generic.Deleted": "del",
    "Generic.Inserted": "add",
    "Generic.Heading": "k",
    "Generic.Subheading": "k",
    "Generic.Emph": "italic",
    "Generic.Strong": "bold",
    "Generic.Output": "c",
    "Generic.Prompt": "c",
}


class Highlighter:
    """Invariant: it changes how text looks, never what it says. What is too much for one page stays plain."""

    def __init__(self, most: int = MOST_IN_A_PAGE) -> None:
        self._left = most
        self._done: dict[tuple[str, str], list[str]] = {}

    def by_language(self, code: str, language: str) -> list[str]:
        """By the word after a fence, or by what the language is called elsewhere."""
        return self._lines(code, language.strip().lower()[:40])

    def by_file(self, code: str, path: str) -> list[str]:
        return self._lines(code, _language(path.replace("\\", "/").rsplit("/", 1)[-1][-80:]))

    def _lines(self, code: str, language: str) -> list[str]:
        code = clean(code)
        if len(code) > min(MOST_IN_A_BLOCK, self._left) or not language:
            return escape(code).split("\n")
        if (language, code) not in self._done:
            self._done[language, code] = self._painted(code, language)
        return self._done[language, code]

    def _painted(self, code: str, language: str) -> list[str]:
        plain = code.split("\n")
        lexer = _lexer(language)
        if lexer is None or max(map(len, plain)) > MOST_IN_A_LINE:
            return escape(code).split("\n")
        self._left -= len(code)
        lines = _painted(lexer, code)
        return lines or escape(code).split("\n")


def _painted(lexer: "Lexer", code: str) -> list[str]:
    """Nothing if the lexer lost or changed a word, as some do with what they do not expect."""
    lines: list[str] = []
    line: list[str] = []
    words: list[str] = []
    name = ""
    said: list[str] = []

    def close() -> None:
        if text := "".join(words):
            line.append(f'<span class="{name}">{escape(text)}</span>' if name else escape(text))
        words.clear()

    for kind, value in lexer.get_tokens(code):
        said.append(value)
        own = _class(kind)
        if own != name and not value.isspace():
            close()
            name = own
        first, *rest = value.split("\n")
        words.append(first)
        for part in rest:
            close()
            lines.append("".join(line))
            line.clear()
            words.append(part)
    close()
    return [*lines, "".join(line)] if "".join(said) == code else []


@cache
def _class(kind: "_TokenType") -> str:
    parts = [str(part) for part in kind]
    while parts:
        if found := _CLASSES.get(".".join(parts)):
            return found
        parts.pop()
    return ""


@cache
def _lexer(language: str) -> "Lexer | None":
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


def _language(name: str) -> str:
    _, dot, ending = name.rpartition(".")
    return _KNOWN.get(ending.lower(), "") or _claimed(f"x.{ending}" if dot and len(ending) < 8 else name)


@cache
def _claimed(name: str) -> str:
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(name)
    return found.aliases[0] if found is not None and found.aliases else ""
