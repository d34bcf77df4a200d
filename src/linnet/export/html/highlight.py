"""Highlights source code as HTML, by Pygments, with a few classes of words. Each line closes the tags that it opens."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from linnet.export.html.escape import clean, escape

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

    Word: TypeAlias = tuple[_TokenType, str]

MOST_IN_A_BLOCK = 100_000  # Characters, here and below.
MOST_IN_A_LINE = 1_000  # Nobody reads what is longer, and a lexer may take its square in time, or worse.
MOST_IN_A_PAGE = 2_500_000  # They take some four seconds.
SECONDS_A_BLOCK = 2.0  # Code that was written to be slow stays plain: a normal block takes a tenth of that.
SECONDS_A_PAGE = 15.0
# The languages that people work in. Among the others are some whose lexers one line can keep busy for hours.
_LANGUAGES = """
    ada apacheconf applescript awk bash basic batch c cpp csharp clojure cmake coffeescript console css cuda cython d
    dart delphi diff django docker elixir elm emacs-lisp erlang fortran fsharp gdscript gherkin glsl go graphql groovy
    haskell haxe hcl html html+django html+php html+twig http ini java javascript json json5 jsonnet jsx julia kotlin
    less llvm lua make markdown mathematica matlab meson mysql nasm nginx nim nix objective-c ocaml octave pascal perl
    php plpgsql postgresql powershell prolog promql properties protobuf puppet pycon pytb python qml r racket rexx
    restructuredtext ruby rust sass scala scheme scss smalltalk solidity sql sqlite3 starlark swift tcl terraform tex
    text thrift toml tsx twig typescript vb.net verilog vhdl vim vue wgsl xml xslt yaml zig
"""
LANGUAGES = frozenset(_LANGUAGES.split())
# Endings of names that several languages claim, and for which the library picks the rarer one.
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
    """Highlights the code of one page. Invariant: it changes how text looks, never what it says.

    What is too much for one page stays plain.
    """

    def __init__(self, most: int = MOST_IN_A_PAGE, clock: Callable[[], float] = time.monotonic) -> None:
        self._left = most
        self._seconds = SECONDS_A_PAGE
        self._clock = clock
        self._done: dict[tuple[str, str], list[str]] = {}

    def by_language(self, code: str, language: str) -> list[str]:
        """Return lines of HTML. `language` is the word after a fence, or any other name of a language."""
        return self._lines(code, language.strip().lower()[:40])

    def by_file(self, code: str, path: str) -> list[str]:
        """Return lines of HTML, in the language that the file's name tells."""
        return self._lines(code, _language(path.replace("\\", "/").rsplit("/", 1)[-1][-80:]))

    def _lines(self, code: str, language: str) -> list[str]:
        code = clean(code)
        if len(code) > min(MOST_IN_A_BLOCK, self._left) or not language:
            return escape(code).split("\n")
        done = self._done.get((language, code))
        return self._painted(code, language) if done is None else done

    def _painted(self, code: str, language: str) -> list[str]:
        plain = code.split("\n")
        lexer = _lexer(language)
        if lexer is None or max(map(len, plain)) > MOST_IN_A_LINE or self._seconds <= 0:
            return escape(code).split("\n")
        self._left -= len(code)
        start = self._clock()
        tokens = _in_time(lexer.get_tokens(code), self._clock, start + SECONDS_A_BLOCK)
        lines = _painted(tokens, code)
        self._seconds -= self._clock() - start
        self._done[language, code] = lines = lines or escape(code).split("\n")
        return lines


def _in_time(tokens: "Iterable[Word]", clock: Callable[[], float], deadline: float) -> "Iterator[Word]":
    """Yield the tokens that come before the deadline."""
    for word in tokens:
        yield word
        if clock() > deadline:
            return


def _painted(tokens: "Iterable[Word]", code: str) -> list[str]:
    """Return lines of HTML; none if the tokens do not add up to `code`, as with some lexers, or where time was up."""
    lines: list[str] = []
    line: list[str] = []
    words: list[str] = []
    name = ""
    said: list[str] = []

    def close() -> None:
        if text := "".join(words):
            line.append(f'<span class="{name}">{escape(text)}</span>' if name else escape(text))
        words.clear()

    for kind, value in tokens:
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
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    return None if LANGUAGES.isdisjoint(lexer.aliases) else lexer


def _language(name: str) -> str:
    _, dot, ending = name.rpartition(".")
    return _KNOWN.get(ending.lower(), "") or _claimed(f"x.{ending}" if dot and len(ending) < 8 else name)


@cache
def _claimed(name: str) -> str:
    from pygments.lexers import find_lexer_class_for_filename

    found = find_lexer_class_for_filename(name)
    return found.aliases[0] if found is not None and found.aliases else ""
