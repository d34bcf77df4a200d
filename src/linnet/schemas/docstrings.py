"""What types say about themselves in their source: docstrings of classes, and the strings and comments after fields."""

import ast
import inspect
import re
import tokenize
from functools import cache
from io import StringIO
from textwrap import dedent

from msgspec import Struct

_BREAK = re.compile(r"\s*\n\s*")


def about_type(kind: type) -> str:
    """Return the docstring of a class itself, as one line for each paragraph; empty if it has none."""
    own = kind.__dict__.get("__doc__")
    if not own:
        return ""
    paragraphs = inspect.cleandoc(own).split("\n\n")
    return "\n\n".join(_BREAK.sub(" ", each) for each in paragraphs)


@cache
def about_fields(kind: type[Struct]) -> dict[str, str]:
    """Return what is said of each field: the string that follows it, or else the comment beside it."""
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if each is not Struct and issubclass(each, Struct):
            found |= _own(each)
    return found


@cache
def _own(kind: type[Struct]) -> dict[str, str]:
    try:
        source = dedent(inspect.getsource(kind))
    except (OSError, TypeError):  # One that was made without source.
        return {}
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    [found] = (node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    words: dict[str, str] = {}
    name = ""
    for node in found.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id)):
                name = id
                beside = comments.get(node.end_lineno or 0, "")
                if beside and not beside.startswith(("noqa", "type:")):
                    words[name] = beside
            case ast.Expr(value=ast.Constant(value=str(text))) if name:
                words[name] = _BREAK.sub(" ", text.strip())
                name = ""
            case _:
                name = ""
    return words
